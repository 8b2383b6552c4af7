#include "node/isolation/programs.hpp"

#include "tests/testing/eventually.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;

constexpr auto kLong = 60s;

Result<ProgramEnd> shell(const std::string& script, std::chrono::milliseconds limit = kLong) {
  return SystemPrograms().run({{"sh", "-c", script}, {}, {}}, limit);
}

TEST(ProgramsTest, TellsOutputAndExitCode) {
  const auto end = shell("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_EQ(end->output, "out\nerr\n");
}

TEST(ProgramsTest, GivesInputAndEnvironment) {
  const auto end = SystemPrograms().run(
      {{"sh", "-c", "cat; echo $GREETING; echo ${PATH:+inherited}"}, {"GREETING=hello"}, "input\n"},
      kLong);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output, "input\nhello\ninherited\n");
}

TEST(ProgramsTest, SaysWhenAProgramIsMissing) {
  const auto end = SystemPrograms().run({{"no-such-program-anywhere"}, {}, {}}, kLong);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Errc::kNotFound);
  EXPECT_NE(end.error().message.find("no-such-program-anywhere"), std::string::npos);
}

TEST(ProgramsTest, KillsWhatTakesTooLongWithItsChildren) {
  const auto end = shell("sleep 1000 & sleep 1000", 20ms);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Errc::kTimeout);
}

TEST(ProgramsTest, DoesNotWaitForWhatAProgramLeavesBehind) {
  // A daemon that keeps its output open.
  const auto end = shell("MARK=ours sleep 1000 & echo $!");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 0);
  SystemPrograms programs;
  const std::int64_t pid = std::stoll(end->output);
  EXPECT_FALSE(programs.kill(pid, "another-name", "MARK=ours"));
  EXPECT_FALSE(programs.kill(pid, "sleep", "MARK=our"));
  // The shell's child becomes that program at some moment.
  EXPECT_TRUE(testing::eventually([&] { return programs.kill(pid, "sleep", "MARK=ours"); }));
}

TEST(ProgramsTest, KillsNobodyByAnOldNumber) {
  SystemPrograms programs;
  EXPECT_FALSE(programs.kill(0, "", ""));
  EXPECT_FALSE(programs.kill(1, "", ""));
  EXPECT_FALSE(programs.kill(1LL << 40, "sleep", ""));
}

TEST(ProgramsTest, OutputIsCut) {
  const auto end = shell("head -c 1000000 /dev/zero");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output.size(), ProgramEnd::kMaxOutput);
}

TEST(ProgramsTest, SignalsShowInTheExitCode) { EXPECT_EQ(shell("kill -9 $$")->exit_code, 128 + 9); }

TEST(ProgramsTest, AProgramInheritsNeitherFilesNorBlockedSignals) {
  const int leak = ::open("/dev/null", O_RDONLY);  // no O_CLOEXEC
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  const auto end = shell("[ ! -e /proc/self/fd/" + std::to_string(leak) + " ] && kill -TERM $$");
  ::pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  ::close(leak);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 128 + SIGTERM);
}

TEST(ProgramsTest, DescribesAnEndInOneLine) {
  EXPECT_EQ(describe({{"nvidia-smi", "-L"}, {}, {}}, {9, "No devices\nat all\n"}),
            "nvidia-smi: exit code 9: \"No devices\"");
  EXPECT_EQ(describe({{"nvidia-smi"}, {}, {}}, {9, ""}), "nvidia-smi: exit code 9");
}

}  // namespace
}  // namespace tangram::node
