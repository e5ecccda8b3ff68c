// Folders of 8-bit weights: what is written, what is read back, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/checkpoint_writer.hpp"
#include "io/safetensors.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"
#include "vit/quantised.hpp"

namespace vit::io {
namespace {

namespace fs = std::filesystem;
using test::EditableModel;
using test::TempFolder;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const WriteOptions kInt8{.dtype = {},
                         .transformers = false,
                         .overwrite = false,
                         .matrices = MatrixStorage::int8,
                         .producer = "vitrine of a test"};

const std::string kQuery = "vit.encoder.layer.0.attention.attention.query.weight";
const std::string kPatches = "vit.embeddings.patch_embeddings.projection.weight";

std::vector<float> values(const WeightView& view) {
  const Tensor tensor = view.to_tensor();
  return {tensor.elements().begin(), tensor.elements().end()};
}

std::map<std::string, WeightView> views_of(const Checkpoint& checkpoint) {
  std::map<std::string, WeightView> views;
  Weights weights = checkpoint.weights;
  for_each_tensor(checkpoint.info.config, weights,
                  [&](const TensorSpec& spec, const WeightView& view) { views[spec.name] = view; });
  return views;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(EditableModel::folder_of(""))) {
    const std::string name = entry.path().filename().string();
    // transformers has no class for a layer before the head.
    const bool has_form = name.find("pre_logits") == name.npos && name.find("representation") == name.npos;
    if (has_form && fs::exists(entry.path() / "expected.safetensors")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

class QuantisedFolder : public testing::TestWithParam<std::string> {};

TEST_P(QuantisedFolder, HoldsTheIntegersThatThePackedNetworkHas) {
  const TempFolder folder;
  const Checkpoint source = load_checkpoint(EditableModel::path_of(GetParam()));
  EXPECT_EQ(source.info.precision, Precision::fp32);
  const WriteReport report = write_checkpoint(source, folder / "int8", kInt8);
  const Checkpoint again = load_checkpoint(folder / "int8");
  EXPECT_EQ(again.info.precision, Precision::int8);
  EXPECT_THAT(again.info.stored_dtype, HasSubstr("I8"));
  EXPECT_EQ(again.info.parameters, source.info.parameters);
  EXPECT_THAT(again.info.unmatched, Not(Contains(HasSubstr("scale"))));
  const auto of_source = views_of(source);
  std::int64_t matrices = 0;
  for (const auto& [name, view] : views_of(again)) {
    const WeightView& original = of_source.at(name);
    if (!is_quantisable(name, original.shape)) {
      EXPECT_EQ(values(view), values(original)) << name;
      continue;
    }
    ++matrices;
    for (const WeightPart& part : view.parts) EXPECT_EQ(part.dtype, DType::i8) << name;
    const QuantisedMatrix stored = quantise(view);
    const QuantisedMatrix fresh = quantise(original);
    EXPECT_EQ(stored.scales, fresh.scales) << name;
    EXPECT_TRUE(
        std::equal(stored.levels.begin(), stored.levels.end(), fresh.levels.begin(), fresh.levels.end()))
        << name;
  }
  EXPECT_GT(matrices, 0);
  EXPECT_GT(report.rounded, 0);
}

INSTANTIATE_TEST_SUITE_P(All, QuantisedFolder, testing::ValuesIn(model_names()),
                         [](const auto& test) { return test.param; });

TEST(QuantisedFolders, KeepLabelsRecipeConfigAndSayWhatTheyAre) {
  const TempFolder folder;
  const Checkpoint source = load_checkpoint(EditableModel::folder_of("hf_vit_base"));
  const WriteReport report = write_checkpoint(source, folder / "int8", kInt8);
  EXPECT_EQ(report.rounded, 2 * 6);
  const Checkpoint again = load_checkpoint(folder / "int8");
  EXPECT_EQ(again.info.config, source.info.config);
  for (std::int64_t i = 0; i < source.info.labels.size(); ++i)
    EXPECT_EQ(again.info.labels.name(i), source.info.labels.name(i));
  EXPECT_EQ(test::read_text(folder / "int8/preprocessor_config.json"),
            test::read_text(EditableModel::folder_of("hf_vit_base") / "preprocessor_config.json"));
  const auto config = nlohmann::json::parse(test::read_text(folder / "int8/config.json"));
  EXPECT_EQ(config.at("quantization_config").at("quant_method"), "compressed-tensors");
  EXPECT_EQ(config.at("quantization_config").at("ignore"), nlohmann::json({"classifier"}));

  const SafetensorsFile file(folder / "int8/model.safetensors");
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.metadata().at("vitrine.quantized_from"), "hf_vit_base/model.safetensors, F32");
  EXPECT_EQ(file.metadata().at("vitrine.quantized_by"), "vitrine of a test");
  EXPECT_THAT(describe(again.info), HasSubstr("quantised from: \"hf_vit_base/model.safetensors, F32\""));
  EXPECT_THAT(describe(again.info), HasSubstr("precision: int8"));
  for (const StoredTensor& tensor : file.tensors()) {
    const bool matrix = tensor.shape.size() == 2 && tensor.name.starts_with("vit.encoder") &&
                        tensor.name.ends_with(".weight");
    EXPECT_EQ(tensor.dtype, matrix ? "I8" : "F32") << tensor.name;
    if (matrix) {
      const StoredTensor* scales = file.find(tensor.name + "_scale");
      ASSERT_NE(scales, nullptr) << tensor.name;
      EXPECT_EQ(scales->shape, (Shape{tensor.shape[0], 1}));
    } else {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data.data()) % 4, 0U) << tensor.name;
    }
  }
}

TEST(QuantisedFolders, LeaveWhatStaysInTheDtypeOfTheSource) {
  const TempFolder folder;
  const Checkpoint plain = load_checkpoint(EditableModel::folder_of("hf_vit_base"));
  write_checkpoint(plain, folder / "half", {.dtype = DType::f16, .transformers = false, .overwrite = false});
  write_checkpoint(load_checkpoint(folder / "half"), folder / "int8", kInt8);
  const SafetensorsFile file(folder / "int8/model.safetensors");
  EXPECT_EQ(file.find("classifier.weight")->dtype, "F16");
  EXPECT_EQ(file.find(kQuery)->dtype, "I8");
  EXPECT_EQ(file.find(kQuery + "_scale")->dtype, "F32");
  EXPECT_EQ(load_checkpoint(folder / "int8").info.stored_dtype, "F16, I8");
}

TEST(QuantisedFolders, AreWrittenAsTheNumbersThatTheyStandForByConvert) {
  const TempFolder folder;
  write_checkpoint(load_checkpoint(EditableModel::folder_of("timm_vit_qk_norm")), folder / "int8", kInt8);
  const Checkpoint integers = load_checkpoint(folder / "int8");
  const WriteReport report = write_checkpoint(integers, folder / "numbers");
  EXPECT_THAT(report.notes, Contains(HasSubstr("8-bit")));
  const Checkpoint numbers = load_checkpoint(folder / "numbers");
  EXPECT_EQ(numbers.info.stored_dtype, "F32");
  EXPECT_EQ(numbers.info.precision, Precision::fp32);
  EXPECT_THAT(test::read_text(folder / "numbers/config.json"), Not(HasSubstr("quantization_config")));
  const auto of_integers = views_of(integers);
  for (const auto& [name, view] : views_of(numbers))
    EXPECT_EQ(values(view), values(of_integers.at(name))) << name;
}

TEST(QuantisedFolders, AreNotQuantisedAgain) {
  const TempFolder folder;
  write_checkpoint(load_checkpoint(EditableModel::folder_of("hf_vit_base")), folder / "int8", kInt8);
  EXPECT_ERROR(write_checkpoint(load_checkpoint(folder / "int8"), folder / "again", kInt8),
               ErrorCode::model_unsupported, "int8", "8-bit integers already");
  EXPECT_FALSE(fs::exists(folder / "again"));
}

TEST(QuantisedFolders, AreNotMadeOfNaN) {
  EditableModel model("hf_vit_base");
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(model.tensors.at(kQuery).bytes.data() + 40, &infinity, sizeof infinity);
  const TempFolder source;
  model.write(source);
  const TempFolder folder;
  EXPECT_ERROR(write_checkpoint(load_checkpoint(source.path()), folder / "int8", kInt8),
               ErrorCode::weights_invalid, kQuery, "NaN or infinity");
  EXPECT_FALSE(fs::exists(folder / "int8/model.safetensors"));
  EXPECT_FALSE(fs::exists(folder / "int8/config.json"));
}

// ------------------------------------------------------------------------------------------------ damaged
// files

/// A folder of 8-bit weights to be damaged.
class DamagedInt8 : public testing::Test {
 protected:
  DamagedInt8() : model(written(folder)) {}

  static std::string written(const TempFolder& to) {
    write_checkpoint(load_checkpoint(EditableModel::folder_of("hf_vit_base")), to / "int8", kInt8);
    return to / "int8";
  }

  void expect_refused(const std::vector<std::string>& parts) {
    const TempFolder damaged;
    model.write(damaged);
    try {
      load_checkpoint(damaged.path());
      ADD_FAILURE() << "was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::weights_invalid);
      for (const std::string& part : parts) EXPECT_THAT(error.what(), HasSubstr(part));
    }
  }

  void set_scale(float value) {
    std::memcpy(model.tensors.at(kScale).bytes.data() + 12, &value, sizeof value);
  }

  const std::string kScale = kQuery + "_scale";
  TempFolder folder;
  EditableModel model;
};

TEST_F(DamagedInt8, IsReadWhereNothingIsDamaged) {
  const TempFolder same;
  model.write(same);
  EXPECT_EQ(load_checkpoint(same.path()).info.precision, Precision::int8);
  model.rename_all("", "module.");  // a training tool's wrapper goes before the scales' names, too
  const TempFolder wrapped;
  model.write(wrapped);
  EXPECT_EQ(load_checkpoint(wrapped.path()).info.precision, Precision::int8);
}

TEST_F(DamagedInt8, MissingScales) {
  model.tensors.erase(kScale);
  expect_refused({"model.safetensors", kScale + " (missing", "I8"});
}

TEST_F(DamagedInt8, ScalesOfAnotherShape) {
  for (const Shape& shape : {Shape{47, 1}, Shape{1, 48}, Shape{48}, Shape{}}) {
    model.add(kScale, shape);
    expect_refused({kScale + " (expected F32 [48, 1], found F32 " + vit::to_string(shape) + ")"});
  }
}

TEST_F(DamagedInt8, ScalesThatAreIntegers) {
  model.add(kScale, {48, 1}, "I64");
  expect_refused({kScale + " (expected F32 [48, 1], found I64 [48, 1])"});
}

TEST_F(DamagedInt8, ScalesThatAreNoScales) {
  for (const auto& [value, text] :
       {std::pair(std::nanf(""), "nan"), std::pair(std::numeric_limits<float>::infinity(), "inf"),
        std::pair(0.0F, "0"), std::pair(-0.5F, "-0.5")}) {
    set_scale(value);
    expect_refused({kScale + " (its number 3 is " + text, "above 0"});
  }
}

TEST_F(DamagedInt8, ScalesOfWhatNeedsNone) {
  model.add("vit.layernorm.weight_scale", {48});
  expect_refused({"vit.layernorm.weight_scale (vit.layernorm.weight is F32 and needs none)"});
}

TEST_F(DamagedInt8, ScalesOfNothing) {
  model.tensors.erase(kQuery);
  expect_refused({"missing: " + kQuery, kScale + " (there is no " + kQuery + ")"});
}

TEST_F(DamagedInt8, AllFaultsInOneReport) {
  model.tensors.erase(kScale);
  model.add(kPatches + "_scale", {48});
  model.tensors.erase("vit.layernorm.bias");
  expect_refused({kScale, kPatches + "_scale", "missing: vit.layernorm.bias"});
}

TEST_F(DamagedInt8, IntegersOfAnotherShape) {
  EditableModel::Stored& query = model.tensors.at(kQuery);
  query.shape = {24, 96};
  expect_refused({kQuery, "expected [48, 48], found [24, 96]"});
}

TEST_F(DamagedInt8, IntegersWhereNumbersShouldBe) {
  for (const std::string& name :
       {kPatches, std::string("classifier.weight"), std::string("vit.layernorm.weight")}) {
    EditableModel other = model;
    EditableModel::Stored& tensor = other.tensors.at(name);
    tensor.dtype = "I8";
    tensor.bytes.resize(tensor.bytes.size() / 4);
    std::swap(other, model);
    expect_refused({name, "expected F32, F16 or BF16, found I8"});
    std::swap(other, model);
  }
}

TEST_F(DamagedInt8, AnIntegerFileThatEndsEarly) {
  const TempFolder damaged;
  model.write(damaged);
  const fs::path file = damaged / "model.safetensors";
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_ERROR(load_checkpoint(damaged.path()), ErrorCode::weights_invalid, "truncated");
}

TEST(QuantisationScales, OfAModelWithoutIntegersAreRefused) {
  EditableModel model("hf_vit_base");
  model.add(kQuery + "_scale", {48});
  const TempFolder folder;
  model.write(folder);
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::weights_invalid, kQuery + "_scale (" + kQuery,
               "is F32 and needs none");
}

TEST(QuantisationConfig, OfAnotherMethodIsRefusedByName) {
  EditableModel model("hf_vit_base");
  model.config["quantization_config"] = {{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}};
  const TempFolder folder;
  model.write(folder);
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::model_unsupported, "config.json", "bitsandbytes",
               "vitrine quantize");
  model.config["quantization_config"] = {{"quant_method", "compressed-tensors"},
                                         {"format", "pack-quantized"}};
  const TempFolder packed;
  model.write(packed);
  EXPECT_ERROR(load_checkpoint(packed.path()), ErrorCode::model_unsupported, "pack-quantized",
               "int-quantized");
  model.config["quantization_config"] = 8;
  const TempFolder other;
  model.write(other);
  EXPECT_ERROR(load_checkpoint(other.path()), ErrorCode::model_unsupported, "quantization_config");
}

TEST(QuantisationConfig, OfWeightsThatAreNoIntegersIsRefused) {
  EditableModel model("hf_vit_base");
  model.config["quantization_config"] = {{"quant_method", "compressed-tensors"}, {"format", "int-quantized"}};
  const TempFolder folder;
  model.write(folder);
  EXPECT_ERROR(load_checkpoint(folder.path()), ErrorCode::weights_invalid, "config.json",
               "should be 8-bit integers");
}

}  // namespace
}  // namespace vit::io
