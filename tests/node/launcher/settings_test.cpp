#include "node/launcher/settings.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::node::launcher {
namespace {

ParsedSettings parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tangram-launcher");
  return parse_settings(static_cast<int>(arguments.size()), arguments.data());
}

/// What it prints on standard error when it ends with 125.
std::string mistake(const std::vector<const char*>& arguments) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(parse(arguments).exit, 125);
  return ::testing::internal::GetCapturedStderr();
}

TEST(LauncherSettingsTest, Serves) {
  const auto parsed = parse({"serve"});
  ASSERT_FALSE(parsed.exit);
  EXPECT_EQ(parsed.settings.socket, "/run/tangram/launcher/launcher.sock");
  EXPECT_TRUE(parsed.settings.command.empty());
  EXPECT_EQ(parse({"serve", "--socket", "/x/s"}).settings.socket, "/x/s");
}

TEST(LauncherSettingsTest, TakesTheCommandAsItIs) {
  const auto parsed =
      parse({"run", "--socket=/x/s", "--", "a", "--socket", "", "--", "[1,2]", "-d", "serve"});
  ASSERT_FALSE(parsed.exit);
  EXPECT_EQ(parsed.settings.socket, "/x/s");
  EXPECT_EQ(parsed.settings.command,
            (std::vector<std::string>{"a", "--socket", "", "--", "[1,2]", "-d", "serve"}));
}

TEST(LauncherSettingsTest, MistakesEndIt) {
  EXPECT_NE(mistake({"run"}).find("-- COMMAND is required"), std::string::npos);
  EXPECT_NE(mistake({"run", "--"}).find("-- COMMAND is required"), std::string::npos);
  EXPECT_NE(mistake({"run", "ls"}).find("ls"), std::string::npos);
  EXPECT_NE(mistake({"serve", "--", "ls"}).find("takes no command"), std::string::npos);
  EXPECT_NE(mistake({}).find("subcommand"), std::string::npos);
  EXPECT_NE(mistake({"start"}).find("subcommand"), std::string::npos);
}

TEST(LauncherSettingsTest, ItsHelpTeaches) {
  const auto help_of = [](const std::vector<const char*>& arguments) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(parse(arguments).exit, 0);
    return ::testing::internal::GetCapturedStdout();
  };
  EXPECT_NE(help_of({"--help"}).find("--mps-launcher=\"tangram-launcher run --\""),
            std::string::npos);
  const std::string run = help_of({"run", "--help"});
  for (const char* words : {"125", "126", "127", "128", "--socket FILE", "is killed"}) {
    EXPECT_NE(run.find(words), std::string::npos) << words << "\n" << run;
  }
  EXPECT_NE(help_of({"serve", "--help"}).find("all MPS clients"), std::string::npos);
}

}  // namespace
}  // namespace tangram::node::launcher
