// The hub's own protocol: what a model consists of, and its files. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/http_client.hpp"
#include "io/hub_id.hpp"
#include "io/hub_settings.hpp"
#include "io/incomplete_blob.hpp"
#include "io/pull_observer.hpp"

namespace vit::io {

/// What a branch, a tag or a commit stands for now.
struct HubRevision {
  std::string commit;
  std::vector<std::string> files;  ///< paths within the repository; none leads out of it
};

struct HubFile {
  std::string name;
  std::string etag;  ///< its checksum (io/blob_digest.hpp)
  std::uint64_t size = 0;
};

/// Talks to one hub about one model. What may pass (cut connections, answers 408, 429 and 5xx) is tried again
/// a few times, with growing pauses or those that the hub asks for. The token goes to the hub's own host
/// only. Throws Error: model_not_found (no such model, revision or file, or not for this token),
/// download_failed (all else).
class HubClient {
 public:
  /// Throws Error: download_failed if the settings forbid connections; invalid_argument (the token).
  HubClient(HubId id, const HubSettings& settings, PullObserver& observer);

  HubRevision revision();
  /// Of a revision's commit.
  HubFile file(const std::string& commit, const std::string& name);
  /// Fetches what `blob` lacks of the file. Its checksum is not looked at. Throws also
  /// Error(output_unwritable).
  void download(const std::string& commit, const HubFile& file, IncompleteBlob& blob);

 private:
  struct Attempts;

  std::string file_url(const std::string& commit, const std::string& name) const;
  HttpResponse follow(HttpRequest request, const HttpSink& sink = {});
  HttpResponse ask(HttpRequest request, const std::string& what);
  [[noreturn]] void fail(const HttpResponse& response, const std::string& what) const;

  HubId id_;
  std::string endpoint_;
  std::string authorization_;  ///< a header; empty: none
  PullObserver& observer_;
  HttpClient http_;
};

}  // namespace vit::io
