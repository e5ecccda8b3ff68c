#include "vit/cpu_quota.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/temp_folder.hpp"

namespace vit {
namespace {

namespace fs = std::filesystem;

/// A tree of control groups as the kernel shows it.
class Groups {
 public:
  void write(const std::string& name, const std::string& content) const {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content << '\n';
  }
  int quota(const std::string& memberships) const {
    write("memberships", memberships);
    return cpu_quota(folder_.path() / "memberships", folder_.path());
  }

 private:
  test::TempFolder folder_;
};

TEST(CpuQuota, IsNoneWhereNobodySetsOne) {
  Groups groups;
  EXPECT_EQ(groups.quota(""), 0);
  groups.write("a/cpu.max", "max 100000");
  EXPECT_EQ(groups.quota("0::/a"), 0);
  EXPECT_EQ(cpu_quota("/no such file", "/no such folder"), 0);
}

TEST(CpuQuota, IsTheRootsInAContainer) {
  Groups groups;
  groups.write("cpu.max", "150000 100000");
  EXPECT_EQ(groups.quota("0::/"), 2);  // a core and a half keep two threads busy most of the time
  EXPECT_EQ(groups.quota("0::/seen/from/outside"), 2);
}

TEST(CpuQuota, IsTheLeastOfAllGroupsAbove) {
  Groups groups;
  groups.write("system.slice/cpu.max", "300000 100000");
  groups.write("system.slice/x.service/cpu.max", "max 100000");
  EXPECT_EQ(groups.quota("0::/system.slice/x.service"), 3);
  groups.write("system.slice/x.service/cpu.max", "50000 100000");
  EXPECT_EQ(groups.quota("0::/system.slice/x.service"), 1);
  EXPECT_EQ(groups.quota("0::/system.slice"), 3);
}

TEST(CpuQuota, KnowsTheFirstVersionToo) {
  Groups groups;
  groups.write("cpu/docker/x/cpu.cfs_quota_us", "400000");
  groups.write("cpu/docker/x/cpu.cfs_period_us", "100000");
  groups.write("cpu/docker/cpu.cfs_quota_us", "-1");
  groups.write("cpu/docker/cpu.cfs_period_us", "100000");
  EXPECT_EQ(groups.quota("5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n0::/docker/x"), 4);
  EXPECT_EQ(groups.quota("4:cpuset:/docker/x"), 0);
}

TEST(CpuQuota, IgnoresWhatItDoesNotUnderstand) {
  Groups groups;
  groups.write("cpu.max", "much more");
  EXPECT_EQ(groups.quota("nonsense\n0::/"), 0);
}

}  // namespace
}  // namespace vit
