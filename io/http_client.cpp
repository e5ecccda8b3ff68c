#include "io/http_client.hpp"

#include <curl/curl.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <ctime>
#include <exception>
#include <string_view>
#include <utility>

#include "vit/error.hpp"

namespace vit::io {
namespace {

constexpr std::size_t kMaxKeptBody = std::size_t{16} << 20;
constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10;
constexpr int kTimeoutsPerAnswer = 6;  // an answer that is kept, or has no body, as a whole

/// libcurl's own memory for strings and lists.
struct CurlDeleter {
  void operator()(char* text) const { curl_free(text); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
using CurlText = std::unique_ptr<char, CurlDeleter>;
using CurlList = std::unique_ptr<curl_slist, CurlDeleter>;
using CurlUrl = std::unique_ptr<CURLU, CurlDeleter>;

/// While it lives, writing to a closed connection is an error for this thread rather than SIGPIPE for the
/// process: CURLOPT_NOSIGNAL leaves that to us, and the host's handlers are not ours to change.
class SigpipeBlock {
 public:
  SigpipeBlock() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~SigpipeBlock() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlock(const SigpipeBlock&) = delete;
  SigpipeBlock& operator=(const SigpipeBlock&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

/// What an answer does to the caller while it comes in.
struct Exchange {
  using Clock = std::chrono::steady_clock;

  HttpResponse response;
  const HttpSink& sink;
  std::chrono::seconds patience;  // with silence
  Clock::time_point heard = Clock::now();
  std::size_t header_bytes = 0;
  std::exception_ptr thrown = nullptr;  // out of the sink; C code lies between it and send()
  std::string refused = {};             // why we ended it
  bool enough = false;                  // ended without a fault
};

std::string_view trim(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::string_view line(data, size * count);
  exchange.heard = Exchange::Clock::now();
  try {
    exchange.header_bytes += line.size();
    if (exchange.header_bytes > kMaxHeaderBytes) {
      exchange.refused = fmt::format("more than {} bytes of headers", kMaxHeaderBytes);
      return CURL_WRITEFUNC_ERROR;
    }
    if (line.starts_with("HTTP/"))
      exchange.response.headers.clear();  // after "100 Continue", a proxy's answer
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return line.size();
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    exchange.response.headers[name] = trim(line.substr(colon + 1));
    return line.size();
  } catch (...) {
    exchange.thrown = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
}

struct BodyTarget {
  Exchange& exchange;
  CURL* curl;
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  auto& [exchange, curl] = *static_cast<BodyTarget*>(user);
  const std::size_t bytes = size * count;
  HttpResponse& response = exchange.response;
  exchange.heard = Exchange::Clock::now();
  try {
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &response.status);
    if (response.status / 100 != 2) {
      exchange.enough = true;
      return CURL_WRITEFUNC_ERROR;
    }
    if (exchange.sink) {
      exchange.sink(response, std::as_bytes(std::span(data, bytes)));
    } else if (response.body.size() + bytes > kMaxKeptBody) {
      exchange.refused = fmt::format("an answer of more than {} bytes", kMaxKeptBody);
      return CURL_WRITEFUNC_ERROR;
    } else {
      response.body.append(data, bytes);
    }
    return bytes;
  } catch (...) {
    exchange.thrown = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
}

/// Called about once a second. (libcurl's own limit on slowness averages over several seconds, and is late.)
int end_silence(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
  const auto& exchange = *static_cast<const Exchange*>(user);
  return Exchange::Clock::now() - exchange.heard > exchange.patience ? 1 : 0;
}

/// Failures that are not of this moment: addresses, protocols and certificates.
bool may_pass(CURLcode code) {
  constexpr std::array kLasting{
      CURLE_URL_MALFORMAT,      CURLE_UNSUPPORTED_PROTOCOL, CURLE_PEER_FAILED_VERIFICATION,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,     CURLE_WRITE_ERROR,
      CURLE_NOT_BUILT_IN,       CURLE_OUT_OF_MEMORY};
  return std::find(kLasting.begin(), kLasting.end(), code) == kLasting.end();
}

void require(CURLcode code, std::string_view what) {
  if (code == CURLE_OK) return;
  throw Error(ErrorCode::internal, fmt::format("libcurl: {}: {}", what, curl_easy_strerror(code)));
}

}  // namespace

struct HttpClient::Handle {
  std::unique_ptr<CURL, CurlDeleter> curl;
  HttpOptions options;

  template <class Value>
  void set(CURLoption option, Value value, std::string_view what) const {
    require(curl_easy_setopt(curl.get(), option, value), what);
  }
};

std::string HttpResponse::header(const std::string& name) const {
  const auto at = headers.find(name);
  return at == headers.end() ? "" : at->second;
}

HttpClient::HttpClient(HttpOptions options) : handle_(std::make_unique<Handle>()) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);  // once, whatever thread comes first
  require(started, "start");
  handle_->curl.reset(curl_easy_init());
  handle_->options = std::move(options);
  if (!handle_->curl) require(CURLE_OUT_OF_MEMORY, "start");
}

HttpClient::~HttpClient() = default;

HttpResponse HttpClient::send(const HttpRequest& request, const HttpSink& sink) {
  Exchange exchange{{}, sink, handle_->options.timeout};
  BodyTarget target{exchange, handle_->curl.get()};
  std::array<char, CURL_ERROR_SIZE> words{};
  CurlList headers;
  for (const std::string& header : request.headers) {
    curl_slist* longer = curl_slist_append(headers.get(), header.c_str());
    if (longer == nullptr) require(CURLE_OUT_OF_MEMORY, "headers");
    static_cast<void>(headers.release());
    headers.reset(longer);
  }
  const std::string range = fmt::format("{}-", request.first_byte);
  const auto seconds = static_cast<long>(handle_->options.timeout.count());

  CURL* curl = handle_->curl.get();
  curl_easy_reset(curl);  // options only: connections stay
  handle_->set(CURLOPT_URL, request.url.c_str(), "URL");
  handle_->set(CURLOPT_PROTOCOLS_STR, "http,https", "protocols");
  handle_->set(CURLOPT_NOBODY, request.method == HttpMethod::head ? 1L : 0L, "method");
  handle_->set(CURLOPT_USERAGENT, "vitrine", "user agent");
  handle_->set(CURLOPT_HTTPHEADER, headers.get(), "headers");
  handle_->set(CURLOPT_FRESH_CONNECT, request.fresh_connection ? 1L : 0L, "connection");
  if (request.first_byte > 0) handle_->set(CURLOPT_RANGE, range.c_str(), "range");
  handle_->set(CURLOPT_NOSIGNAL, 1L, "signals");
  if (const auto& file = handle_->options.certificates; !file.empty())
    handle_->set(CURLOPT_CAINFO, file.c_str(), "certificates");
  handle_->set(CURLOPT_CONNECTTIMEOUT, seconds, "timeout");
  handle_->set(CURLOPT_NOPROGRESS, 0L, "timeout");
  handle_->set(CURLOPT_XFERINFOFUNCTION, &end_silence, "timeout");
  handle_->set(CURLOPT_XFERINFODATA, static_cast<void*>(&exchange), "timeout");
  if (!sink) handle_->set(CURLOPT_TIMEOUT, kTimeoutsPerAnswer * seconds, "timeout");
  handle_->set(CURLOPT_HEADERFUNCTION, &take_header, "headers");
  handle_->set(CURLOPT_HEADERDATA, static_cast<void*>(&exchange), "headers");
  handle_->set(CURLOPT_WRITEFUNCTION, &take_body, "body");
  handle_->set(CURLOPT_WRITEDATA, static_cast<void*>(&target), "body");
  handle_->set(CURLOPT_ERRORBUFFER, words.data(), "error buffer");

  CURLcode code = CURLE_OK;
  {
    const SigpipeBlock block;
    code = curl_easy_perform(curl);
  }
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  if (exchange.thrown) std::rethrow_exception(exchange.thrown);
  HttpResponse response = std::move(exchange.response);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &response.status);
  if (code != CURLE_OK && !exchange.enough) {
    response.failure = !exchange.refused.empty()           ? exchange.refused
                       : code == CURLE_ABORTED_BY_CALLBACK ? fmt::format("nothing came for {} s", seconds)
                       : words.front() != '\0'             ? words.data()
                                                           : curl_easy_strerror(code);
    response.may_pass = may_pass(code);
  }
  return response;
}

std::string resolve_url(const std::string& base, const std::string& location) {
  const CurlUrl url(curl_url());
  char* text = nullptr;
  if (!url || location.empty() || curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK ||
      curl_url_set(url.get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK ||
      curl_url_get(url.get(), CURLUPART_URL, &text, 0) != CURLUE_OK)
    return "";
  const CurlText owner(text);
  const std::string_view result(text);
  return result.starts_with("http://") || result.starts_with("https://") ? std::string(result) : "";
}

std::string origin_of(const std::string& url) {
  const CurlUrl parts(curl_url());
  std::string origin;
  if (!parts || curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return origin;
  for (const CURLUPart part : {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
    char* text = nullptr;
    if (curl_url_get(parts.get(), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return "";
    const CurlText owner(text);
    origin += fmt::format("{}{}", origin.empty() ? "" : "|", text);
  }
  std::transform(origin.begin(), origin.end(), origin.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return origin;
}

std::string escape_url(std::string_view text, std::string_view keep) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte < 0x80 && std::isalnum(byte) != 0) ||
                       std::string_view("-._~").find(c) != std::string_view::npos ||
                       keep.find(c) != std::string_view::npos;
    result += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return result;
}

std::string http_library_version() {
  return curl_version_info(CURLVERSION_NOW)->version;
}

}  // namespace vit::io
