#include "vit/error.hpp"

namespace vit {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::model_not_found:
      return "model_not_found";
    case ErrorCode::config_invalid:
      return "config_invalid";
    case ErrorCode::model_unsupported:
      return "model_unsupported";
    case ErrorCode::weights_invalid:
      return "weights_invalid";
    case ErrorCode::download_failed:
      return "download_failed";
    case ErrorCode::image_not_found:
      return "image_not_found";
    case ErrorCode::image_unreadable:
      return "image_unreadable";
    case ErrorCode::image_empty:
      return "image_empty";
    case ErrorCode::image_unknown:
      return "image_unknown";
    case ErrorCode::image_truncated:
      return "image_truncated";
    case ErrorCode::image_corrupt:
      return "image_corrupt";
    case ErrorCode::image_unsupported:
      return "image_unsupported";
    case ErrorCode::image_too_large:
      return "image_too_large";
    case ErrorCode::tensor_invalid:
      return "tensor_invalid";
    case ErrorCode::output_unwritable:
      return "output_unwritable";
    case ErrorCode::no_input:
      return "no_input";
    case ErrorCode::not_finite:
      return "not_finite";
    case ErrorCode::verification_failed:
      return "verification_failed";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace vit
