// How many compiled kernels oneDNN keeps that nobody uses.
#pragma once

namespace vit::apps {

/// oneDNN keeps the last 1,024 primitives with their code for whoever asks for the same again: pictures of
/// 200 sizes fill it with 100 MB. Here Sessions keep their own, and the cache only serves those that are
/// built beside each other. To be called before oneDNN is; does nothing where the user has chosen
/// (ONEDNN_PRIMITIVE_CACHE_CAPACITY). In the command, not in the library: the cache belongs to the process.
void limit_primitive_cache();

}  // namespace vit::apps
