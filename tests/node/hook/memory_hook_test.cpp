// The program itself, with a fake NVML, and a folder for the host's proc and cgroup v2.

#include "base/split.hpp"
#include "node/hook/limits_folder.hpp"
#include "tests/node/hook/fake_host.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace tangram::node::hook {
namespace {

constexpr const char* kCards = R"("cards": [
  {"uuid": "GPU-a", "memMiB": 32510, "pci": "0000:17:00.0"},
  {"uuid": "GPU-b", "memMiB": 81920, "pci": "0000:65:00.0"},
  {"uuid": "GPU-m", "memMiB": 81920, "pci": "0000:ca:00.0", "mig": true,
   "instances": [{"uuid": "MIG-m1", "profile": "1g.10gb", "memMiB": 9728, "gi": 7, "ci": 0}]}])";

class MemoryHookTest : public ::testing::Test {
 protected:
  MemoryHookTest() {
    std::filesystem::create_directories(host_.folder() + "/a");
    play(kCards);
  }
  [[nodiscard]] LimitsFolder allocation() const { return LimitsFolder(host_.folder() + "/a"); }

  /// @param members  of the script, in JSON; see tests/fake_nvml/README.md
  void play(const std::string& members) const {
    FakeHost::write(script(), R"({"driverVersion": "615.71.09", "memoryLimits": ")" + record() +
                                  "\", " + members + "}");
  }
  void play_card(const std::string& members) const {
    play(R"("cards": [{"uuid": "GPU-a", "memMiB": 32510, )" + members + "}]");
  }

  /// @param limits  "GPU-a=1MiB drm/…=1MiB", as the agent has written them
  /// @returns the exit status
  int run(const std::string& limits, const std::string& state = good_state()) const {
    Limits all;
    for (const std::string& text : split(limits, ' ')) {
      const auto equals = text.rfind('=');
      const MemoryLimit limit{.card = text.substr(0, equals),
                              .amount = Mebibytes(std::stoll(text.substr(equals + 1)))};
      (text.starts_with("drm/") ? all.dmem : all.nvidia).push_back(limit);
    }
    EXPECT_TRUE(allocation().put(all));
    return run_with("--limits " + host_.folder() + "/a", state);
  }
  int run_with(const std::string& arguments, const std::string& state = good_state()) const {
    FakeHost::write(host_.folder() + "/state.json", state);
    const std::string command = "TANGRAM_FAKE_NVML=" + script() + " " + TANGRAM_MEMORY_HOOK +
                                " --nvml " + nvml_ + " --cgroup-root " + host_.cgroup_root() +
                                " --proc " + host_.proc() + " " + arguments + " <" +
                                host_.folder() + "/state.json >" + host_.folder() + "/said 2>&1";
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has one thread
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// It fails with one line on stderr that has these words, and leaves every limit as it was.
  void expect_failure(const std::string& limits_wanted, const std::string& words,
                      const std::string& limits_left = "",
                      const std::string& state = good_state()) const {
    EXPECT_EQ(run(limits_wanted, state), 1);
    const std::string text = said();
    EXPECT_TRUE(text.starts_with("tangram-memory-hook: ")) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_EQ(limits(), limits_left);
    EXPECT_EQ(FakeHost::text_of(host_.leaf() + "/dmem.max"), "");
  }

  static std::string good_state() {
    return std::string(R"({"ociVersion":"1.2.0","id":")") + FakeHost::kId +
           R"(","status":"creating","pid":4711,"bundle":"/b","annotations":{}})";
  }
  [[nodiscard]] std::string script() const { return host_.folder() + "/script.json"; }
  [[nodiscard]] std::string record() const { return host_.folder() + "/limits"; }
  [[nodiscard]] std::string said() const { return FakeHost::text_of(host_.folder() + "/said"); }
  /// What was set in the driver: card, cgroup, soft and hard limit in bytes.
  [[nodiscard]] std::string limits() const { return FakeHost::text_of(record()); }

  FakeHost host_;
  std::string nvml_ = FAKE_NVML_LIBRARY;
};

TEST_F(MemoryHookTest, LimitsEachCardToItsShare) {
  EXPECT_EQ(run("GPU-a=16255MiB GPU-b=8000MiB"), 0) << said();
  EXPECT_EQ(said(), "");
  EXPECT_EQ(limits(), "GPU-a " + host_.leaf() + " 0 17044602880\n" +  // 16255 * 2^20
                          "GPU-b " + host_.leaf() + " 0 8388608000\n");
  EXPECT_EQ(FakeHost::text_of(host_.leaf() + "/dmem.max"), "") << "the driver's matter";
}

TEST_F(MemoryHookTest, LimitsARegionOfTheKernel) {
  nvml_ = "/none";
  EXPECT_EQ(run(std::string() + FakeHost::kRegion + "=16255MiB"), 0) << said();
  EXPECT_EQ(said(), "");
  EXPECT_EQ(FakeHost::text_of(host_.leaf() + "/dmem.max"), "drm/0000:03:00.0/vram0 17044602880\n");
  EXPECT_EQ(limits(), "");
}

TEST_F(MemoryHookTest, LimitsBoth) {
  EXPECT_EQ(run(std::string("GPU-a=1MiB ") + FakeHost::kRegion + "=1MiB"), 0) << said();
  EXPECT_EQ(limits(), "GPU-a " + host_.leaf() + " 0 1048576\n");
  EXPECT_EQ(FakeHost::text_of(host_.leaf() + "/dmem.max"), "drm/0000:03:00.0/vram0 1048576\n");
}

TEST_F(MemoryHookTest, RefusesMigInstancesBeforeItLimitsOtherCards) {
  expect_failure("GPU-a=1MiB MIG-m1=1MiB", "MIG-m1 is a MIG instance");
}

TEST_F(MemoryHookTest, SaysThatACardIsInMigMode) {
  expect_failure("GPU-m=1MiB", "(Not Supported): turn off MIG on the card");
}

TEST_F(MemoryHookTest, RefusesAnUnknownCardBeforeItLimitsOthers) {
  expect_failure("GPU-a=1MiB GPU-z=1MiB", "the driver has no card GPU-z");
}

TEST_F(MemoryHookTest, SaysThatACardIsLost) {
  play_card(R"("lost": true)");
  expect_failure("GPU-a=1MiB", "does not open GPU-a (GPU is lost): reset the card");
}

TEST_F(MemoryHookTest, NeedsTheLeaf) {
  std::filesystem::remove_all(host_.leaf());
  EXPECT_EQ(run("GPU-a=1MiB"), 1);
  EXPECT_NE(said().find("cannot be read"), std::string::npos) << said();
  EXPECT_EQ(limits(), "");
  EXPECT_FALSE(std::filesystem::exists(host_.leaf()));
}

TEST_F(MemoryHookTest, RefusesCgroupV1) {
  host_.put_process_text("12:pids:/kubepods/a\n1:name=systemd:/kubepods/a\n");
  expect_failure("GPU-a=1MiB", "need cgroup v2 alone");
}

TEST_F(MemoryHookTest, RefusesTheRootCgroup) {
  host_.put_process("/");
  expect_failure("GPU-a=1MiB", "for the whole node");
}

TEST_F(MemoryHookTest, RefusesABadState) {
  expect_failure("GPU-a=1MiB", "has the pid 0", "",
                 std::string(R"({"id":")") + FakeHost::kId + "\"}");
  expect_failure("GPU-a=1MiB", "larger than 4194304 bytes", "",
                 std::string(kMostStateBytes + 1, ' '));
}

TEST_F(MemoryHookTest, SaysThatTheDriverIsTooOld) {
  nvml_ = FAKE_NVML_R580_LIBRARY;
  play(R"("driverVersion": "580.95.05", "cards": [{"uuid": "GPU-a", "memMiB": 32510}])");
  expect_failure("GPU-a=1MiB", "is older than r615 and has no memory limits; install r615");
}

TEST_F(MemoryHookTest, NeedsADriver) {
  play(std::string(R"("driver": "down", )") + kCards);
  expect_failure("GPU-a=1MiB", "(Driver Not Loaded): load the kernel module nvidia");
  nvml_ = host_.folder() + "/libnvidia-ml.so.1";
  expect_failure("GPU-a=1MiB", "the NVIDIA driver's library cannot be loaded");
}

TEST_F(MemoryHookTest, SaysWhyTheDriverRefuses) {
  struct Refusal {
    int code;
    std::string words;
  };
  for (const auto& [code, words] : std::vector<Refusal>{
           {2, "(Invalid Argument): the limit may be larger than the card's memory"},
           {3, "(Not Supported): turn off MIG on the card"},
           {4, "(Insufficient Permissions): run this program as root"},
           {6, "(Not Found): the runtime, or the node's owner, must write +dmem"},
           {13, "(Function Not Found): install r615"},
           {17, "mounted at /sys/fs/cgroup"},
           {999, "the kernel's log"}}) {
    play_card(R"("setLimitsAnswer": )" + std::to_string(code));
    expect_failure("GPU-a=1MiB", words);
  }
}

TEST_F(MemoryHookTest, RefusesMoreThanTheCardHas) {
  expect_failure("GPU-a=32511MiB", "does not limit GPU-a to 32511MiB");
}

TEST_F(MemoryHookTest, FailsIfTheSecondCardFails) {
  play(R"("cards": [{"uuid": "GPU-a", "memMiB": 32510},
                    {"uuid": "GPU-b", "memMiB": 32510, "setLimitsAnswer": 4}])");
  // The first limit goes with the cgroup, which the runtime removes.
  expect_failure("GPU-a=1MiB GPU-b=1MiB", "does not limit GPU-b",
                 "GPU-a " + host_.leaf() + " 0 1048576\n");
}

TEST_F(MemoryHookTest, FailsIfALimitDoesNotStand) {
  const std::string set = "GPU-a " + host_.leaf() + " 0 1048576\n";
  std::string tries;
  for (int i = 0; i < kMostTries; ++i) tries += set;
  play_card(R"("keptLimitMiB": 32510)");
  expect_failure("GPU-a=1MiB",
                 "a limit of 1048576 bytes was set, and one of 34089205760 bytes is in force",
                 tries);
  play_card(R"("keptSoftLimitMiB": 1)");
  expect_failure("GPU-a=1MiB", "one of 1048576 bytes is in force", tries + tries);
  play(std::string(R"("lacks": ["nvmlDeviceGetMemoryLimits_v1"], )") + kCards);
  expect_failure("GPU-a=1MiB", "does not say the limit of GPU-a", tries + tries + set);
}

TEST_F(MemoryHookTest, RecordsTheCgroupBeforeItLimitsIt) {
  EXPECT_EQ(run("GPU-a=1MiB"), 0) << said();
  const auto leaf = allocation().leaf();
  ASSERT_TRUE(leaf) << leaf.error().message;
  EXPECT_EQ(*leaf, *leaf_of(FakeHost::container(), host_.folders()));
  std::filesystem::remove(host_.folder() + "/a/leaf");
  play_card(R"("setLimitsAnswer": 4)");
  EXPECT_EQ(run("GPU-a=1MiB"), 1);
  EXPECT_TRUE(allocation().leaf()) << "an agent that changes the limits meanwhile must find it";
}

TEST_F(MemoryHookTest, WithoutTheAgentsLimitsNothingStarts) {
  const std::string folder = "--limits " + host_.folder() + "/a";
  EXPECT_EQ(run_with(folder), 1);
  EXPECT_NE(said().find("/a has no limits, which the agent writes"), std::string::npos) << said();
  FakeHost::write(host_.folder() + "/a/limits", R"({"nvidia":[]})");
  EXPECT_EQ(run_with(folder), 1);
  EXPECT_NE(said().find("has no limit"), std::string::npos) << said();
  std::filesystem::remove_all(host_.folder() + "/a");
  EXPECT_EQ(run_with(folder), 1);
  EXPECT_NE(said().find("/a/leaf: cannot be written"), std::string::npos) << said();
  EXPECT_EQ(limits(), "");
}

TEST_F(MemoryHookTest, AMistakeOnTheCommandLineChangesNothing) {
  EXPECT_EQ(run_with("--limit GPU-a=1MiB"), 2);
  EXPECT_EQ(run_with(""), 2);
  EXPECT_EQ(limits(), "");
}

}  // namespace
}  // namespace tangram::node::hook
