// Folders of files that a command writes, one or more for each input.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>

#include "apps/common.hpp"
#include "io/input.hpp"

namespace vit::apps {

/// Makes the folder, and those that it lies in, if they are not there. Throws Error(output_unwritable).
void make_folder(const std::filesystem::path& folder);

/// The same for a folder of files that are made of the inputs. `option` is the one that names it, for
/// messages. Throws Error: invalid_argument if what appears in it would be read as an input,
/// output_unwritable.
void make_output_folder(const std::string& option, const std::filesystem::path& folder,
                        const InputArguments& inputs);

/// Short enough to be a part of a file's name, without half a UTF-8 character at its end.
std::string shortened_name(const std::string& name);

/// Names for files, one for each input: that of the picture without folder and extension, of a frame with its
/// number ("clip.frame12"), with -2, -3, … where an earlier input had it.
class OutputNames {
 public:
  /// `input` and `frame` as in io::Input.
  std::string name_for(const std::string& input, const std::optional<io::FramePosition>& frame = {});

 private:
  std::unordered_map<std::string, int> next_;  // by name: the number of the next one
};

}  // namespace vit::apps
