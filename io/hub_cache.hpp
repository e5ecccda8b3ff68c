// The cache of models that Python's huggingface_hub keeps, shared with it:
//   models--org--name/refs/main              the commit that a branch or tag stood for when it was fetched
//   models--org--name/snapshots/COMMIT/NAME  a link to …
//   models--org--name/blobs/ETAG             … the content, named after its checksum
//   .locks/models--org--name/ETAG.lock       held by the one that fetches it
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/hub_id.hpp"

namespace vit::io {

/// One repository of it, which need not exist. Names are not checked here: a commit passes is_commit(), a
/// revision is_revision(), an ETag is hexadecimal, and a file's name is a bare one.
class HubCache {
 public:
  HubCache(const std::filesystem::path& cache, const std::string& repository);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path blob(const std::string& etag) const { return folder_ / "blobs" / etag; }
  /// What was fetched so far of a blob.
  std::filesystem::path incomplete(const std::string& etag) const { return blob(etag + ".incomplete"); }
  std::filesystem::path lock(const std::string& etag) const { return locks_ / (etag + ".lock"); }
  std::filesystem::path snapshot(const std::string& commit) const { return folder_ / "snapshots" / commit; }
  std::filesystem::path reference(const std::string& revision) const { return folder_ / "refs" / revision; }

  /// All that have a snapshot, sorted.
  std::vector<std::string> commits() const;
  /// The commit with a snapshot here that a branch, a tag or a commit (also the beginning of one, if there is
  /// only one such) stands for. Nothing if there is none.
  std::optional<std::string> find_commit(const std::string& revision) const;

  /// Makes snapshots/COMMIT/NAME a link to a blob. Throws Error(output_unwritable).
  void link(const std::string& commit, const std::string& name, const std::string& etag) const;
  /// Notes what a branch or tag stands for; nothing to do for a whole commit. Throws
  /// Error(output_unwritable).
  void write_reference(const std::string& revision, const std::string& commit) const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path locks_;
};

/// Throws Error(output_unwritable) that names the path.
void create_folders(const std::filesystem::path& folder);

/// The folder of a model in the cache, with its weights complete; nothing is downloaded. Throws
/// Error(model_not_found) that says what was looked for and what to do.
std::filesystem::path find_in_cache(const HubId& id, const std::filesystem::path& cache);

}  // namespace vit::io
