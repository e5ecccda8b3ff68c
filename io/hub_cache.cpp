#include "io/hub_cache.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "io/weight_files.hpp"
#include "vit/error.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShortestCommit = 5;  // of one that is cut short

/// "org/name" as one folder: models--org--name.
std::string folder_name(std::string_view repository) {
  std::string name = "models";
  for (std::size_t slash = 0; slash != std::string_view::npos;) {
    slash = repository.find('/');
    name += fmt::format("--{}", repository.substr(0, slash));
    if (slash != std::string_view::npos) repository.remove_prefix(slash + 1);
  }
  return name;
}

[[noreturn]] void fail_writing(const fs::path& path, std::string_view why) {
  throw Error(ErrorCode::output_unwritable, fmt::format("{}: cannot be written: {}", path.string(), why));
}

/// The commit that a reference names; nothing where there is none that can be read.
std::optional<std::string> read_reference(const fs::path& path) {
  constexpr std::size_t kMaxBytes = 1024;
  try {
    const std::vector<std::byte> bytes =
        read_file(path, kMaxBytes, FileErrors::all(ErrorCode::model_not_found));
    std::string_view text = as_text(bytes);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
      text.remove_suffix(1);
    return is_commit(text) ? std::optional<std::string>(text) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// What a snapshot lacks of its weights, in words; empty: nothing.
std::string find_missing(const fs::path& snapshot, const std::string& name) {
  const std::vector<std::string> names = names_in(snapshot);
  std::string weights;
  try {
    weights = weights_among(name, names).front();
    if (!is_there(snapshot / weights)) return weights;
    if (!is_index(weights)) return "";
    for (const std::string& shard : shards_of(snapshot / weights)) {
      if (!is_there(snapshot / shard)) return shard;
    }
  } catch (const Error& error) {
    return weights.empty() ? fmt::format("the weights (there is {})", list_of(names)) : error.what();
  }
  return "";
}

[[noreturn]] void fail_without_snapshot(const HubId& id, const HubCache& cache) {
  std::string found;
  if (const std::vector<std::string> commits = cache.commits(); !commits.empty())
    found = fmt::format("; of this model it has {}", fmt::join(commits, ", "));
  throw Error(ErrorCode::model_not_found,
              fmt::format("{}: the cache of models from the hub does not have it ({}{}); 'vitrine pull {}' "
                          "downloads it",
                          id.text(), cache.folder().string(), found, id.text()));
}

}  // namespace

HubCache::HubCache(const fs::path& cache, const std::string& repository)
    : folder_(cache / folder_name(repository)), locks_(cache / ".locks" / folder_name(repository)) {}

std::vector<std::string> HubCache::commits() const {
  std::vector<std::string> commits = names_in(folder_ / "snapshots");
  std::erase_if(commits, [](const std::string& name) { return !is_commit(name); });
  return commits;
}

std::optional<std::string> HubCache::find_commit(const std::string& revision) const {
  if (const auto commit = read_reference(reference(revision)); commit && is_there(snapshot(*commit)))
    return commit;
  if (revision.size() < kShortestCommit) return std::nullopt;
  std::vector<std::string> matches = commits();
  std::erase_if(matches, [&](const std::string& commit) { return !commit.starts_with(revision); });
  return matches.size() == 1 ? std::optional(matches.front()) : std::nullopt;
}

void HubCache::link(const std::string& commit, const std::string& name, const std::string& etag) const {
  const fs::path link = snapshot(commit) / name;
  create_folders(link.parent_path());
  const fs::path target = fs::path("..") / ".." / "blobs" / etag;
  std::error_code error;
  if (fs::is_symlink(link, error) && fs::read_symlink(link, error) == target) return;
  // Renamed over whatever is there: another process sees the old link or the new one.
  const fs::path temporary = link.string() + fmt::format(".{}.tmp", ::getpid());
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, link, error);
  if (error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    fail_writing(link, error.message());
  }
}

void HubCache::write_reference(const std::string& revision, const std::string& commit) const {
  if (revision == commit || read_reference(reference(revision)) == commit) return;
  create_folders(reference(revision).parent_path());
  write_file_atomically(reference(revision), commit);
}

void create_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_writing(folder, error.message());
}

fs::path find_in_cache(const HubId& id, const fs::path& cache) {
  const HubCache repository(cache, id.repository);
  const auto commit = repository.find_commit(id.revision);
  if (!commit) fail_without_snapshot(id, repository);
  const fs::path snapshot = repository.snapshot(*commit);
  const std::string missing = find_missing(snapshot, id.text());
  if (missing.empty()) return snapshot;
  throw Error(ErrorCode::model_not_found,
              fmt::format("{}: in the cache it is not complete, {} lacks {}; 'vitrine pull {}' downloads it",
                          id.text(), snapshot.string(), missing, id.text()));
}

}  // namespace vit::io
