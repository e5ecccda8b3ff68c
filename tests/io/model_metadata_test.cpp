// What travels in a model.onnx beside its graph, there and back.
#include "io/model_metadata.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "io/config_json.hpp"
#include "tests/io/preprocess_data.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/vit/network_cases.hpp"

namespace vit::io {
namespace {

using test::TempFolder;
using testing::HasSubstr;
using testing::Not;

constexpr auto kInvalid = ErrorCode::config_invalid;

CheckpointInfo info_of(const ModelConfig& config) {
  CheckpointInfo info;
  info.path = "/srv/somebody/secret-project/model";
  info.family = "hf_vit";
  info.architecture = "ViTForImageClassification";
  info.config = config;
  std::map<std::int64_t, std::string> names;
  for (std::int64_t i = 0; i < config.num_classes; ++i) names[i] = fmt::format("class {}", i);
  info.labels = Labels(config.num_classes, names);
  info.recipe = PreprocessConfig{};
  info.recipe->source = "hf, ViTImageProcessor, preprocessor_config.json";
  return info;
}

CheckpointInfo small() {
  return info_of(test::network_case("small").config);
}

std::string value_of(const ModelMetadata& metadata, std::string_view key) {
  for (const auto& [k, value] : metadata) {
    if (k == key) return value;
  }
  return "(missing)";
}

CheckpointInfo there_and_back(const CheckpointInfo& info) {
  return read_metadata("folder/m.onnx", write_metadata(info, info.config));
}

TEST(ModelMetadata, EveryConfigComesBack) {
  for (const test::NetworkCase& c : test::network_cases()) {
    for (const ScoreFunction function :
         {ScoreFunction::softmax, ScoreFunction::sigmoid, ScoreFunction::none}) {
      CheckpointInfo info = info_of(c.config);
      info.score_function = function;
      info.problem_type = function == ScoreFunction::sigmoid ? "multi_label_classification" : "";
      const CheckpointInfo back = there_and_back(info);
      EXPECT_EQ(to_json(back.config), to_json(c.config)) << c.name;
      EXPECT_EQ(back.family, info.family);
      EXPECT_EQ(back.architecture, info.architecture);
      EXPECT_EQ(back.score_function, function);
      EXPECT_EQ(back.problem_type, info.problem_type);
      EXPECT_EQ(back.parameters, parameter_count(c.config));
      EXPECT_EQ(back.labels.size(), c.config.num_classes);
      EXPECT_EQ(back.path, "folder/m.onnx");
    }
  }
}

TEST(ModelMetadata, KeysAreUniqueAndTellNothingAboutTheMachine) {
  for (const test::NetworkCase& c : test::network_cases()) {
    const CheckpointInfo info = info_of(c.config);
    const ModelMetadata metadata = write_metadata(info, c.config);
    EXPECT_EQ(metadata, write_metadata(info, c.config));
    std::set<std::string> keys;
    for (const auto& [key, value] : metadata) {
      EXPECT_TRUE(keys.insert(key).second) << key;
      EXPECT_THAT(value, Not(HasSubstr("secret-project")));
      EXPECT_THAT(value, Not(HasSubstr("preprocessor_config.json")));
    }
  }
}

TEST(ModelMetadata, NoFolderLeavesTheMachineWhateverItIsCalled) {
  CheckpointInfo info = small();
  for (const char* folder : {"/srv/a, b/model", "/srv/a, b, c", ".", "relative, too"}) {
    for (const char* file : {"", "/model.safetensors"}) {
      info.path = std::string(folder) + file;
      info.recipe->source = fmt::format("hf, ViTImageProcessor, {}/preprocessor_config.json", folder);
      EXPECT_EQ(there_and_back(info).recipe->source, "hf, ViTImageProcessor, m.onnx") << info.path;
    }
  }
}

TEST(ModelMetadata, TheRecipesSourceStaysShortAcrossExports) {
  CheckpointInfo info = small();
  for (const char* path : {"a.onnx", "with, comma.onnx", "last.onnx"}) {
    info = read_metadata(path, write_metadata(info, info.config));
    EXPECT_EQ(info.recipe->source, fmt::format("hf, ViTImageProcessor, {}", path));
  }
}

TEST(ModelMetadata, EveryRecipeOfTheProcessorsComesBack) {
  for (const Json& c : test::read_cases("recipes.json", 30)) {
    if (c.contains("refused") && c["name"] != "picture too thin for the longest edge") continue;
    const std::string text = c["config"].dump();
    CheckpointInfo info = small();
    info.recipe = parse_preprocessor_config(text, "preprocessor_config.json");
    const PreprocessConfig back = *there_and_back(info).recipe;
    PreprocessConfig expected = *info.recipe;
    expected.source = back.source;
    EXPECT_EQ(to_json(back), to_json(expected)) << text;
    const auto json = to_preprocessor_config(*info.recipe);
    ASSERT_TRUE(json) << text;
    EXPECT_EQ(value_of(write_metadata(info, info.config), "preprocessor_config"), *json);
    // Means the same: the same sizes and pixels of the same pictures.
    const PreprocessConfig again = parse_preprocessor_config(*json, "ours");
    const Image picture = test::make_picture(c);
    Size2 size{};
    try {
      size = info.recipe->output_size({picture.height, picture.width});
    } catch (const Error& e) {
      EXPECT_ERROR(again.output_size({picture.height, picture.width}), e.code());
      continue;
    }
    ASSERT_EQ(again.output_size({picture.height, picture.width}), size) << *json;
    std::vector<float> want(static_cast<std::size_t>(3 * size.height * size.width));
    std::vector<float> got(want.size());
    preprocess(picture, *info.recipe, want);
    preprocess(picture, again, got);
    EXPECT_EQ(got, want) << text << "\n" << *json;
    EXPECT_EQ(again.transparency, info.recipe->transparency);
    EXPECT_EQ(again.exif, info.recipe->exif);
  }
}

TEST(ModelMetadata, WithoutARecipeTheErrorSaysSo) {
  CheckpointInfo info = small();
  info.recipe.reset();
  const CheckpointInfo back = there_and_back(info);
  EXPECT_FALSE(back.recipe);
  ASSERT_TRUE(back.recipe_error);
  EXPECT_THAT(back.recipe_error->what(), HasSubstr("m.onnx"));
  info.recipe = PreprocessConfig{};
  info.recipe->exif = Exif::ignore;  // no processor leaves pictures as they lie
  EXPECT_EQ(to_preprocessor_config(*info.recipe), std::nullopt);
  EXPECT_EQ(value_of(write_metadata(info, info.config), "preprocessor_config"), "(missing)");
  EXPECT_EQ(there_and_back(info).recipe->exif, Exif::ignore);
}

TEST(ModelMetadata, PixelRangesOnlyWhereTheyAreTrue) {
  const auto range = [](auto change) {
    CheckpointInfo info = small();
    change(*info.recipe);
    return value_of(write_metadata(info, info.config), "Image.NominalPixelRange");
  };
  EXPECT_EQ(range([](auto&) {}), "Normalized_1_1");
  EXPECT_EQ(range([](auto& r) { r.normalize = false; }), "Normalized_0_1");
  EXPECT_EQ(range([](auto& r) { r.mean[1] = 0.4; }), "(missing)");
  EXPECT_EQ(range([](auto& r) { r.std[2] = 0.4; }), "(missing)");
  EXPECT_EQ(range([](auto& r) { r.rescale = false; }), "(missing)");
  EXPECT_EQ(range([](auto& r) { r.rescale_factor = 1 / 127.5; }), "(missing)");
}

// ------------------------------------------------------------------------------------------------ labels

CheckpointInfo labelled(const std::map<std::int64_t, std::string>& names) {
  CheckpointInfo info = small();
  info.labels = Labels(5, names);
  return info;
}

TEST(ModelMetadata, LabelsOfAnyTextAndHolesComeBack) {
  const std::map<std::int64_t, std::string> names{{0, "it's a \"quote\" \\ and more"},
                                                  {1, "two\nlines\r\tand \x01 \x7F"},
                                                  {2, "林檎 Ä \xF0\x9F\x8D\x8E"},
                                                  {4, ""}};
  const CheckpointInfo info = labelled(names);
  const Labels back = there_and_back(info).labels;
  ASSERT_EQ(back.size(), 5);
  for (const auto& [index, name] : names) EXPECT_EQ(back.name(index), name);
  EXPECT_FALSE(back.has_name(3));
  EXPECT_EQ(value_of(write_metadata(info, info.config), "names"),
            "{0: 'it\\'s a \"quote\" \\\\ and more', 1: 'two\\x0alines\\x0d\\x09and \\x01 \\x7f', "
            "2: '林檎 Ä \xF0\x9F\x8D\x8E', 3: '3', 4: ''}");
  EXPECT_EQ(value_of(write_metadata(info, info.config), "task"), "classify");
}

TEST(ModelMetadata, WithoutAHeadThereAreNoLabels) {
  const CheckpointInfo info = info_of(test::network_case("no_head").config);
  const ModelMetadata metadata = write_metadata(info, info.config);
  for (const char* key : {"names", "task", "id2label"})
    EXPECT_EQ(value_of(metadata, key), "(missing)") << key;
  EXPECT_EQ(there_and_back(info).labels.size(), 0);
}

TEST(ReadLabelFile, OneLabelOnEachLine) {
  const TempFolder folder;
  const auto read = [&](const std::string& text, std::int64_t classes) {
    const Labels labels = read_label_file(folder.write("labels.txt", text), classes);
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < labels.size(); ++i) names.push_back(labels.name(i));
    return names;
  };
  using testing::ElementsAre;
  EXPECT_THAT(read("a\nb\n", 2), ElementsAre("a", "b"));
  EXPECT_THAT(read("a\nb", 2), ElementsAre("a", "b"));
  EXPECT_THAT(read("a\r\nb\r\n", 2), ElementsAre("a", "b"));
  EXPECT_THAT(read("\xEF\xBB\xBF Ä b \n林檎\n", 2), ElementsAre(" Ä b ", "林檎"));
}

TEST(ReadLabelFile, RefusesOthers) {
  constexpr auto kMisuse = ErrorCode::invalid_argument;
  const TempFolder folder;
  const auto refused = [&](const std::string& text, const std::string& what) {
    EXPECT_ERROR(read_label_file(folder.write("labels.txt", text), 2), kMisuse, "labels.txt", what);
  };
  refused("a\n", "1 labels");
  refused("a\nb\nc\n", "3 labels");
  refused("", "0 labels");
  refused("a\n\nb\n", "line 2 is empty");
  refused("a\nb\n\n", "line 3 is empty");
  refused("a\n\xFF\xFE\n", "line 2 is not UTF-8");
  refused("M\xFCsli\nb\n", "line 1 is not UTF-8");
  refused("a\n\xC3\n", "line 2 is not UTF-8");
  EXPECT_ERROR(read_label_file(folder / "none.txt", 2), kMisuse, "none.txt");
  EXPECT_ERROR(read_label_file(folder.path(), 2), kMisuse, folder.path().string());
}

// ------------------------------------------------------------------------------------------------ errors

TEST(ReadMetadata, NamesWhatIsMissing) {
  const CheckpointInfo info = small();
  const ModelMetadata good = write_metadata(info, info.config);
  for (const char* key : {"vit.config", "vit.family", "vit.architecture", "vit.score_function",
                          "vit.problem_type", "id2label"}) {
    ModelMetadata without = good;
    std::erase_if(without, [&](const auto& pair) { return pair.first == key; });
    EXPECT_ERROR(read_metadata("m.onnx", without), kInvalid, "m.onnx", std::string(key) + " is missing");
  }
  for (const char* key : {"names", "task", "imgsz", "channels", "stride", "preprocessor_config",
                          "Image.BitmapPixelFormat"}) {  // for others
    ModelMetadata without = good;
    std::erase_if(without, [&](const auto& pair) { return pair.first == key; });
    EXPECT_NO_THROW(read_metadata("m.onnx", without)) << key;
  }
  EXPECT_ERROR(read_metadata("m.onnx", {}), kInvalid, "m.onnx", "is missing");
}

TEST(ReadMetadata, NamesWhatMakesNoSense) {
  const CheckpointInfo info = small();
  const auto refused = [&](const std::string& key, const std::string& value, const std::string& what) {
    ModelMetadata metadata = write_metadata(info, info.config);
    for (auto& [k, v] : metadata) {
      if (k == key) v = value;
    }
    EXPECT_ERROR(read_metadata("m.onnx", metadata), kInvalid, "m.onnx", key, what);
  };
  for (const char* key : {"vit.config", "vit.recipe", "id2label"}) {
    refused(key, "", "line 1");
    refused(key, "[]", "object");
    refused(key, "{", "line 1");
    refused(key, std::string(100000, '['), "");
  }
  for (const char* key : {"vit.config", "vit.recipe"}) refused(key, "{}", "is missing");
  refused("vit.score_function", "argmax", "expected softmax, sigmoid or none");
  for (const char* label :
       {"{\"5\": \"a\"}", "{\"-1\": \"a\"}", "{\"01\": \"a\"}", "{\"a\": \"a\"}", "{\"0\": 1}",
        "{\"99999999999999999999\": \"a\"}", "{\"\": \"a\"}", "{\" 1\": \"a\"}"})
    refused("id2label", label, "a class from 0 to 4");
  const auto change = [&](const char* key, const Json& value, const std::string& what) {
    Json config = to_json(info.config);
    config[key] = value;
    refused("vit.config", config.dump(), what);
  };
  change("num_layers", 4000000000LL, "num_hidden_layers");
  change("num_heads", 0, "num_attention_heads");
  change("num_heads", 5, "not a multiple");
  change("hidden_size", -12, "hidden_size");
  change("patch_size", Json::array({0, 8}), "patch_size");
  change("layer_norm_eps", -1, "layer_norm_eps");
}

TEST(ToConfigJson, SaysWhatPeopleLookFor) {
  const CheckpointInfo info = labelled({{0, "ä"}, {1, "b"}, {4, "b"}});
  ModelConfig config = info.config;
  config.image_size = {24, 40};
  const Json json = Json::parse(to_config_json(info, config));
  EXPECT_EQ(json["architectures"], Json::array({"ViTForImageClassification"}));
  EXPECT_EQ(json["model_type"], "vit");
  EXPECT_EQ(json["image_size"], Json::array({24, 40}));
  EXPECT_EQ(json["patch_size"], 8);
  EXPECT_EQ(json["num_labels"], 5);
  EXPECT_EQ(json["id2label"], (Json{{"0", "ä"}, {"1", "b"}, {"4", "b"}}));
  EXPECT_EQ(json["label2id"]["ä"], 0);
  EXPECT_FALSE(json.contains("problem_type"));
}

}  // namespace
}  // namespace vit::io
