#include "io/hub_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "io/blob_digest.hpp"
#include "io/json.hpp"
#include "io/quote_name.hpp"
#include "vit/error.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr int kMaxRedirects = 10;
constexpr int kMaxAttempts = 5;                              // in a row that bring nothing
constexpr std::uint64_t kProgress = std::uint64_t{1} << 20;  // bytes of an attempt that brought something
constexpr Milliseconds kFirstPause{500};                     // doubled after every attempt
constexpr std::chrono::seconds kLongestPause{5 * 60};        // that a hub may ask for

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// W/"abc" and "abc" -> abc.
std::string strip_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool may_pass(const HttpResponse& response) {
  if (!response.failure.empty()) return response.may_pass;
  return response.status == 408 || response.status == 429 || response.status / 100 == 5;
}

/// Seconds that the hub asks to wait for: Retry-After, or the t of RateLimit ("api";r=0;t=55).
std::optional<std::uint64_t> asked_pause(const HttpResponse& response) {
  if (const auto seconds = parse_size(response.header("retry-after"))) return seconds;
  const std::string limit = response.status == 429 ? response.header("ratelimit") : "";
  const std::size_t at = limit.find(";t=");
  if (at == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(limit).substr(at + 3);
  return parse_size(rest.substr(0, rest.find_first_not_of("0123456789")));
}

/// Why an attempt failed, in a few words.
std::string reason(const HttpResponse& response) {
  if (!response.failure.empty()) return response.failure;
  const std::string words = response.header("x-error-message");
  return words.empty() ? fmt::format("HTTP status {}", response.status)
                       : fmt::format("HTTP status {}, {}", response.status, quote_name(words));
}

/// A name within a repository that stays within a folder.
bool is_safe_path(std::string_view name) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\'; };
  if (name.empty() || std::any_of(name.begin(), name.end(), control)) return false;
  for (std::size_t slash = 0; slash != std::string_view::npos; name.remove_prefix(slash + 1)) {
    slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) break;
  }
  return true;
}

/// The token of the settings, or of the file that huggingface_hub's login writes; empty without either.
std::string find_token(const HubSettings& settings) {
  constexpr std::size_t kMaxBytes = 64 << 10;
  std::string token = settings.token;
  std::error_code ignored;
  if (token.empty() && !settings.token_file.empty() &&
      std::filesystem::exists(settings.token_file, ignored)) {
    const auto errors = FileErrors::all(ErrorCode::download_failed);
    token = as_text(read_file(settings.token_file, kMaxBytes, errors));
  }
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!token.empty() && space(token.back())) token.pop_back();
  token.erase(token.begin(), std::find_if_not(token.begin(), token.end(), space));
  if (std::any_of(token.begin(), token.end(), [](char c) { return c <= 0x20 || c >= 0x7F; }))
    throw Error(ErrorCode::invalid_argument, "the token of the hub (HF_TOKEN) has characters that none has");
  return token;
}

/// What a 206 says it begins with; nothing where it does not say so.
std::optional<std::uint64_t> first_byte_of(const HttpResponse& response) {
  const std::string range = response.header("content-range");  // "bytes 100-199/200"
  if (!range.starts_with("bytes ")) return std::nullopt;
  return parse_size(std::string_view(range).substr(6, range.find('-') - 6));
}

}  // namespace

/// How often something is tried again, and after how long.
struct HubClient::Attempts {
  PullObserver& observer;
  int failed = 0;
  Milliseconds pause = kFirstPause;

  /// After an attempt that brought something: as if it were the first.
  void start_over() {
    failed = 0;
    pause = kFirstPause;
  }

  /// Waits. False: that was the last one.
  bool again(const HttpResponse& response, const std::string& what) {
    const auto asked = asked_pause(response);
    if (++failed >= kMaxAttempts || (asked && *asked > static_cast<std::uint64_t>(kLongestPause.count())))
      return false;
    const Milliseconds wait = asked ? Milliseconds(1000 * *asked) : pause;
    observer.on_note(fmt::format("{}: {}; trying again in {:.1f} s", what, reason(response),
                                 std::chrono::duration<double>(wait).count()));
    std::this_thread::sleep_for(wait);
    pause *= 2;
    return true;
  }
};

HubClient::HubClient(HubId id, const HubSettings& settings, PullObserver& observer)
    : id_(std::move(id)),
      endpoint_(settings.endpoint),
      observer_(observer),
      http_({settings.timeout, settings.certificates}) {
  if (settings.offline) {
    throw Error(ErrorCode::download_failed,
                fmt::format("{}: HF_HUB_OFFLINE (or TRANSFORMERS_OFFLINE) forbids connections, so nothing is "
                            "downloaded",
                            id_.text()));
  }
  if (const std::string token = find_token(settings); !token.empty())
    authorization_ = "Authorization: Bearer " + token;
}

std::string HubClient::file_url(const std::string& commit, const std::string& name) const {
  return fmt::format("{}/{}/resolve/{}/{}", endpoint_, id_.repository, commit, escape_url(name, "/"));
}

/// Redirects are followed by us: the token stays with the hub's own host, and a HEAD ends where the hub leads
/// to another one, which knows the content but not what the hub calls it.
HttpResponse HubClient::follow(HttpRequest request, const HttpSink& sink) {
  const std::string home = origin_of(endpoint_);
  for (int redirects = 0; redirects <= kMaxRedirects; ++redirects) {
    const bool at_home = origin_of(request.url) == home;
    request.headers = {"Accept-Encoding: identity"};
    if (at_home && !authorization_.empty()) request.headers.push_back(authorization_);
    HttpResponse response = http_.send(request, sink);
    if (!response.failure.empty() || !is_redirect(response.status)) return response;
    const std::string next = resolve_url(request.url, response.header("location"));
    const bool leaves = origin_of(next) != home;
    if (request.method == HttpMethod::head && leaves && !response.header("x-linked-etag").empty())
      return response;
    if (next.empty() || (request.url.starts_with("https:") && !next.starts_with("https:"))) {
      response.failure = fmt::format("it leads to {}, which is not followed",
                                     next.empty() ? "no address" : "an address without encryption");
      return response;
    }
    request.url = next;
  }
  HttpResponse lost;
  lost.failure = fmt::format("more than {} redirects", kMaxRedirects);
  return lost;
}

HttpResponse HubClient::ask(HttpRequest request, const std::string& what) {
  Attempts attempts{observer_};
  for (;;) {
    HttpResponse response = follow(request);
    request.fresh_connection = true;
    const bool answered =
        response.failure.empty() &&
        (response.status / 100 == 2 || (is_redirect(response.status) && request.method == HttpMethod::head));
    if (answered) return response;
    if (!may_pass(response) || !attempts.again(response, what)) fail(response, what);
  }
}

void HubClient::fail(const HttpResponse& response, const std::string& what) const {
  const std::string page = fmt::format("{}/{}", endpoint_, id_.repository);
  const std::string code = response.header("x-error-code");
  const std::string access = authorization_.empty() ? "no token was sent: set HF_TOKEN if it needs one"
                                                    : "the token that was sent has no access to it";
  if (!response.failure.empty() || may_pass(response)) {
    const auto pause = asked_pause(response);
    const std::string later = pause ? fmt::format(" (it asks to wait for {} s)", *pause) : "";
    throw Error(ErrorCode::download_failed,
                fmt::format("{}: cannot be downloaded: {}{}", what, reason(response), later));
  }
  if (code == "GatedRepo") {
    throw Error(ErrorCode::model_not_found,
                fmt::format("{}: its authors give it to those who ask at {}; {}", what, page, access));
  }
  if (code == "RevisionNotFound") {
    throw Error(ErrorCode::model_not_found,
                fmt::format("{}: the hub has {}, but no revision {}", what, page, quote_name(id_.revision)));
  }
  if (code == "EntryNotFound")
    throw Error(ErrorCode::model_not_found, fmt::format("{}: the hub does not have that file", what));
  if (response.status == 401 || response.status == 403 || response.status == 404) {
    throw Error(
        ErrorCode::model_not_found,
        fmt::format("{}: the hub has no {}, or not for everybody (HTTP status {}); check the name, {}", what,
                    page, response.status, access));
  }
  throw Error(ErrorCode::download_failed,
              fmt::format("{}: cannot be downloaded: {}", what, reason(response)));
}

HubRevision HubClient::revision() {
  const std::string what = id_.text();
  const std::string url =
      fmt::format("{}/api/models/{}/revision/{}", endpoint_, id_.repository, escape_url(id_.revision));
  const HttpResponse response = ask({.url = url}, what);
  const JsonSource source(url, ErrorCode::download_failed);
  const Json answer = parse_json_object(response.body, source);
  HubRevision revision{get_string(answer, "sha", source), {}};
  if (!is_commit(revision.commit))
    throw_unexpected(source, "sha", "a commit, 40 hexadecimal digits", answer["sha"]);
  for (const Json& sibling : get_array(answer, "siblings", source)) {
    if (!sibling.is_object()) throw_unexpected(source, "siblings", "an object for each file", sibling);
    std::string name = get_string(sibling, "rfilename", source);
    if (!is_safe_path(name)) {
      throw Error(ErrorCode::download_failed,
                  fmt::format("{}: the hub names a file {}, which would lie outside of the model's folder; "
                              "nothing is downloaded",
                              what, quote_name(name)));
    }
    revision.files.push_back(std::move(name));
  }
  return revision;
}

HubFile HubClient::file(const std::string& commit, const std::string& name) {
  const std::string what = fmt::format("{}/{}", id_.text(), name);
  const HttpResponse response = ask({.url = file_url(commit, name), .method = HttpMethod::head}, what);
  const auto fail_header = [&](std::string_view header, std::string_view expected) {
    throw Error(ErrorCode::download_failed,
                fmt::format("{}: expected {} in the answer's {} header, found {}; is {} a hub?", what,
                            expected, header, quote_name(response.header(std::string(header))), endpoint_));
  };
  if (response.header("x-repo-commit") != commit) fail_header("x-repo-commit", commit);
  const bool linked = !response.header("x-linked-etag").empty();
  HubFile file{name, strip_etag(response.header(linked ? "x-linked-etag" : "etag")), 0};
  digest_kind(file.etag, what);
  const std::string_view header =
      response.header("x-linked-size").empty() ? "content-length" : "x-linked-size";
  const auto size = is_redirect(response.status) && header == "content-length"
                        ? std::nullopt
                        : parse_size(response.header(std::string(header)));
  if (!size) fail_header(header, "its size in bytes");
  file.size = *size;
  return file;
}

void HubClient::download(const std::string& commit, const HubFile& file, IncompleteBlob& blob) {
  const std::string what = fmt::format("{}/{}", id_.text(), file.name);
  Attempts attempts{observer_};
  if (blob.size() > file.size) blob.restart();
  while (blob.size() < file.size) {
    const std::uint64_t before = blob.size();
    bool first = true;
    const HttpSink sink = [&](const HttpResponse& head, std::span<const std::byte> piece) {
      // A server may ignore the range (200), or begin elsewhere.
      const bool continues = head.status == 206 && first_byte_of(head) == before;
      if (head.status == 206 && !continues) {
        throw Error(ErrorCode::download_failed,
                    fmt::format("{}: asked for the bytes from {}, the hub sends {}", what, before,
                                quote_name(head.header("content-range"))));
      }
      if (std::exchange(first, false) && !continues && before > 0) blob.restart();
      if (piece.size() > file.size - blob.size()) {
        blob.discard();
        throw Error(
            ErrorCode::download_failed,
            fmt::format("{}: more bytes arrive than the {} that the hub announced; what was downloaded "
                        "is discarded",
                        what, file.size));
      }
      blob.append(piece);
      observer_.on_progress({file.name, blob.size(), file.size});
    };
    HttpResponse response = follow(
        {.url = file_url(commit, file.name), .first_byte = before, .fresh_connection = attempts.failed > 0},
        sink);
    if (blob.size() == file.size) return;
    if (response.status == 416) blob.restart();
    const bool success = response.status / 100 == 2 || response.status == 416;
    if (success && response.failure.empty()) {
      response.failure = fmt::format("the connection ends after {} of {} bytes", blob.size(), file.size);
      response.may_pass = true;
    }
    if (blob.size() >= before + kProgress) attempts.start_over();
    if (!may_pass(response) || !attempts.again(response, what)) fail(response, what);
  }
}

}  // namespace vit::io
