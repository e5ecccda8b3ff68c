// A killed export: at any moment there is the old model or the new one, whole.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "export/onnx_file.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/editable_model.hpp"

namespace vit::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Two models of the same shapes with other weights, so that a mix of both would load, and must not be.
struct Version {
  TempFolder folder;
  std::string name;

  Version(std::string version, float factor) : name(std::move(version)) {
    EditableModel model("hf_vit_base");
    for (auto& [tensor, stored] : model.tensors) {
      for (std::size_t at = 0; at < stored.bytes.size(); at += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, stored.bytes.data() + at, sizeof value);
        value *= factor;
        std::memcpy(stored.bytes.data() + at, &value, sizeof value);
      }
    }
    model.write(folder);
  }

  std::vector<std::string> command(const std::string& to) const {
    return {"export",  "-m",     folder.path().string(), "-o",        to, "--external-data", "always",
            "--force", "--meta", "version=" + name,      "--threads", "1"};
  }
};

/// The version that the metadata name, and all bytes of all weights.
std::pair<std::string, std::string> state(const fs::path& path) {
  const exporter::OnnxFile file = exporter::read_onnx(path);
  std::string bytes;
  for (const exporter::Initializer& initializer : file.graph.initializers) {
    std::string part(static_cast<std::size_t>(initializer.bytes()), '\0');
    initializer.fill(reinterpret_cast<std::byte*>(part.data()));
    bytes += part;
  }
  return {*file.graph.find_metadata("version"), bytes};
}

TEST(KilledExport, LeavesTheOldModelOrTheNewOne) {
  const Version versions[] = {{"old", 1}, {"new", 0.5F}};
  const TempFolder folder;
  std::map<std::string, std::string> whole;
  std::chrono::microseconds takes{0};
  for (const Version& version : versions) {
    const auto begin = Clock::now();
    ASSERT_EQ(vitrine(version.command(folder / "m.onnx")).exit_code, 0);
    takes = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
    whole[version.name] = state(folder / "m.onnx").second;
  }
  ASSERT_NE(whole["old"], whole["new"]);
  std::mt19937 generator(11);
  int killed = 0;
  int replaced = 0;
  std::string current = "new";
  for (int i = 0; i < 30; ++i) {
    const Version& next = versions[current == "new" ? 0 : 1];
    // The files appear near the end: most of the kills fall there.
    std::uniform_real_distribution<double> moment(i % 3 == 0 ? 0.0 : 0.6, 1.1);
    const auto patience = std::chrono::duration_cast<std::chrono::microseconds>(takes * moment(generator));
    const CommandResult result = vitrine_killed_after(patience, next.command(folder / "m.onnx"));
    killed += result.exit_code == 128 + 9 ? 1 : 0;
    const auto [version, bytes] = state(folder / "m.onnx");
    ASSERT_EQ(bytes, whole[version]) << "weights of one model under the name of the other";
    if (result.exit_code == 0) {
      ASSERT_EQ(version, next.name);
    }
    replaced += version != current ? 1 : 0;
    current = version;
  }
  EXPECT_GT(killed, 5) << "the test killed nothing";
  EXPECT_GT(replaced, 0) << "no export came to its end";
  // What the killed left behind does not stand in the way, and is not taken for the model's.
  ASSERT_EQ(vitrine(versions[0].command(folder / "m.onnx")).exit_code, 0);
  EXPECT_EQ(state(folder / "m.onnx").second, whole["old"]);
}

}  // namespace
}  // namespace vit::test
