// Threads, processor time and memory of the command.
#include <gtest/gtest.h>
#include <sched.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/support/editable_model.hpp"

namespace vit::test {
namespace {

const std::string kPictures = VITRINE_DATA "/images/fashion-mnist";
const std::string kBoot = kPictures + "/0000-ankle-boot.png";

/// `classify` on `copies` times the ten shipped pictures.
std::vector<std::string> many(int copies, const std::vector<std::string>& options) {
  std::vector<std::string> arguments{"classify", "--format", "jsonl", "-k", "1"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), static_cast<std::size_t>(copies), kPictures);
  return arguments;
}

int first_allowed_core() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  int core = 0;
  while (!CPU_ISSET(core, &set)) ++core;
  return core;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class Threads : public ::testing::TestWithParam<int> {};

TEST_P(Threads, AreAsManyAsAsked) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer may have threads of its own";
  const std::string threads = std::to_string(GetParam());
  const CommandResult bulk = vitrine(many(60, {"--threads", threads}));
  EXPECT_EQ(bulk.exit_code, 0) << bulk.err;
  EXPECT_EQ(bulk.most_threads, GetParam());
  EXPECT_LE(vitrine({"classify", kBoot, "--threads", threads}).most_threads, GetParam());
  std::string list;
  for (int i = 0; i < 500; ++i) list += kBoot + "\n";
  EXPECT_EQ(vitrine({"classify", "-", "--threads", threads}, list).most_threads, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Numbers, Threads, ::testing::Values(1, 2, 3));

TEST(Threads, AreAsManyAsTheCoresOfTheAffinity) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer may have threads of its own";
  const std::string core = std::to_string(first_allowed_core());
  const CommandResult result = vitrine_behind("taskset -cp " + core + " $$ > /dev/null", many(40, {}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.most_threads, 1);
}

TEST(Threads, SleepWhileAListIsWaitedFor) {
  const TempFolder folder;
  const std::string fifo = folder / "list";
  const std::string feed = "(echo '" + kBoot + "'; sleep 2; echo '" + kBoot + "') > '" + fifo + "'";
  const CommandResult result =
      vitrine_behind("mkfifo '" + fifo + "' && { " + feed + " & } && exec < '" + fifo + "'",
                     {"classify", "-", "--threads", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LT(result.cpu_seconds, 1.0);  // of two seconds with two threads
}

TEST(Memory, DoesNotGrowWithTheNumberOfPictures) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps what is freed";
  const CommandResult few = vitrine(many(20, {"--threads", "2"}));
  const CommandResult more = vitrine(many(300, {"--threads", "2"}));
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_LT(more.peak_kib - few.peak_kib, 4 << 10);  // the names of 3,000 inputs, and an allocator's mood
}

/// Peak of a run over 100 pictures of so many sizes, all between 14 and 140 pixels, of a network that takes
/// any. As many pictures for any number of sizes: so all of the workers come to work in every run, which
/// costs memory too.
long peak_kib(const TempFolder& model, int sizes) {
  const TempFolder folder;
  std::string list;
  for (int i = 0; i < 100; ++i) {
    const int size = i % sizes;
    const int height = 14 * (1 + size % 10);
    const int width = 14 * (1 + size * 7 % 100 / 10);
    const std::string name = "size" + std::to_string(i) + ".ppm";
    const auto pixels = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    list += folder
                .write(name, "P6\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n" +
                                 std::string(3 * pixels, static_cast<char>(i)))
                .native() +
            "\n";
  }
  const CommandResult result =
      vitrine({"classify", "-", "-m", model.path().native(), "--threads", "2", "-q"}, list);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.peak_kib;
}

TEST(Memory, DoesNotGrowWithTheNumberOfPictureSizes) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps what is freed";
  const TempFolder folder;
  EditableModel model("hf_dinov2_larger");
  auto recipe = nlohmann::ordered_json::parse(model.recipe);
  recipe["do_resize"] = recipe["do_center_crop"] = false;
  model.recipe = recipe.dump();
  model.write(folder);
  EXPECT_LT(peak_kib(folder, 100) - peak_kib(folder, 20), 12 << 10);
}

}  // namespace
}  // namespace vit::test
