// How much processor time the system grants, apart from which cores. Internal to vit/.
#pragma once

#include <filesystem>

namespace vit {

/// Whole cores, rounded up, that the control groups of this process grant (v2 or v1): the least of its own
/// group and of all above it. 0 where none sets a limit. `memberships` is what the kernel says of the process
/// (/proc/self/cgroup), `mount` the folder where the groups are (/sys/fs/cgroup); a container sees its own
/// group as the root of it.
int cpu_quota(const std::filesystem::path& memberships = "/proc/self/cgroup",
              const std::filesystem::path& mount = "/sys/fs/cgroup");

}  // namespace vit
