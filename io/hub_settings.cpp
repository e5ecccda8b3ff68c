#include "io/hub_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "vit/error.hpp"

namespace vit::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEndpoint = "https://huggingface.co";

/// The first of the variables that is set to something.
template <class... Names>
std::string first_of(const Environment& environment, Names... names) {
  for (const char* name : {names...}) {
    std::optional<std::string> value = environment(name);
    if (value && !value->empty()) return *value;
  }
  return "";
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Of the "$NAME" or "${NAME}" that the text begins with; 0 where it does not.
std::size_t variable_length(std::string_view text) {
  if (!text.starts_with('$')) return 0;
  const bool braced = text.starts_with("${");
  const std::size_t begin = braced ? 2 : 1;
  std::size_t end = begin;
  while (end < text.size() && is_name_character(text[end])) ++end;
  if (end == begin) return 0;
  if (!braced) return end;
  return end < text.size() && text[end] == '}' ? end + 1 : 0;
}

/// "~" at the start, "$NAME" and "${NAME}" anywhere; what is not set stays as it is.
std::string expand(std::string_view text, const Environment& environment) {
  std::string result;
  if (text == "~" || text.starts_with("~/")) {
    result = environment("HOME").value_or("~");
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const std::size_t length = variable_length(text);
    const std::string piece(text.substr(0, std::max<std::size_t>(length, 1)));
    std::string name;
    std::copy_if(piece.begin(), piece.end(), std::back_inserter(name), is_name_character);
    result += length > 0 ? environment(name.c_str()).value_or(piece) : piece;
    text.remove_prefix(piece.size());
  }
  return result;
}

bool is_true(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  constexpr std::array<std::string_view, 4> kTrue{"1", "ON", "YES", "TRUE"};
  return std::find(kTrue.begin(), kTrue.end(), value) != kTrue.end();
}

fs::path home_of(const Environment& environment) {
  if (const std::string home = first_of(environment, "HF_HOME"); !home.empty())
    return expand(home, environment);
  const std::string caches = first_of(environment, "XDG_CACHE_HOME");
  return fs::path(expand(caches.empty() ? "~/.cache" : caches, environment)) / "huggingface";
}

std::string endpoint_of(const Environment& environment) {
  std::string endpoint = first_of(environment, "HF_ENDPOINT");
  if (endpoint.empty()) return std::string(kEndpoint);
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const bool web = endpoint.starts_with("https://") || endpoint.starts_with("http://");
  const bool printable =
      std::all_of(endpoint.begin(), endpoint.end(), [](char c) { return c > 0x20 && c < 0x7F; });
  if (!web || !printable) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("HF_ENDPOINT={}: expected a URL, such as {}", endpoint, kEndpoint));
  }
  return endpoint;
}

std::chrono::seconds timeout_of(const Environment& environment) {
  constexpr int kMost = 24 * 60 * 60;
  const std::string text = first_of(environment, "HF_HUB_DOWNLOAD_TIMEOUT");
  if (text.empty()) return HubSettings{}.timeout;
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || seconds < 1 || seconds > kMost) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("HF_HUB_DOWNLOAD_TIMEOUT={}: expected whole seconds, 1 to {}", text, kMost));
  }
  return std::chrono::seconds(seconds);
}

}  // namespace

HubSettings read_hub_settings(const Environment& environment) {
  HubSettings settings;
  const fs::path home = home_of(environment);
  const std::string cache = first_of(environment, "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE");
  settings.cache = cache.empty() ? home / "hub" : fs::path(expand(cache, environment));
  if (!is_true(first_of(environment, "HF_HUB_DISABLE_IMPLICIT_TOKEN"))) {
    settings.token = first_of(environment, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN");
    const std::string file = first_of(environment, "HF_TOKEN_PATH");
    settings.token_file = file.empty() ? home / "token" : fs::path(expand(file, environment));
  }
  settings.endpoint = endpoint_of(environment);
  settings.offline = is_true(first_of(environment, "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"));
  settings.certificates = first_of(environment, "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE");
  settings.timeout = timeout_of(environment);
  return settings;
}

HubSettings read_hub_settings() {
  return read_hub_settings([](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  });
}

}  // namespace vit::io
