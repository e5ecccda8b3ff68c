// HTTP as the hub needs it, one exchange at a time: the only code that knows libcurl. Internal.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vit::io {

enum class HttpMethod { get, head };

struct HttpRequest {
  std::string url;
  HttpMethod method = HttpMethod::get;
  std::vector<std::string> headers = {};  ///< "Name: value"
  std::uint64_t first_byte = 0;           ///< of the body; sent as a Range unless 0
  bool fresh_connection = false;          ///< none that is open: after an exchange that went wrong
};

struct HttpResponse {
  long status = 0;                             ///< 0: no answer
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;                            ///< of a success, where no sink took it
  /// What went wrong with the connection, as libcurl says it; empty: the answer came to its end.
  std::string failure;
  bool may_pass = false;  ///< of the failure: another attempt may succeed

  /// The value of a header, by its name in lower case; empty where there is none.
  std::string header(const std::string& name) const;
};

/// Takes the body of a successful (2xx) answer in pieces, after its headers. What it throws ends the transfer
/// and leaves send().
using HttpSink = std::function<void(const HttpResponse& head, std::span<const std::byte> piece)>;

struct HttpOptions {
  std::chrono::seconds timeout{10};         ///< how long nothing may arrive, connecting included
  std::filesystem::path certificates = {};  ///< of authorities, in one file; empty: the system's
};

/// Keeps a connection open between exchanges. For one thread at a time. Proxies are those of the environment
/// (https_proxy, no_proxy, …).
class HttpClient {
 public:
  /// Throws Error(internal).
  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// One request and its answer; redirects are answers like others. Without a sink the body is kept: at most
  /// 16 MiB, and six times the timeout; then the transfer ends with a failure. Of answers that are no success
  /// (2xx) the headers have to do.
  HttpResponse send(const HttpRequest& request, const HttpSink& sink = {});

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

/// Where a Location header leads, relative to the URL that it came from; empty unless that is http or https.
std::string resolve_url(const std::string& base, const std::string& location);

/// Scheme, host and port: what a token was given for.
std::string origin_of(const std::string& url);

/// Percent-encoded but for letters, digits, "-._~" and what is to be kept.
std::string escape_url(std::string_view text, std::string_view keep = "");

/// Of the libcurl that is loaded, e.g. "7.88.1".
std::string http_library_version();

}  // namespace vit::io
