// The one exception that leaves Vitrine's libraries, and the codes it carries.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace vit {

/// What went wrong. The names are stable: error rows of the command line print them (see to_string).
enum class ErrorCode {
  invalid_argument,     ///< a caller passed something that can never work
  model_not_found,      ///< no such model folder or file, or nothing in it that is a model
  config_invalid,       ///< config.json or preprocessor_config.json is damaged or contradicts itself
  model_unsupported,    ///< well-formed, but a family or option that Vitrine cannot express
  weights_invalid,      ///< the weights file breaks its format or does not fit the config
  download_failed,      ///< the hub cannot be reached, or what it sends is not what it should be
  image_not_found,      ///< no such picture
  image_unreadable,     ///< the operating system refused to read it
  image_empty,          ///< zero bytes
  image_unknown,        ///< not a picture in any format that Vitrine decodes
  image_truncated,      ///< the data ends early
  image_corrupt,        ///< the data breaks its format
  image_unsupported,    ///< a picture of a kind that Vitrine does not decode
  image_too_large,      ///< more pixels than the limit allows
  tensor_invalid,       ///< a tensor file given as input breaks its format or has the wrong shape
  output_unwritable,    ///< a result could not be written
  no_input,             ///< a folder or list without a single picture
  not_finite,           ///< the network produced NaN or infinity
  verification_failed,  ///< a file that was written does not compute what it should
  internal,             ///< a bug in Vitrine or in a library below it
};

/// The code as it is printed, e.g. "image_truncated".
std::string_view to_string(ErrorCode code);

/// Thrown by every Vitrine library. what() is a whole sentence that names the file (or tensor), what was
/// expected and what was found, and where it helps, what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace vit
