#include "node/hook/settings.hpp"

#include <gtest/gtest.h>

namespace tangram::node::hook {
namespace {

using namespace tangram::literals;

ParsedSettings parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tangram-memory-hook");
  return parse_settings(static_cast<int>(arguments.size()), arguments.data());
}

/// Of a command line that is a mistake: what is printed.
std::string refusal(const std::vector<const char*>& arguments) {
  ::testing::internal::CaptureStderr();
  const auto exit = parse(arguments).exit;
  std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(exit, 2) << text;
  return text;
}

TEST(HookSettingsTest, TakesALimitForEachCard) {
  const auto parsed =
      parse({"--limit", "GPU-a=16255MiB", "--limit=GPU-b=1MiB", "--dmem",
             "drm/0000:03:00.0/vram0=8000MiB", "--nvml", "/driver/libnvidia-ml.so.1",
             "--cgroup-root", "/host/cgroup", "--proc", "/host/proc"});
  ASSERT_FALSE(parsed.exit);
  EXPECT_EQ(parsed.settings.limits,
            (std::vector<MemoryLimit>{{.card = "GPU-a", .amount = 16'255_mib},
                                      {.card = "GPU-b", .amount = 1_mib}}));
  EXPECT_EQ(parsed.settings.dmem,
            (std::vector<MemoryLimit>{{.card = "drm/0000:03:00.0/vram0", .amount = 8'000_mib}}));
  EXPECT_EQ(parsed.settings.nvml, "/driver/libnvidia-ml.so.1");
  EXPECT_EQ(parsed.settings.folders.cgroup, "/host/cgroup");
  EXPECT_EQ(parsed.settings.folders.proc, "/host/proc");
}

TEST(HookSettingsTest, NeedsALimit) {
  EXPECT_NE(refusal({}).find("--limit"), std::string::npos);
  EXPECT_NE(refusal({"--cgroup-root", "/x"}).find("--limit"), std::string::npos);
}

TEST(HookSettingsTest, RefusesACardTwice) {
  const std::string text = refusal({"--limit", "GPU-a=1MiB", "--limit", "GPU-a=2MiB"});
  EXPECT_NE(text.find("GPU-a is limited twice"), std::string::npos) << text;
}

TEST(HookSettingsTest, RefusesWhatIsNoLimit) {
  for (const char* text :
       {"GPU-a", "GPU-a=", "=5MiB", "GPU-a=5", "GPU-a=5Mi", "GPU-a=5GiB", "GPU-a=MiB", "GPU-a=0MiB",
        "GPU-a=-5MiB", "GPU-a=1.5MiB", "GPU-a= 5MiB", "GPU-a=5 MiB", "GPU-a=+5MiB",
        "GPU-a=8796093022208MiB", "GPU-a=99999999999999999999MiB"}) {
    EXPECT_NE(refusal({"--limit", text}).find("is no limit"), std::string::npos) << text;
    EXPECT_NE(refusal({"--dmem", text}).find("is no limit"), std::string::npos) << text;
  }
  EXPECT_EQ(parse_limit("GPU-a=8796093022207MiB")->amount.count(), 8'796'093'022'207);
}

TEST(HookSettingsTest, ItsHelpTeaches) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(parse({"--help"}).exit, 0);
  const std::string text = ::testing::internal::GetCapturedStdout();
  for (const char* words : {"--limit UUID=NUMBERMiB", "--dmem REGION=NUMBERMiB", "createRuntime",
                            "r615", "6.14", "timeout", "/sys/fs/cgroup", "libnvidia-ml.so.1"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
}

}  // namespace
}  // namespace tangram::node::hook
