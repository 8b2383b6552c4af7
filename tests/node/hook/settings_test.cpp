#include "node/hook/settings.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::node::hook {
namespace {

ParsedSettings parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tangram-memory-hook");
  return parse_settings(static_cast<int>(arguments.size()), arguments.data());
}

TEST(HookSettingsTest, TakesTheFolderAndThePlaces) {
  const auto parsed =
      parse({"--limits", "/run/tangram/limits/a", "--nvml", "/driver/libnvidia-ml.so.1",
             "--cgroup-root", "/host/cgroup", "--proc", "/host/proc"});
  ASSERT_FALSE(parsed.exit);
  EXPECT_EQ(parsed.settings.limits, "/run/tangram/limits/a");
  EXPECT_EQ(parsed.settings.nvml, "/driver/libnvidia-ml.so.1");
  EXPECT_EQ(parsed.settings.folders.cgroup, "/host/cgroup");
  EXPECT_EQ(parsed.settings.folders.proc, "/host/proc");
}

TEST(HookSettingsTest, NeedsTheFolder) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(parse({"--cgroup-root", "/x"}).exit, 2);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("--limits"), std::string::npos) << text;
}

TEST(HookSettingsTest, ItsHelpTeaches) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(parse({"--help"}).exit, 0);
  const std::string text = ::testing::internal::GetCapturedStdout();
  for (const char* words : {"--limits FOLDER", "createRuntime", "r615", "6.14", "timeout",
                            "/sys/fs/cgroup", "libnvidia-ml.so.1"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
}

}  // namespace
}  // namespace tangram::node::hook
