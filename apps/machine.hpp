// What a measurement must say about where it was made.
#pragma once

#include <string>

namespace vit::apps {

/// "Intel(R) Xeon(R) Processor"
std::string cpu_name();

/// The most memory that this process has had, in MiB.
double peak_rss_mib();

/// "GCC 12.2.0, Release"
std::string build_name();

}  // namespace vit::apps
