// Downloads a model from the hub into the cache.
#pragma once

#include <filesystem>
#include <string>

#include "io/hub_id.hpp"
#include "io/hub_settings.hpp"
#include "io/pull_observer.hpp"

namespace vit::io {

struct PullRequest {
  HubId id;
  std::string weights = {};  ///< the weights file to take; empty: the one that a folder's would be taken from
};

/// The model's folder in the cache, with its config, recipe and weights as the hub has them now, and nothing
/// else of the repository. What is there already and has the right checksum stays; what was cut off is
/// continued. Every file appears complete, checked and at once; a branch or tag stands for the new commit
/// only when all of them are there. Several processes may do this at the same time.
///
/// Without connections (settings.offline) what the cache has, if it is complete.
///
/// Throws Error:
///   model_not_found    no such model, revision or file, or not for this token; no weights that Vitrine reads
///   model_unsupported  only weights of another format
///   download_failed    no connection, no good answer, a wrong checksum
///   output_unwritable  the cache cannot be written, or there is no space for it
///   config_invalid     a damaged index of shards
///   invalid_argument   the token
std::filesystem::path pull_model(const PullRequest& request, const HubSettings& settings,
                                 PullObserver& observer);

}  // namespace vit::io
