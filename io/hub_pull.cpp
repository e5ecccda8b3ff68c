#include "io/hub_pull.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "io/blob_digest.hpp"
#include "io/file_lock.hpp"
#include "io/hub_cache.hpp"
#include "io/hub_client.hpp"
#include "io/incomplete_blob.hpp"
#include "io/weight_files.hpp"
#include "vit/error.hpp"

namespace vit::io {
namespace {

namespace fs = std::filesystem;

/// What a model's folder has beside the weights, where the repository has it.
constexpr std::array<std::string_view, 4> kSideFiles{"config.json", "preprocessor_config.json",
                                                     "processor_config.json", "preset.json"};

/// Fetches the files of one commit into the cache.
class Pull {
 public:
  Pull(const PullRequest& request, const HubSettings& settings, PullObserver& observer)
      : id_(request.id),
        cache_(settings.cache, request.id.repository),
        observer_(observer),
        client_(request.id, settings, observer) {}

  fs::path run(const std::string& weights_wanted) {
    const HubRevision revision = client_.revision();
    commit_ = revision.commit;
    const std::vector<std::string> names = names_at_top(revision.files);
    const std::string weights = choose_weights(names, weights_wanted);
    for (const std::string_view side : kSideFiles) {
      if (std::binary_search(names.begin(), names.end(), side)) fetch(std::string(side));
    }
    fetch(weights);
    if (is_index(weights)) {
      for (const std::string& shard : shards_of(cache_.snapshot(commit_) / weights)) fetch(shard);
    }
    cache_.write_reference(id_.revision, commit_);
    return cache_.snapshot(commit_);
  }

 private:
  /// Vitrine reads no sub-folders of a model.
  static std::vector<std::string> names_at_top(std::vector<std::string> names) {
    std::erase_if(names, [](const std::string& name) { return name.find('/') != std::string::npos; });
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string choose_weights(const std::vector<std::string>& names, const std::string& wanted) const {
    if (std::binary_search(names.begin(), names.end(), wanted)) return wanted;
    if (!wanted.empty()) {
      throw Error(ErrorCode::model_not_found,
                  fmt::format("{}: there is no {} in it; found {}", id_.text(), wanted, list_of(names)));
    }
    const std::vector<std::string> weights = weights_among(id_.text(), names);
    if (weights.size() == 1) return weights.front();
    throw Error(ErrorCode::model_not_found,
                fmt::format("{}: several files in it may be weights: {}; name the one: --weights FILE",
                            id_.text(), list_of(weights)));
  }

  void fetch(const std::string& name) {
    const HubFile file = client_.file(commit_, name);
    create_folders(cache_.lock(file.etag).parent_path());
    create_folders(cache_.blob(file.etag).parent_path());
    const FileLock lock(cache_.lock(file.etag), [&] {
      observer_.on_note(fmt::format("{}/{}: another process downloads it; waiting for it", id_.text(), name));
    });
    if (!is_good(cache_.blob(file.etag), file)) download(file);
    cache_.link(commit_, name, file.etag);
  }

  /// Whether the cache has it, undamaged.
  bool is_good(const fs::path& blob, const HubFile& file) const {
    std::error_code ignored;
    return fs::is_regular_file(blob, ignored) && fs::file_size(blob, ignored) == file.size &&
           digest_of(blob, digest_kind(file.etag, file.name)) == file.etag;
  }

  void download(const HubFile& file) {
    IncompleteBlob blob(cache_.incomplete(file.etag));
    require_space(file.size - std::min(file.size, blob.size()));
    const bool continued = blob.size() > 0;
    observer_.on_progress({file.name, blob.size(), file.size});
    client_.download(commit_, file, blob);
    std::string found = digest_of(blob.path(), digest_kind(file.etag, file.name));
    if (found != file.etag && continued) {  // what was there may have been the fault
      blob.restart();
      client_.download(commit_, file, blob);
      found = digest_of(blob.path(), digest_kind(file.etag, file.name));
    }
    if (found != file.etag) {
      blob.discard();
      throw Error(ErrorCode::download_failed,
                  fmt::format("{}/{}: its checksum is {}, expected {} ({} bytes); what was downloaded is "
                              "discarded. Try again",
                              id_.text(), file.name, found, file.etag, file.size));
    }
    blob.move_to(cache_.blob(file.etag));
  }

  void require_space(std::uint64_t bytes) const {
    std::error_code unknown;
    const fs::space_info space = fs::space(cache_.folder(), unknown);
    if (unknown || space.available >= bytes) return;
    throw Error(
        ErrorCode::output_unwritable,
        fmt::format("{}: expected {} bytes free for the download, found {}; HF_HOME names another place",
                    cache_.folder().string(), bytes, space.available));
  }

  HubId id_;
  HubCache cache_;
  PullObserver& observer_;
  HubClient client_;
  std::string commit_;
};

}  // namespace

fs::path pull_model(const PullRequest& request, const HubSettings& settings, PullObserver& observer) {
  if (!settings.offline) return Pull(request, settings, observer).run(request.weights);
  try {
    return find_in_cache(request.id, settings.cache);
  } catch (const Error& error) {
    throw Error(ErrorCode::download_failed,
                fmt::format("{}, but not while HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids connections",
                            error.what()));
  }
}

}  // namespace vit::io
