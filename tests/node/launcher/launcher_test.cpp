// Commands of clients, and the program itself.

#include "base/file.hpp"
#include "node/launcher/command.hpp"
#include "tests/node/launcher/processes.hpp"
#include "tests/node/launcher/running_launcher.hpp"
#include "tests/testing/eventually.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tangram::node::launcher {
namespace {

using tangram::testing::eventually;
using tangram::testing::TempFolder;

class LauncherTest : public ::testing::Test {
 protected:
  RunningLauncher launcher_;
};

TEST_F(LauncherTest, GivesTheExitCode) {
  EXPECT_EQ(launcher_.send({"true"}).exit_code(), 0);
  EXPECT_EQ(launcher_.shell("exit 65").exit_code(), 65);
}

TEST_F(LauncherTest, GivesTheSignalThatKilledTheCommand) {
  EXPECT_EQ(launcher_.shell("kill -TERM $$").exit_code(), 128 + SIGTERM);
  EXPECT_EQ(launcher_.shell("kill -KILL $$").exit_code(), 128 + SIGKILL);
}

TEST_F(LauncherTest, TheCommandHasTheClientsFiles) {
  Sent sent = launcher_.shell("read line; echo \"got $line\"; echo error >&2");
  ASSERT_EQ(::write(sent.input.in.get(), "a b\n", 4), 4);
  EXPECT_EQ(sent.output.rest(), "got a b\nerror\n");
  EXPECT_EQ(sent.exit_code(), 0);
}

TEST_F(LauncherTest, TheCommandHasTheClientsEnvironmentOnly) {
  const Sent sent = launcher_.send({"/usr/bin/env"}, {"A=1", "EMPTY=", "B=x y", "C=1\n2"});
  EXPECT_EQ(sent.output.rest(), "A=1\nEMPTY=\nB=x y\nC=1\n2\n");
  EXPECT_EQ(sent.exit_code(), 0);
}

TEST_F(LauncherTest, TheCommandHasItsArguments) {
  const Sent sent = launcher_.send({"printf", "<%s>", "", "a b", "[1,2]", "--", "$x"});
  EXPECT_EQ(sent.output.rest(), "<><a b><[1,2]><--><$x>");
}

TEST_F(LauncherTest, LooksForTheProgramInTheGivenPath) {
  TempFolder folder;
  const std::string program = folder.path() + "/tangram-test-program";
  std::ofstream(program) << "#!/bin/sh\necho found\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Sent there =
      launcher_.send({"tangram-test-program"}, {"PATH=/none:" + folder.path(), "PATH=/bin"});
  EXPECT_EQ(there.output.rest(), "found\n") << "the first of two variables counts";
  EXPECT_EQ(there.exit_code(), 0);
  EXPECT_EQ(launcher_.send({"tangram-test-program"}).exit_code(), kNotFound);
}

TEST_F(LauncherTest, SaysThatTheProgramIsNotFound) {
  const Sent sent = launcher_.send({"nvidia-no-such-program", "-d"});
  EXPECT_EQ(sent.output.rest(),
            "tangram-launcher: nvidia-no-such-program: No such file or directory\n");
  EXPECT_EQ(sent.exit_code(), kNotFound);
  EXPECT_EQ(launcher_.send({""}).exit_code(), kNotFound);
}

TEST_F(LauncherTest, SaysThatTheProgramCannotBeExecuted) {
  TempFolder folder;
  std::ofstream(folder.path() + "/p") << "text";
  const Sent sent = launcher_.send({folder.path() + "/p"});
  EXPECT_EQ(sent.output.rest(), "tangram-launcher: " + folder.path() + "/p: Permission denied\n");
  EXPECT_EQ(sent.exit_code(), kNotExecutable);
}

TEST_F(LauncherTest, TheCommandHasNoFilesOfTheLauncherOrOfOthers) {
  const Sent other = launcher_.shell("echo; cat");
  EXPECT_EQ(other.output.line(), "");
  const Sent sent = launcher_.send({"ls", "/proc/self/fd"});
  EXPECT_EQ(sent.output.rest(), "0\n1\n2\n3\n") << "3 is the folder that ls reads";
  EXPECT_EQ(sent.exit_code(), 0);
}

TEST_F(LauncherTest, TheCommandStartsWithoutBlockedOrIgnoredSignals) {
  const Sent sent = launcher_.send({"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"});
  EXPECT_EQ(sent.output.rest(), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(LauncherTest, TheCommandOfAClientThatLeavesIsKilledWithItsGroup) {
  Sent sent = launcher_.shell("sleep 1000 & echo started; wait");
  EXPECT_EQ(sent.output.line(), "started");
  sent.socket.reset();
  EXPECT_EQ(sent.output.rest(), "") << "ends when both processes have ended";
  EXPECT_EQ(launcher_.send({"true"}).exit_code(), 0);
}

TEST_F(LauncherTest, ADaemonOutlivesItsClientAndIsReaped) {
  Sent sent = launcher_.send({"setsid", "--fork", "sh", "-c", "echo $$; read line; exit 3"});
  const std::string pid = sent.output.line();
  EXPECT_EQ(sent.exit_code(), 0);
  sent.socket.reset();
  EXPECT_EQ(launcher_.send({"true"}).exit_code(), 0);
  ASSERT_TRUE(is_there(pid));
  EXPECT_EQ(parent_of(pid), std::to_string(launcher_.pid()));
  sent.input.in.reset();
  EXPECT_TRUE(eventually([&] { return !is_there(pid); })) << "a zombie is still there";
}

TEST_F(LauncherTest, ADaemonOutlivesAClientThatWasKilledMeanwhile) {
  Sent sent = launcher_.shell("setsid --fork sh -c 'echo $$; read line'; exec sleep 1000");
  const std::string pid = sent.output.line();
  sent.socket.reset();
  EXPECT_EQ(launcher_.send({"true"}).exit_code(), 0);
  EXPECT_TRUE(eventually([&] { return parent_of(pid) == std::to_string(launcher_.pid()); }));
  sent.input.in.reset();
  EXPECT_TRUE(eventually([&] { return !is_there(pid); }));
}

TEST_F(LauncherTest, ManyCommandsRunAtATime) {
  constexpr int kClients = 32;
  std::vector<Sent> all;
  for (int i = 0; i < kClients; ++i) {
    all.push_back(launcher_.shell("echo started; read line; exit " + std::to_string(i)));
  }
  for (const Sent& one : all) EXPECT_EQ(one.output.line(), "started");
  for (Sent& one : all) one.input.in.reset();
  for (int i = 0; i < kClients; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].exit_code(), i);
}

TEST_F(LauncherTest, TakesTheSocketOfAnEarlierLauncher) {
  launcher_.process().kill();
  ASSERT_TRUE(std::filesystem::exists(launcher_.path()));
  EXPECT_FALSE(connect_to(launcher_.path()));
  launcher_.restart();
  EXPECT_EQ(launcher_.send({"true"}).exit_code(), 0);
}

TEST_F(LauncherTest, OnlyItsUserCanReachItsSocket) {
  struct stat folder {};
  struct stat socket {};
  ASSERT_EQ(::stat(launcher_.folder().c_str(), &folder), 0);
  ASSERT_EQ(::stat(launcher_.path().c_str(), &socket), 0);
  EXPECT_EQ(folder.st_mode & 0777U, 0700U);
  EXPECT_EQ(socket.st_mode & 0777U, 0600U);
}

TEST_F(LauncherTest, AtItsEndItKillsTheCommandsThatRun) {
  const Sent sent = launcher_.shell("echo started; exec sleep 1000");
  EXPECT_EQ(sent.output.line(), "started");
  launcher_.process().kill(SIGTERM);
  EXPECT_EQ(launcher_.process().wait(), 0);
  EXPECT_EQ(sent.output.rest(), "");
  EXPECT_EQ(sent.refusal().substr(0, 9), "no answer");
}

/// The program, as the agent starts it.
class LauncherProgramTest : public LauncherTest {
 protected:
  /// @returns the exit status of "run"
  [[nodiscard]] int run(const std::string& command, const std::string& before = "",
                        const std::string& socket = "") const {
    const std::string line = before + " " TANGRAM_LAUNCHER " run --socket " +
                             (socket.empty() ? launcher_.path() : socket) + " -- " + command +
                             " >" + said_.path() + "/text 2>&1";
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has one thread
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] std::string said() const { return read_file(said_.path() + "/text").value(); }

  TempFolder said_;
};

TEST_F(LauncherProgramTest, RunsACommand) {
  EXPECT_EQ(run("sh -c 'read line; echo \"$line $SHARE\"; exit 7'", "echo a | SHARE=0.5"), 7);
  EXPECT_EQ(said(), "a 0.5\n");
  EXPECT_EQ(run("nvidia-no-such-program"), 127);
  EXPECT_EQ(said(), "tangram-launcher: nvidia-no-such-program: No such file or directory\n");
}

TEST_F(LauncherProgramTest, RunsACommandWithClosedStandardFiles) {
  EXPECT_EQ(run("sh -c 'cat; exit 9' <&-"), 9) << said();
}

TEST_F(LauncherProgramTest, SaysWhatToDoWithoutALauncher) {
  EXPECT_EQ(run("true", "", "/tmp/none/s"), 125);
  EXPECT_EQ(said(),
            "tangram-launcher: is tangram-mps running on this node? its DaemonSet's pod cannot be "
            "reached at /tmp/none/s (No such file or directory)\n");
  launcher_.process().kill();
  EXPECT_EQ(run("true"), 125);
  EXPECT_NE(said().find("/s (Connection refused)"), std::string::npos) << said();
}

TEST_F(LauncherProgramTest, SaysThatTheLauncherHasEnded) {
  // The command's parent is the launcher.
  EXPECT_EQ(run("sh -c 'kill -KILL $PPID'"), 125);
  EXPECT_NE(said().find("the launcher has ended"), std::string::npos) << said();
}

TEST_F(LauncherProgramTest, ItsCommandIsKilledWithIt) {
  Pipe output;
  Forked client([&] {
    (void)::dup2(output.in.get(), STDOUT_FILENO);
    return ::execl(TANGRAM_LAUNCHER, "tangram-launcher", "run", "--socket",
                   launcher_.path().c_str(), "--", "sh", "-c", "echo started; exec sleep 1000",
                   static_cast<char*>(nullptr));
  });
  output.in.reset();
  EXPECT_EQ(output.line(), "started");
  client.kill();
  EXPECT_EQ(output.rest(), "") << "ends when both have ended";
}

TEST_F(LauncherProgramTest, SaysThatTheEnvironmentIsTooLarge) {
  EXPECT_EQ(run("true", "LARGE=$(head -c 131000 /dev/zero | tr '\\0' x)"), 125);
  EXPECT_NE(said().find("at most 131072 can be passed"), std::string::npos) << said();
}

TEST_F(LauncherProgramTest, ServesUntilItIsTerminated) {
  Pipe log;
  const std::string path = launcher_.folder() + "2/s";
  Forked serve([&] {
    (void)::dup2(log.in.get(), STDERR_FILENO);
    return ::execl(TANGRAM_LAUNCHER, "tangram-launcher", "serve", "--socket", path.c_str(),
                   static_cast<char*>(nullptr));
  });
  log.in.reset();
  EXPECT_NE(log.line().find("listening at " + path), std::string::npos);
  EXPECT_EQ(run("sh -c 'exit 5'", "", path), 5);
  serve.kill(SIGTERM);
  EXPECT_EQ(serve.wait(), 0);
}

}  // namespace
}  // namespace tangram::node::launcher
