// tangram-gpu-check over the fake driver and the fake NVML: each check reaches its mark where the
// stand-in is at work, and finds it out where it is not.
#include "tests/fake_cuda/card_file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr const char* kUuid = "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0";

/// A machine with one card of 32,510 MiB, whose NVML counts what the processes of the fake driver
/// really have.
class Machine {
 public:
  explicit Machine(const std::string& driver = "550.54.15") : driver_(driver) {
    const std::string file = path() + "/" + fake_cuda::kCardFile;
    cards_ = fake_cuda::create_card_file(file.c_str());
    fd_ = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    if (cards_ == nullptr || fd_ < 0) throw std::runtime_error(file);
    fake_cuda::Card& card = cards_->cards[0];
    cards_->count = 1;
    card.uuid.fill(0xa0);
    card.bytes = 32'510 * kMiB;
    card.pool_chunk = 32 * kMiB;
    card.pitch = 512;
    card.context_bytes = 300 * kMiB;
    fs::create_directory(path() + "/driver");
    for (const char* const name : {"libcuda.so.1", "libcuda.so"}) {
      fs::create_symlink(TANGRAM_FAKE_CUDA, path() + "/driver/" + name);
    }
    fs::create_symlink(TANGRAM_FAKE_NVML, path() + "/driver/libnvidia-ml.so.1");
    write_nvml();
    // The machine's own would not load a fake with a sanitizer; scripts/check-nvidia-smi runs it.
    write_program("bin/nvidia-smi", "#!/bin/sh\nexit 127\n");
    counting_ = std::jthread([this](const std::stop_token& stop) {
      for (; !stop.stop_requested(); std::this_thread::sleep_for(20ms)) write_nvml();
    });
  }

  [[nodiscard]] const std::string& path() const { return folder_.path(); }

  void write_program(const std::string& name, const std::string& text) const {
    const fs::path file = path() + "/" + name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    fs::permissions(file, fs::perms::owner_all);
  }

 private:
  void write_nvml() {
    std::ostringstream text;
    text << R"({"driverVersion": ")" << driver_
         << R"(", "cudaVersion": "12.4", "memoryLimits": "limits", "cards": [{"uuid": ")" << kUuid
         << R"(", "model": "Tesla V100-SXM2-32GB", "memMiB": 32510, "minor": 0,)"
         << R"( "pci": "0000:17:00.0", "computeCapability": "7.0", "utilization": 0,)"
         << R"( "processes": [)" << processes() << "]}]}";
    if (text.str() == written_) return;
    written_ = text.str();
    std::ofstream(path() + "/part") << written_;
    fs::rename(path() + "/part", path() + "/nvml.json");
  }
  std::string processes() {
    std::string all;
    const fake_cuda::CardLock lock(*cards_);
    (void)used_now(*cards_, fd_, 0, fake_cuda::kMaxProcesses);  // forgets the dead
    for (std::size_t i = 0; i < fake_cuda::kMaxProcesses; ++i) {
      const std::uint64_t mib = cards_->used.at(i)[0] / kMiB;
      if (mib == 0) continue;
      all += (all.empty() ? "" : ", ") + std::string("{\"pid\": ") +
             std::to_string(cards_->pids.at(i)) + ", \"memMiB\": " + std::to_string(mib) + "}";
    }
    return all;
  }

  const std::string driver_;
  tangram::testing::TempFolder folder_;
  fake_cuda::CardFile* cards_ = nullptr;
  int fd_ = -1;
  std::string written_;
  std::jthread counting_;
};

struct End {
  int exit_code = -1;
  std::string output;
  [[nodiscard]] long lines_with(const std::string& text) const {
    std::istringstream in(output.substr(output.find("\nresult ")));  // of the table
    long count = 0;
    for (std::string line; std::getline(in, line);) count += line.starts_with(text) ? 1 : 0;
    return count;
  }
};

End check(const Machine& machine, const std::string& options,
          const std::string& build = TANGRAM_BUILD) {
  const std::string command =
      "cd " + machine.path() + " && LD_LIBRARY_PATH=" + machine.path() +
      "/driver PATH=" + machine.path() +
      "/bin:" TANGRAM_FAKE_MPS ":$PATH TANGRAM_FAKE_NVML=" + machine.path() + "/nvml.json " +
      TANGRAM_GPU_CHECK + " --build " + build + " " + options + " 2>&1";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  End end;
  std::array<char, 4096> text{};
  while (const std::size_t size = std::fread(text.data(), 1, text.size(), pipe)) {
    end.output.append(text.data(), size);
  }
  const int status = ::pclose(pipe);
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::cout << end.output;  // for people who read the test's log
  return end;
}

/// Needs a mount namespace, as the check itself does.
bool can_mount() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the tests have one thread
  return ::geteuid() == 0 && std::system("unshare --mount true 2>/dev/null") == 0;
}

class GpuCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_mount()) GTEST_SKIP() << "needs root and a mount namespace";
  }
};

TEST_F(GpuCheckTest, ALibraryThatLimitsReachesEveryMark) {
  const Machine machine;
  const End end = check(machine, "--only none --only library --only outside");
  EXPECT_EQ(end.exit_code, 0) << end.output;
  EXPECT_EQ(end.lines_with("NOT REACHED"), 0) << end.output;
  EXPECT_EQ(end.lines_with("reached"), 40) << end.output;
}

/// With the driver's own library in the stand-in's place nothing is limited.
TEST_F(GpuCheckTest, ALibraryThatDoesNotLimitIsFoundOut) {
  const Machine machine;
  const std::string build = machine.path() + "/build";
  for (const char* const folder : {"/shim/stand_in_cuda", "/shim/stand_in_nvml", "/tests/shim"}) {
    fs::create_directories(build + folder);
  }
  fs::copy_file(TANGRAM_FAKE_CUDA, build + "/shim/stand_in_cuda/libcuda.so.1");
  fs::copy_file(TANGRAM_FAKE_NVML, build + "/shim/stand_in_nvml/libnvidia-ml.so.1");
  fs::create_symlink(TANGRAM_CUDA_CLIENT, build + "/tests/shim/cuda_client");
  const End end = check(machine, "--only library", build);
  EXPECT_EQ(end.exit_code, 1) << end.output;
  EXPECT_EQ(end.lines_with("reached"), 10) << "that each way to allocate counts\n" << end.output;
  EXPECT_EQ(end.lines_with("NOT REACHED"), 19) << end.output;
}

TEST_F(GpuCheckTest, TurnsAreMeasuredOnTheCard) {
  const Machine machine;
  const End end = check(machine, "--only lease --lease-seconds 1");
  EXPECT_EQ(end.lines_with("reached") + end.lines_with("NOT REACHED"), 36);
  EXPECT_GE(end.lines_with("reached"), 30) << "a busy machine may miss some";
}

/// The figures are made up: what the stand-in costs is measured by scripts/check-all.
TEST_F(GpuCheckTest, CostIsJudgedByItsMarkAndItsNoise) {
  const Machine machine;
  machine.write_program("build/bin/tangram-stand-in-cost", R"(#!/bin/sh
cat >"$2" <<END
{"good, ns": {"bare": 3000, "added": 11.5, "noise": 1, "target": 20},
 "bad, ns": {"bare": 3000, "added": 30, "noise": 1, "target": 20},
 "noisy, ns": {"bare": 3000, "added": 30, "noise": 6, "target": 20}, "a mutex, ns": 18}
END
)");
  const End end = check(machine, "--only cost", machine.path() + "/build");
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_EQ(end.lines_with("reached"), 2) << "over both drivers";
  EXPECT_EQ(end.lines_with("NOT REACHED"), 2);
  EXPECT_EQ(end.lines_with("not checked"), 4) << "the noisy one, and what needs Kubernetes";
  EXPECT_NE(end.output.find("11.50 ± 1.00 ns, bare 3000.00 ns"), std::string::npos);
}

TEST_F(GpuCheckTest, AnOldDriverOffersNoLimitsOfItsOwn) {
  const End end = check(Machine(), "--only driver");
  EXPECT_EQ(end.exit_code, 0) << end.output;
  EXPECT_NE(end.output.find("driver 550.54.15 is older than r615"), std::string::npos)
      << end.output;
  EXPECT_EQ(end.lines_with("not offered"), 1) << end.output;
}

/// The fake driver limits no control group; the hook and the fake NVML do what they do on a card.
TEST_F(GpuCheckTest, ANewDriverLimitsAControlGroupWhereThereIsOne) {
  const End end = check(Machine("615.71.09"), "--only driver");
  const bool has_cgroups = fs::exists("/sys/fs/cgroup/cgroup.controllers");
  const char* const wanted = has_cgroups ? "driver: the hook: sets 16255MiB" : "has no cgroup v2";
  EXPECT_NE(end.output.find(wanted), std::string::npos);
  EXPECT_EQ(end.lines_with("not offered"), has_cgroups ? 0 : 1);
}

/// The fake driver is no client of MPS: only what concerns the daemon can be reached.
TEST_F(GpuCheckTest, AnMpsDaemonIsStartedAndReplaced) {
  const End end = check(Machine(), "--only mps");
  for (const char* const line : {"reached: MPS: a daemon is started",
                                 "reached: MPS: a client cannot change the daemon's limits",
                                 "reached: MPS: a daemon that was killed is replaced"}) {
    EXPECT_NE(end.output.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(end.exit_code, 1) << "nobody is limited";
}

TEST_F(GpuCheckTest, SmPartitionsAreReserved) {
  const End end = check(Machine(), "--only partitions");
  for (const char* const line : {"reached: partitions: chunks of the card",
                                 "reached: partitions: 0.50 of the card is reserved"}) {
    EXPECT_NE(end.output.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(end.exit_code, 1) << "nobody is limited";
}

TEST_F(GpuCheckTest, AMachineWithoutADriverIsNotChecked) {
  const Machine machine;
  fs::remove(machine.path() + "/driver/libnvidia-ml.so.1");
  const End end = check(machine, "");
  EXPECT_EQ(end.exit_code, 77) << end.output;
}

}  // namespace
