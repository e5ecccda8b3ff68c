// Runs the built `vitrine` as a user does.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vit::test {

struct CommandResult {
  int exit_code = -1;  ///< 128 + signal if it was killed, as a shell says it
  std::string out;
  std::string err;
};

/// `arguments` without the program's name. Killed after a minute, which gives 128 + 9.
CommandResult vitrine(const std::vector<std::string>& arguments, const std::string& standard_input = {});

/// A folder that vanishes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).native(); }

 private:
  std::filesystem::path path_;
};

/// The whole file; empty if there is none.
std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace vit::test
