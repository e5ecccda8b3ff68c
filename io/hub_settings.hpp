// What the environment says about the hub and its cache, with the variables of Python's huggingface_hub.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace vit::io {

struct HubSettings {
  std::filesystem::path cache;       ///< folder of the folders models--org--name
  std::filesystem::path token_file;  ///< read where `token` is empty; empty: none
  std::string token;
  std::string endpoint;                ///< URL without a slash at its end
  bool offline = false;                ///< no connection is made
  std::filesystem::path certificates;  ///< of authorities, in one file; empty: the system's
  /// How long nothing may arrive.
  std::chrono::seconds timeout{10};
};

/// A variable's value; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// The variables, the first one set (and not empty) wins; "~" and "$NAME" in paths are expanded:
///   cache       HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub
///   HF_HOME     itself, XDG_CACHE_HOME/huggingface, ~/.cache/huggingface
///   token       HF_TOKEN, HUGGING_FACE_HUB_TOKEN; its file: HF_TOKEN_PATH, HF_HOME/token. None of them with
///               HF_HUB_DISABLE_IMPLICIT_TOKEN
///   endpoint    HF_ENDPOINT, https://huggingface.co
///   offline     HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE
///   authorities SSL_CERT_FILE, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, as Python's libraries and curl
///   timeout     HF_HUB_DOWNLOAD_TIMEOUT, whole seconds
/// Throws Error(invalid_argument) that names the variable with a value that cannot be.
HubSettings read_hub_settings(const Environment& environment);

/// Of the process. Not while another thread changes the environment.
HubSettings read_hub_settings();

}  // namespace vit::io
