// `vitrine attention` as a user sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/image.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/editable_model.hpp"

namespace vit::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::string kPictures = VITRINE_DATA "/images/fashion-mnist";
const std::string kBoot = kPictures + "/0000-ankle-boot.png";
const std::string kRocket = VITRINE_DATA "/images/rocket.jpg";

std::vector<json> parse_lines(const std::string& text) {
  std::vector<json> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
  return rows;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

/// `attention` with -o FOLDER and more; expects that all is well.
std::vector<json> attention(const std::vector<std::string>& arguments, const fs::path& output) {
  std::vector<std::string> all{"attention", "-o", output.native()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const CommandResult result = vitrine(all);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return parse_lines(result.out);
}

/// Ends with `exit_code`, nothing on stdout and a message that has all of `parts`.
void expect_refused(const std::vector<std::string>& arguments, int exit_code,
                    const std::vector<std::string>& parts) {
  std::vector<std::string> all{"attention"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const CommandResult result = vitrine(all);
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part));
}

io::Image picture(const fs::path& path) {
  const std::string bytes = read_text(path);
  return io::decode_image(std::as_bytes(std::span(bytes)), path.native());
}

struct Array {
  std::string shape;
  std::vector<float> values;
};

Array array(const fs::path& path) {
  const std::string bytes = read_text(path);
  const std::size_t at = bytes.find("'shape': ") + 9;
  Array array{bytes.substr(at, bytes.find(')', at) + 1 - at), {}};
  const std::size_t data =
      10 + static_cast<unsigned char>(bytes.at(8)) + 256U * static_cast<unsigned char>(bytes.at(9));
  array.values.resize((bytes.size() - data) / sizeof(float));
  std::memcpy(array.values.data(), bytes.data() + data, array.values.size() * sizeof(float));
  return array;
}

TEST(Attention, WritesAnOverlayOfThePicturesSizeAndSaysWhere) {
  const TempFolder folder;
  const std::vector<json> rows = attention({kBoot}, folder / "out");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("input"), kBoot);
  EXPECT_EQ(rows[0].at("grid"), (json{7, 7}));
  const std::string file = (folder / "out/0000-ankle-boot.block5.mean.png").native();
  EXPECT_EQ(rows[0].at("files"), json{file});
  const io::Image overlay = picture(file);
  EXPECT_EQ(overlay.height, 28);
  EXPECT_EQ(overlay.width, 28);
  EXPECT_NE(overlay.pixels, picture(kBoot).pixels);
}

TEST(Attention, WritesWhatIsAskedFor) {
  const TempFolder folder;
  attention({kBoot, "--block", "all", "--head", "all", "--sheet"}, folder / "sheets");
  EXPECT_EQ(names_in(folder / "sheets").size(), 6U);
  attention({kBoot, "--head", "1", "--block", "0", "--format", "png,npy"}, folder / "both");
  EXPECT_THAT(names_in(folder / "both"),
              UnorderedElementsAre("0000-ankle-boot.block0.head1.png", "0000-ankle-boot.block0.head1.npy"));
  attention({kBoot, "--rollout"}, folder / "rollout.png");
  EXPECT_EQ(picture(folder / "rollout.png").width, 28);
}

TEST(Attention, ArraysAreTheAttentionOfTheNetwork) {
  const TempFolder folder;
  attention({kBoot, "--block", "all", "--head", "all"}, folder / "all.npy");
  attention({kBoot, "--block", "2"}, folder / "mean.npy");
  attention({kBoot, "--rollout"}, folder / "rollout.npy");
  const Array all = array(folder / "all.npy");
  const Array mean = array(folder / "mean.npy");
  EXPECT_THAT(all.shape, ::testing::MatchesRegex("\\(6, [0-9]+, 7, 7\\)"));
  EXPECT_EQ(mean.shape, "(7, 7)");
  EXPECT_EQ(array(folder / "rollout.npy").shape, "(7, 7)");
  const std::size_t heads = all.values.size() / (6 * 49);
  for (std::size_t i = 0; i < 49; ++i) {
    float sum = 0;
    for (std::size_t head = 0; head < heads; ++head) sum += all.values[(2 * heads + head) * 49 + i];
    EXPECT_NEAR(mean.values[i], sum / static_cast<float>(heads), 1e-6);
  }
}

TEST(Attention, PicturesOfOneNameGetFilesOfTheirOwn) {
  const TempFolder folder;
  for (const char* name : {"a", "b"}) {
    fs::create_directory(folder / name);
    fs::copy_file(name[0] == 'a' ? kBoot : kPictures + "/0002-trouser.png", folder / name / "x.png");
  }
  const std::vector<json> rows =
      attention({(folder / "a").native(), (folder / "b/x.png").native()}, folder / "out");
  EXPECT_THAT(names_in(folder / "out"), UnorderedElementsAre("x.block5.mean.png", "x-2.block5.mean.png"));
  EXPECT_THAT(rows.at(1).at("files").at(0).get<std::string>(), HasSubstr("/x-2."));
  EXPECT_NE(read_text(folder / "out/x.block5.mean.png"), read_text(folder / "out/x-2.block5.mean.png"));
}

TEST(Attention, ABadPictureHasItsRowAndTheRunGoesOn) {
  const TempFolder folder;
  const std::string text = folder.write("text.png", "no picture").native();
  const CommandResult result = vitrine(
      {"attention", text, kBoot, "missing.png", "-", "-o", (folder / "out").native()}, kRocket + "\n");
  EXPECT_EQ(result.exit_code, 1);
  const std::vector<json> rows = parse_lines(result.out);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].at("error").at("code"), "image_unknown");
  EXPECT_EQ(rows[1].at("files").size(), 1U);
  EXPECT_EQ(rows[2].at("error").at("code"), "image_not_found");
  EXPECT_EQ(rows[3].at("input"), kRocket);
  EXPECT_THAT(result.err, HasSubstr("missing.png"));
  EXPECT_EQ(names_in(folder / "out").size(), 2U);
}

TEST(Attention, NeedsNoHead) {
  const TempFolder model;
  EditableModel backbone("hf_dinov2_model");
  backbone.recipe = R"({"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 32},
                        "crop_size": {"height": 28, "width": 28}})";
  backbone.write(model);
  const TempFolder folder;
  const std::string path = model.path().native();
  const std::vector<json> rows = attention({"-m", path, kRocket, "--image-size", "42x56"}, folder / "out");
  EXPECT_EQ(rows.at(0).at("grid"), (json{6, 8}));  // patches of 7 x 7
  const io::Image overlay = picture(rows[0].at("files").at(0).get<std::string>());
  EXPECT_EQ(overlay.height, 427);
  EXPECT_EQ(overlay.width, 640);
  fs::remove(model / "preprocessor_config.json");
  expect_refused({"-m", path, kRocket, "-o", folder / "out"}, 3, {"preprocessor_config.json"});
}

TEST(Attention, ReplacesNothingUnlessForced) {
  const TempFolder folder;
  attention({kBoot}, folder / "out");
  const fs::path file = folder / "out/0000-ankle-boot.block5.mean.png";
  const std::string first = read_text(file);
  const CommandResult again = vitrine({"attention", kBoot, "-o", (folder / "out").native(), "--alpha", "1"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_EQ(parse_lines(again.out).at(0).at("error").at("code"), "output_unwritable");
  EXPECT_THAT(again.err, HasSubstr("--force"));
  EXPECT_EQ(read_text(file), first);
  attention({kBoot, "--alpha", "1", "--force"}, folder / "out");
  EXPECT_NE(read_text(file), first);
}

TEST(Attention, NeverReplacesWhatItReads) {
  const TempFolder folder;
  const fs::path boot = folder / "boot.png";
  fs::copy_file(kBoot, boot);
  expect_refused({boot.native(), "-o", boot.native(), "--force"}, 2, {"boot.png is also read"});
  EXPECT_EQ(read_text(boot), read_text(kBoot));
  expect_refused({folder.path().native(), "-o", folder.path().native()}, 2, {"read as inputs"});
}

TEST(Attention, SaysWhatIsWrong) {
  const TempFolder folder;
  const std::string out = folder / "out";
  expect_refused({kBoot}, 2, {"--output"});
  expect_refused({kBoot, "-o", out, "--block", "6"}, 2, {"--block 6", "0 to 5"});
  expect_refused({kBoot, "-o", out, "--head", "x"}, 2, {"--head x"});
  expect_refused({kBoot, "-o", out, "--alpha", "1.5"}, 2, {"--alpha"});
  expect_refused({kBoot, "-o", out, "--alpha", "nan"}, 2, {"--alpha"});
  expect_refused({kBoot, "-o", out, "--format", "gif"}, 2, {"--format"});
  expect_refused({kBoot, "-o", out, "--rollout", "--block", "1"}, 2, {"--rollout", "--block"});
  expect_refused({kBoot, "-o", out, "--rollout", "--sheet"}, 2, {"--rollout", "--sheet"});
  expect_refused({kBoot, "-o", out, "--sheet", "--format", "npy"}, 2, {"--sheet"});
  expect_refused({kBoot, kRocket, "-o", out + ".png"}, 2, {"one picture"});
  expect_refused({kBoot, "-o", out + ".png", "--head", "all"}, 2, {"files", "--sheet"});
  expect_refused({kBoot, "-o", "/dev/null/out"}, 4, {"/dev/null/out"});
  expect_refused({kBoot, "-o", out, "-m", "/no/such/model"}, 3, {"/no/such/model"});
  EXPECT_FALSE(fs::exists(out));
}

TEST(Attention, DoesNotDependOnThreads) {
  const TempFolder folder;
  const std::vector<std::string> options{kPictures, "--block", "all", "--head", "all", "--format", "npy"};
  std::vector<std::string> one = options;
  one.insert(one.end(), {"--threads", "1"});
  std::vector<std::string> three = options;
  three.insert(three.end(), {"--threads", "3"});
  EXPECT_EQ(attention(one, folder / "one").size(), 10U);
  attention(three, folder / "three");
  ASSERT_EQ(names_in(folder / "one").size(), 10U);
  for (const std::string& name : names_in(folder / "one")) {
    const std::vector<float> a = array(folder / "one" / name).values;
    const std::vector<float> b = array(folder / "three" / name).values;
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6);
  }
}

}  // namespace
}  // namespace vit::test
