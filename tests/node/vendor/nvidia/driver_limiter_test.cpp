#include "node/vendor/nvidia/driver_limiter.hpp"

#include "base/json_members.hpp"
#include "node/hook/settings.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tangram::node::nvidia {
namespace {

model::GrantedCard card(const std::string& id, std::int64_t limit) {
  model::GrantedCard card;
  card.uuid = id;
  card.memory = Mebibytes(1);
  card.memory_limit = Mebibytes(limit);
  return card;
}

CdiEdits of_nvidia() {
  return {
      .cdi_version = "0.5.0",
      .lists = {
          {"mounts",
           {R"({"hostPath":"/run/nvidia/driver/usr/lib64/libnvidia-ml.so.615.1","containerPath":"/usr/lib64/libnvidia-ml.so.615.1"})"}},
          {"hooks", {R"({"hookName":"createContainer"})"}}}};
}

class DriverLimiterTest : public ::testing::Test {
 protected:
  testing::TempFolder folder_;
  DriverLimiter limiter_{{.hook = "/var/lib/tangram/hook/1",
                          .folder = folder_.path() + "/limits",
                          .limiter = {.find_nvml = [] { return "/none"; }, .cgroups = "/none"}}};
};

TEST_F(DriverLimiterTest, AddsAHookThatTheProgramUnderstands) {
  CdiEdits vendor = of_nvidia();
  const auto edits = limiter_.limit("a-1", {card("GPU-a", 16'255), card("GPU-b", 100)}, vendor);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_EQ(*edits, ContainerEdits{});
  ASSERT_EQ(vendor.lists.at("hooks").size(), 2U);

  std::string name;
  std::string path;
  std::vector<std::string> args;
  std::int64_t timeout = 0;
  json::Reader in(vendor.lists.at("hooks").back());
  json::read_members(in, "hookName", name, "path", path, "args", args, "timeout", timeout);
  ASSERT_TRUE(in.finish());
  EXPECT_EQ(name, "createRuntime");
  EXPECT_EQ(path, "/var/lib/tangram/hook/1/ld-linux-x86-64.so.2");
  EXPECT_EQ(timeout, 20);
  ASSERT_GE(args.size(), 4U);
  EXPECT_EQ(args[1], "--library-path");
  EXPECT_EQ(args[2], "/var/lib/tangram/hook/1");
  EXPECT_EQ(args[3], "/var/lib/tangram/hook/1/tangram-memory-hook");

  // The loader takes the program's path as the program's first argument.
  std::vector<const char*> argv;
  for (std::size_t i = 3; i < args.size(); ++i) argv.push_back(args[i].c_str());
  const auto parsed = hook::parse_settings(static_cast<int>(argv.size()), argv.data());
  ASSERT_FALSE(parsed.exit);
  EXPECT_EQ(parsed.settings.nvml, "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.615.1");
  const auto limits = hook::LimitsFolder(parsed.settings.limits).limits();
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_EQ(limits->nvidia, (std::vector<hook::MemoryLimit>{{"GPU-a", Mebibytes(16'255)},
                                                            {"GPU-b", Mebibytes(100)}}));
}

TEST_F(DriverLimiterTest, OtherUsersOfTheHostCannotReachTheFolders) {
  CdiEdits vendor = of_nvidia();
  ASSERT_TRUE(limiter_.limit("a-1", {card("GPU-a", 1)}, vendor));
  EXPECT_EQ(std::filesystem::status(folder_.path() + "/limits").permissions(),
            std::filesystem::perms::owner_all);
}

TEST_F(DriverLimiterTest, WithoutTheDriversNvmlThereIsNoHook) {
  CdiEdits vendor;
  EXPECT_EQ(limiter_.limit("a-1", {card("GPU-a", 1)}, vendor).error().code, Errc::kUnavailable);
  EXPECT_TRUE(vendor.lists.empty());
}

TEST_F(DriverLimiterTest, AFolderThatCannotBeWrittenPostponesTheStart) {
  std::ofstream(folder_.path() + "/limits") << "a file";
  CdiEdits vendor = of_nvidia();
  EXPECT_EQ(limiter_.limit("a-1", {card("GPU-a", 1)}, vendor).error().code, Errc::kUnavailable);
  EXPECT_EQ(vendor.lists.at("hooks").size(), 1U);
}

}  // namespace
}  // namespace tangram::node::nvidia
