#include "node/vendor/nvidia/mps_enforcer.hpp"

#include "tests/node/vendor/nvidia/mps_fixture.hpp"
#include "tests/testing/eventually.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tangram::node::nvidia {
namespace {

using namespace std::chrono_literals;
using namespace tangram::literals;

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

TEST_F(MpsEnforcerTest, StartsADaemonOfTheCardsOwn) {
  EXPECT_FALSE(enforced("GPU-a"));
  const auto prepared = enforcer_->prepare("GPU-a", sharers({"slot-1.a"}));
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_TRUE(enforced("GPU-a"));
  EXPECT_EQ(programs_.daemons(), (std::set<std::string>{pipe("GPU-a")}));
  EXPECT_EQ(source_.exclusive(), (std::map<std::string, bool>{{"GPU-a", true}}));
  ASSERT_EQ(programs_.starts().size(), 1U);
  const Command start = programs_.starts()[0];
  const std::string shm = root("GPU-a") + "/shm";
  ASSERT_EQ(start.arguments.size(), 9U);
  EXPECT_EQ(start.arguments[0], "unshare");
  EXPECT_EQ(std::vector<std::string>(start.arguments.begin() + 5, start.arguments.end()),
            (std::vector<std::string>{shm, "nvidia-cuda-mps-control", "-d", "-multiuser-server"}));
  EXPECT_TRUE(has(start.env, "CUDA_VISIBLE_DEVICES=GPU-a"));
  EXPECT_TRUE(has(start.env, "CUDA_MPS_LOG_DIRECTORY=" + root("GPU-a") + "/daemon/1/log"));
  EXPECT_TRUE(std::filesystem::is_directory(pipe("GPU-a")));
  EXPECT_LT(programs_.longest(), 10s);
}

TEST_F(MpsEnforcerTest, PreparingAgainCostsNothing) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  const std::size_t before = programs_.commands().size();
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  EXPECT_EQ(programs_.commands().size(), before);
}

TEST_F(MpsEnforcerTest, StartsItElsewhereIfSoTold) {
  settings_.launcher = {"nsenter", "--target", "1"};
  settings_.multiuser = false;
  settings_.own_shm = false;
  renew();
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  EXPECT_EQ(
      programs_.starts().at(0).arguments,
      (std::vector<std::string>{"nsenter", "--target", "1", "nvidia-cuda-mps-control", "-d"}));
}

TEST_F(MpsEnforcerTest, TellsAContainerItsLimits) {
  const auto edits = enforcer_->edits("slot-1.a", {granted(8192, 250)});
  ASSERT_TRUE(edits);
  EXPECT_EQ(edits->env, (std::vector<std::string>{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=8192M",
                                                  "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25",
                                                  "CUDA_MPS_PIPE_DIRECTORY=/run/tangram/mps"}));
  EXPECT_EQ(edits->mounts,
            (std::vector<BindMount>{
                {root("GPU-a") + "/clients/slot-1.a", "/run/tangram/mps", Access::kReadOnly},
                {root("GPU-a") + "/shm", "/dev/shm", Access::kReadWrite}}));
}

struct PercentCase {
  std::int64_t milli;
  const char* percent;
};

class MpsPercentTest : public MpsEnforcerTest, public ::testing::WithParamInterface<PercentCase> {};

TEST_P(MpsPercentTest, IsNeverAboveTheShareUnlessBelowOne) {
  const auto edits = enforcer_->edits("slot-1.a", {granted(100, GetParam().milli)});
  ASSERT_TRUE(edits);
  EXPECT_EQ(edits->env[1], std::string("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=") + GetParam().percent);
}

INSTANTIATE_TEST_SUITE_P(Shares, MpsPercentTest,
                         ::testing::Values(PercentCase{1000, "100"}, PercentCase{999, "99"},
                                           PercentCase{15, "1"}, PercentCase{10, "1"},
                                           PercentCase{1, "1"}));

TEST_F(MpsEnforcerTest, RefusesSharesOfSeveralCards) {
  model::GrantedCard other = granted(100, 100);
  other.uuid = "GPU-b";
  const auto accepted = enforcer_->accept({granted(100, 100), other});
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().code, Errc::kInvalidArgument);
  EXPECT_NE(accepted.error().message.find("gpu-isolation: time-slice"), std::string::npos);
}

TEST_F(MpsEnforcerTest, RefusesWhatMpsCannotServe) {
  for (const char* card : {"MIG-a", "", "..", "a/b"}) {
    const auto prepared = enforcer_->prepare(card, sharers({"slot-1.a"}));
    ASSERT_FALSE(prepared) << card;
    EXPECT_EQ(prepared.error().code, Errc::kInvalidArgument);
  }
  source_.refuse_modes(fail(Errc::kInvalidArgument, "not supported"));
  EXPECT_EQ(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})).error().code,
            Errc::kInvalidArgument);
  EXPECT_TRUE(programs_.commands().empty());
}

TEST_F(MpsEnforcerTest, KeepsADaemonOfAnEarlierAgent) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  renew();
  enforcer_->keep({{"GPU-a", sharers({"slot-1.a"})}});
  EXPECT_FALSE(enforced("GPU-a"));
  enforcer_->maintain();
  EXPECT_TRUE(enforced("GPU-a"));
  EXPECT_EQ(programs_.starts().size(), 1U);
}

TEST_F(MpsEnforcerTest, EndsWhatAnEarlierAgentLeftForNobody) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  renew();
  enforcer_->keep({{"GPU-b", sharers({"slot-1.a"})}});
  EXPECT_TRUE(programs_.daemons().empty());
  EXPECT_EQ(source_.exclusive().at("GPU-a"), false);
  EXPECT_FALSE(std::filesystem::exists(root("GPU-a")));
}

TEST_F(MpsEnforcerTest, EndsADaemonThatNobodyUses) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  enforcer_->keep({});
  EXPECT_TRUE(enforced("GPU-a"));  // a container may be about to start
  clock_.advance(60s);
  enforcer_->keep({{"GPU-a", sharers({"slot-1.a"})}});
  EXPECT_TRUE(enforced("GPU-a"));
  enforcer_->keep({});
  EXPECT_FALSE(enforced("GPU-a"));
  EXPECT_TRUE(programs_.daemons().empty());
  EXPECT_EQ(source_.exclusive(), (std::map<std::string, bool>{{"GPU-a", false}}));
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  EXPECT_TRUE(enforced("GPU-a"));
}

TEST_F(MpsEnforcerTest, AReleasedCardIsGivenBackAtOnce) {
  ASSERT_TRUE(enforcer_->release("GPU-a")) << "nothing was set up";
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  source_.refuse_modes(fail(Errc::kUnavailable, "no driver"));
  EXPECT_EQ(enforcer_->release("GPU-a").error().code, Errc::kUnavailable);
  source_.refuse_modes({});
  ASSERT_TRUE(enforcer_->release("GPU-a"));
  EXPECT_TRUE(programs_.daemons().empty());
  EXPECT_EQ(source_.exclusive().at("GPU-a"), false);
}

TEST_F(MpsEnforcerTest, TriesAgainToGiveACardBack) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  clock_.advance(60s);
  source_.refuse_modes(fail(Errc::kUnavailable, "no driver"));
  enforcer_->keep({});
  EXPECT_EQ(source_.exclusive().at("GPU-a"), true);
  source_.refuse_modes({});
  enforcer_->keep({});
  EXPECT_EQ(source_.exclusive().at("GPU-a"), false);
}

TEST_F(MpsEnforcerTest, StartsADeadDaemonAgain) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  programs_.crash(pipe("GPU-a"));
  enforcer_->maintain();
  EXPECT_TRUE(enforced("GPU-a"));  // one missed answer is none
  enforcer_->maintain();
  EXPECT_TRUE(enforced("GPU-a"));
  EXPECT_EQ(programs_.starts().size(), 2U);
}

TEST_F(MpsEnforcerTest, KillsADaemonThatHangs) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  std::ofstream(pipe("GPU-a") + "/nvidia-cuda-mps-control.pid") << "4711\n";
  programs_.hang(pipe("GPU-a"));
  for (int look = 0; look < 11; ++look) enforcer_->maintain();
  EXPECT_TRUE(programs_.killed().empty()) << "a slow machine is no reason to end all clients' work";
  enforcer_->maintain();
  EXPECT_EQ(programs_.killed(), (std::vector<std::string>{"nvidia-cuda-mps-control 4711"}));
  EXPECT_TRUE(enforced("GPU-a"));
}

/// As while the driver's files are replaced: a daemon that runs has all that it needs.
TEST_F(MpsEnforcerTest, ADaemonThatCannotBeAskedIsLeftAlone) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  std::ofstream(pipe("GPU-a") + "/nvidia-cuda-mps-control.pid") << "4711\n";
  programs_.break_with(fail(Errc::kNotFound, "nvidia-cuda-mps-control cannot be started"));
  for (int look = 0; look < 20; ++look) enforcer_->maintain();
  renew();  // an agent that starts meanwhile
  for (int look = 0; look < 20; ++look) {
    enforcer_->keep({{"GPU-a", sharers({"slot-1.a"})}});
    enforcer_->maintain();
    clock_.advance(8s);
  }
  EXPECT_FALSE(enforcer_->prepare("GPU-a", sharers({"slot-1.a", "slot-2.b"})));
  EXPECT_TRUE(programs_.killed().empty());
  programs_.break_with(std::nullopt);
  clock_.advance(64s);
  EXPECT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a", "slot-2.b"})));
  EXPECT_EQ(programs_.starts().size(), 1U) << "it is the same daemon";
}

TEST_F(MpsEnforcerTest, AClientGetsOnlyItsOwnReadOnlyFolder) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a", "slot-2.b"})));
  for (const char* allocation : {"slot-1.a", "slot-2.b"}) {
    const auto edits = enforcer_->edits(allocation, {granted(8192, 250)});
    ASSERT_TRUE(edits);
    const BindMount mount = edits->mounts.at(0);
    EXPECT_EQ(mount.host_path, root("GPU-a") + "/clients/" + allocation);
    EXPECT_EQ(mount.access, Access::kReadOnly);
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(mount.host_path)) {
      names.insert(entry.path().filename());
    }
    EXPECT_EQ(names, (std::set<std::string>{"control", "log"}));
  }
}

TEST_F(MpsEnforcerTest, EveryStartHasAFreshFolder) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  const std::string first = pipe("GPU-a");
  programs_.crash(first);
  for (int look = 0; look < 2; ++look) enforcer_->maintain();
  EXPECT_NE(pipe("GPU-a"), first);
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_EQ(programs_.daemons(), (std::set<std::string>{pipe("GPU-a")}));
}

TEST_F(MpsEnforcerTest, ADaemonOfTheFormerFoldersIsEnded) {
  std::filesystem::create_directories(root("GPU-a") + "/pipe");
  std::ofstream(root("GPU-a") + "/pipe/nvidia-cuda-mps-control.pid") << "4711\n";
  enforcer_->keep({{"GPU-a", sharers({"slot-1.a"})}});
  enforcer_->maintain();
  EXPECT_EQ(programs_.killed(), (std::vector<std::string>{"nvidia-cuda-mps-control 4711"}));
  EXPECT_TRUE(enforced("GPU-a"));
  EXPECT_FALSE(std::filesystem::exists(root("GPU-a") + "/pipe"));
}

TEST_F(MpsEnforcerTest, ADaemonOfTheFormerFoldersEndsWithItsLastPod) {
  std::filesystem::create_directories(root("GPU-a") + "/pipe");
  std::ofstream(root("GPU-a") + "/pipe/nvidia-cuda-mps-control.pid") << "4711\n";
  enforcer_->keep({});
  EXPECT_EQ(programs_.killed(), (std::vector<std::string>{"nvidia-cuda-mps-control 4711"}));
  EXPECT_FALSE(std::filesystem::exists(root("GPU-a")));
}

TEST_F(MpsEnforcerTest, ALinkThatClientsLeftInTheFormerFoldersIsNotFollowed) {
  const std::string pid_file = root("GPU-a") + "/pipe/nvidia-cuda-mps-control.pid";
  std::filesystem::create_directories(root("GPU-a") + "/pipe");
  std::ofstream(root("GPU-a") + "/elsewhere") << "4711\n";
  std::filesystem::create_symlink(root("GPU-a") + "/elsewhere", pid_file);
  enforcer_->keep({});
  EXPECT_TRUE(programs_.killed().empty());
  EXPECT_FALSE(std::filesystem::exists(root("GPU-a")));
}

TEST_F(MpsEnforcerTest, AFifoThatClientsLeftInTheFormerFoldersIsNotWaitedFor) {
  const std::string pid_file = root("GPU-a") + "/pipe/nvidia-cuda-mps-control.pid";
  std::filesystem::create_directories(root("GPU-a") + "/pipe");
  ASSERT_EQ(::mkfifo(pid_file.c_str(), S_IRUSR | S_IWUSR), 0);
  std::atomic<bool> done = false;
  std::jthread ending([&] {
    enforcer_->keep({});
    done = true;
  });
  EXPECT_TRUE(testing::eventually([&] { return done.load(); }));
  // A writer releases one that waits, so that the test ends.
  if (!done) ::close(::open(pid_file.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  ending.join();
  EXPECT_FALSE(std::filesystem::exists(root("GPU-a")));
}

TEST_F(MpsEnforcerTest, ALargeLogIsEmptied) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  const std::string logs = root("GPU-a") + "/daemon/1/log/";
  std::ofstream(logs + "control.log") << std::string(17 << 20, 'x');
  std::ofstream(logs + "server.log") << "kept";
  enforcer_->maintain();
  EXPECT_EQ(std::filesystem::file_size(logs + "control.log"), 0U);
  EXPECT_EQ(std::filesystem::file_size(logs + "server.log"), 4U);
}

TEST_F(MpsEnforcerTest, RunningClientsReachTheNextDaemon) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  const std::string client = client_file("slot-1.a", "control");
  EXPECT_TRUE(std::filesystem::equivalent(client, pipe("GPU-a") + "/control"));
  programs_.crash(pipe("GPU-a"));
  for (int look = 0; look < 2; ++look) enforcer_->maintain();
  EXPECT_EQ(programs_.starts().size(), 2U);
  EXPECT_TRUE(std::filesystem::equivalent(client, pipe("GPU-a") + "/control"));
}

TEST_F(MpsEnforcerTest, AClientsFolderEndsWithItsContainer) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a", "slot-2.b"})));
  enforcer_->keep({{"GPU-a", sharers({"slot-2.b"})}});
  EXPECT_TRUE(std::filesystem::exists(client_file("slot-1.a", "control"))) << "it may start now";
  clock_.advance(60s);
  enforcer_->keep({{"GPU-a", sharers({"slot-2.b"})}});
  EXPECT_FALSE(std::filesystem::exists(root("GPU-a") + "/clients/slot-1.a"));
  EXPECT_TRUE(std::filesystem::exists(client_file("slot-2.b", "control")));
}

TEST_F(MpsEnforcerTest, TheShmIsABoundedTmpfsThatEndsWithTheDaemon) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  const std::string shm = root("GPU-a") + "/shm";
  const std::vector<std::string> mount{
      "mount",       "-t", "tmpfs", "-o", "mode=1777,size=256m,nr_inodes=4096,nosuid,nodev,noexec",
      "tangram-mps", shm};
  const auto commands = programs_.commands();
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const Command& one) { return one.arguments == mount; });
  ASSERT_NE(found, commands.end());
  EXPECT_EQ(programs_.mounts(), (std::set<std::string>{shm}));
  clock_.advance(60s);
  enforcer_->keep({});
  EXPECT_TRUE(programs_.mounts().empty());
}

TEST_F(MpsEnforcerTest, EachCardHasAnShmOfItsOwn) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  ASSERT_TRUE(enforcer_->prepare("GPU-b", sharers({"slot-1.a"})));
  EXPECT_EQ(programs_.mounts(),
            (std::set<std::string>{root("GPU-a") + "/shm", root("GPU-b") + "/shm"}));
}

TEST_F(MpsEnforcerTest, ALaterAgentUnmountsWhatWasLeftForNobody) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  renew();
  enforcer_->keep({});
  EXPECT_TRUE(programs_.mounts().empty());
}

TEST_F(MpsEnforcerTest, ANewDaemonHasTheSameShm) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  programs_.crash(pipe("GPU-a"));
  programs_.refuse_mounts(true);
  for (int look = 0; look < 2; ++look) enforcer_->maintain();
  EXPECT_TRUE(enforced("GPU-a")) << "it is mounted already";
}

TEST_F(MpsEnforcerTest, MountsNothingUnlessItKnowsThatNothingIsMounted) {
  const std::vector<Result<ProgramEnd>> answers{
      fail(Errc::kTimeout, "did not end in time"), ProgramEnd{1, "mountpoint: permission denied"},
      ProgramEnd{66, "grep: /proc/self/mountinfo: permission denied"}, ProgramEnd{0, ""}};
  for (const auto& answer : answers) {
    programs_.answer_of_mounts(answer);
    const auto prepared = enforcer_->prepare("GPU-a", sharers({"slot-1.a"}));
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().code, Errc::kUnavailable);
    EXPECT_NE(prepared.error().message.find("not known whether"), std::string::npos);
    EXPECT_TRUE(programs_.mounts().empty());
    clock_.advance(64s);
  }
  programs_.answer_of_mounts({});
  EXPECT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
}

TEST(MpsShmTest, KnowsAMountPointOfThisMachine) {
  SystemPrograms programs;
  const ShmBound bound = shm_bound(1);
  EXPECT_TRUE(MpsShm(programs, {}, "/proc").mount(bound)) << "it is mounted";
  std::string folder = ::testing::TempDir() + "shm_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  EXPECT_TRUE(MpsShm(programs, {}, folder).unmount()) << "nothing is mounted";
  EXPECT_FALSE(MpsShm(programs, {"false"}, folder).unmount()) << "the launcher fails";
  std::filesystem::remove_all(folder);
}

TEST_F(MpsEnforcerTest, WithoutItsShmThereIsNoDaemon) {
  programs_.refuse_mounts(true);
  EXPECT_EQ(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})).error().code, Errc::kUnavailable);
  EXPECT_TRUE(programs_.starts().empty());
}

TEST_F(MpsEnforcerTest, InAPodItNeedsALauncherToMountOnTheHost) {
  settings_.in_pod = true;
  renew();
  const auto prepared = enforcer_->prepare("GPU-a", sharers({"slot-1.a"}));
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Errc::kInvalidArgument);
  settings_.launcher = {"nsenter", "--target", "1", "--mount", "--"};
  renew();
  EXPECT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
}

TEST_F(MpsEnforcerTest, TheServerHoldsClientsToTheLargestShare) {
  CardSharers two = sharers({"slot-1.a"});
  two.add("slot-2.b", granted(4096, 400));
  ASSERT_TRUE(enforcer_->prepare("GPU-a", two));
  EXPECT_EQ(
      programs_.limits(pipe("GPU-a")),
      "set_default_device_pinned_mem_limit 0 8192M\nset_default_active_thread_percentage 40\n");
}

TEST_F(MpsEnforcerTest, LimitsComputeAloneIfSoTold) {
  settings_.memory_limits = false;
  renew();
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  EXPECT_EQ(programs_.limits(pipe("GPU-a")), "set_default_active_thread_percentage 25\n");
  EXPECT_EQ(enforcer_->edits("slot-1.a", {granted(8192, 250)})->env,
            (std::vector<std::string>{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25",
                                      "CUDA_MPS_PIPE_DIRECTORY=/run/tangram/mps"}));
  const Enforcement now = enforcer_->enforcement(granted(8192, 250));
  EXPECT_EQ(now.memory, Holder::kNobody);
  EXPECT_EQ(now.compute, Holder::kServer);
  EXPECT_EQ(now.note, "the agent runs with --memory-limits=none");
}

TEST_F(MpsEnforcerTest, ALargerShareRaisesItBeforeItsContainerStarts) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  CardSharers more = sharers({"slot-1.a"});
  more.add("slot-2.b", granted(16'384, 250));
  ASSERT_TRUE(enforcer_->prepare("GPU-a", more));
  EXPECT_EQ(programs_.limits(pipe("GPU-a")),
            "set_device_pinned_mem_limit 4712 0 16384M\nset_active_thread_percentage 4712 25\n");
}

TEST_F(MpsEnforcerTest, ItIsLoweredWhenTheLargestEnds) {
  CardSharers two = sharers({"slot-1.a"});
  two.add("slot-2.b", granted(16'384, 500));
  ASSERT_TRUE(enforcer_->prepare("GPU-a", two));
  clock_.advance(60s);
  enforcer_->keep({{"GPU-a", sharers({"slot-1.a"})}});
  EXPECT_EQ(programs_.limits(pipe("GPU-a")),
            "set_device_pinned_mem_limit 4712 0 8192M\nset_active_thread_percentage 4712 25\n");
}

TEST_F(MpsEnforcerTest, NewContainersDoNotPutOffThatTheLimitsAreLowered) {
  CardSharers sharing = sharers({"slot-1.a"});
  CardSharers with_large = sharing;
  with_large.add("slot-2.b", granted(16'384, 500));
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with_large));
  enforcer_->keep({{"GPU-a", with_large}});
  for (int another = 3; another < 6; ++another) {
    clock_.advance(30s);
    sharing.add("slot-" + std::to_string(another), granted(4096, 100));
    ASSERT_TRUE(enforcer_->prepare("GPU-a", sharing));
    enforcer_->keep({{"GPU-a", sharing}});
  }
  EXPECT_EQ(programs_.limits(pipe("GPU-a")),
            "set_device_pinned_mem_limit 4712 0 8192M\nset_active_thread_percentage 4712 25\n");
}

TEST_F(MpsEnforcerTest, AContainerWithoutAClaimYetKeepsItsLimits) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  enforcer_->keep({{"GPU-a", sharers({"slot-1.a"})}});
  CardSharers with_large = sharers({"slot-1.a"});
  with_large.add("slot-2.b", granted(16'384, 500));
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with_large));
  const std::string raised = programs_.limits(pipe("GPU-a"));
  enforcer_->keep({{"GPU-a", sharers({"slot-1.a"})}});
  EXPECT_EQ(programs_.limits(pipe("GPU-a")), raised);
  EXPECT_TRUE(std::filesystem::exists(client_file("slot-2.b", "control")));
  clock_.advance(60s);
  enforcer_->keep({{"GPU-a", sharers({"slot-1.a"})}});
  EXPECT_NE(programs_.limits(pipe("GPU-a")), raised);
}

TEST_F(MpsEnforcerTest, ANewDaemonHasTheLimitsOfTheOldOne) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  programs_.crash(pipe("GPU-a"));
  for (int look = 0; look < 2; ++look) enforcer_->maintain();
  EXPECT_EQ(programs_.starts().size(), 2U);
  EXPECT_NE(programs_.limits(pipe("GPU-a")), "");
}

TEST_F(MpsEnforcerTest, WithoutLimitsNoClientReachesTheDaemon) {
  programs_.refuse_limits(true);
  const auto prepared = enforcer_->prepare("GPU-a", sharers({"slot-1.a"}));
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Errc::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(root("GPU-a") + "/current"));
  EXPECT_FALSE(enforced("GPU-a"));
}

TEST_F(MpsEnforcerTest, SaysWhichSharesTheServerHolds) {
  CardSharers two = sharers({"slot-1.a"});
  two.add("slot-2.b", granted(16'384, 250));
  ASSERT_TRUE(enforcer_->prepare("GPU-a", two));
  const Enforcement smaller = enforcer_->enforcement(granted(8192, 250));
  EXPECT_EQ(smaller.memory, Holder::kClient) << "a variable of the client lifts the server's limit";
  EXPECT_EQ(smaller.compute, Holder::kServer);
  EXPECT_EQ(smaller.note, "a program that changes its MPS variables has no memory limit");
}

TEST(MpsServersTest, OnlyWholeLinesOfDigitsAreProcesses) {
  EXPECT_EQ(parse_server_pids("4711\n-1\n12 13\nno server\n\n99999999999999999999\n5"),
            (std::vector<std::int64_t>{4711, 5}));
}

TEST_F(MpsEnforcerTest, RefusesARunFolderWhosePathsAreTooLong) {
  settings_.run_dir += "/" + std::string(80, 'x');
  renew();
  const auto prepared = enforcer_->prepare("GPU-a", sharers({"slot-1.a"}));
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Errc::kInvalidArgument);
  EXPECT_NE(prepared.error().message.find("--run-dir"), std::string::npos);
}

TEST_F(MpsEnforcerTest, KnowsAtOnceWhatAnEarlierAgentLeft) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  renew();
  ASSERT_TRUE(enforcer_->release("GPU-a"));
  EXPECT_TRUE(programs_.daemons().empty());
  EXPECT_EQ(source_.exclusive().at("GPU-a"), false);
}

TEST_F(MpsEnforcerTest, StartsWithGrowingPauses) {
  programs_.refuse_starts(true);
  const auto first = enforcer_->prepare("GPU-a", sharers({"slot-1.a"}));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Errc::kUnavailable);
  EXPECT_NE(first.error().message.find("\"no device\""), std::string::npos);
  EXPECT_FALSE(enforced("GPU-a"));
  ASSERT_FALSE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  EXPECT_EQ(programs_.starts().size(), 1U);  // within the first pause, 1 s
  std::vector<std::int64_t> pauses;
  for (std::int64_t waited = 1; pauses.size() < 8; ++waited) {
    const std::size_t before = programs_.starts().size();
    clock_.advance(1s);
    enforcer_->maintain();
    if (programs_.starts().size() == before) continue;
    pauses.push_back(waited);
    waited = 0;
  }
  EXPECT_EQ(pauses, (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 64}));
  programs_.refuse_starts(false);
  clock_.advance(64s);
  ASSERT_TRUE(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})));
  EXPECT_TRUE(enforced("GPU-a"));
}

TEST_F(MpsEnforcerTest, SaysWhatIsNotInstalled) {
  programs_.break_with(fail(Errc::kNotFound, "nvidia-cuda-mps-control cannot be started"));
  EXPECT_EQ(enforcer_->prepare("GPU-a", sharers({"slot-1.a"})).error().code,
            Errc::kInvalidArgument);
}

TEST_F(MpsEnforcerTest, CardsDoNotDisturbEachOtherFromManyThreads) {
  const std::vector<std::string> cards{"GPU-a", "GPU-b", "GPU-c"};
  {
    std::vector<std::jthread> threads;
    for (const std::string& card : cards) {
      for (int twice = 0; twice < 2; ++twice) {
        threads.emplace_back([&, card] {
          for (int round = 0; round < 20; ++round)
            EXPECT_TRUE(enforcer_->prepare(card, sharers({"slot-1.a"})));
        });
      }
    }
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) enforcer_->maintain();
    });
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) enforcer_->keep({{"GPU-a", sharers({"slot-1.a"})}});
    });
  }
  for (const std::string& card : cards) EXPECT_TRUE(enforced(card)) << card;
}

}  // namespace
}  // namespace tangram::node::nvidia
