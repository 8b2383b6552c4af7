// The library that stands in for the driver's own, in containers of a real kubelet and containerd.
// The driver under it is tests/fake_cuda.

#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/library_node.hpp"
#include "tests/e2e/usage.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <thread>

namespace tangram::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr std::uint64_t kHalf = std::uint64_t{16'255} << 20U;

class NodeLibraryTest : public LibraryNodeTest {
 protected:
  /// What the card has done, or will do, for each process, by the card's own count.
  std::vector<std::uint64_t> busy_ns() {
    const fake_cuda::CardLock lock(*card_);
    std::vector<std::uint64_t> busy;
    for (const auto& of_process : card_->busy_ns) busy.push_back(of_process.front());
    return busy;
  }

  /// A program that launches kernels as long as the pod's container lives. It has no more of them
  /// on the card than for 4 ms, also while nobody holds it back.
  /// @returns its number on the card; nothing if it does not begin
  std::optional<std::size_t> launch(const std::string& pod, std::uint64_t kernel_ns) {
    constexpr std::uint64_t kAtATime = 4'000'000;
    const auto before = busy_ns();
    programs_.emplace_back([this, pod, kernel_ns] {
      (void)ask(pod, "plain",
                "init\nkernels-for-ever " + std::to_string(kernel_ns) + " " +
                    std::to_string(kAtATime / kernel_ns) + " 1\n");
    });
    std::optional<std::size_t> number;
    (void)eventually(30s, [&] {
      const auto now = busy_ns();
      for (std::size_t i = 0; i < now.size(); ++i) {
        if (before[i] == 0 && now[i] != 0) number = i;
      }
      return number.has_value();
    });
    return number;
  }

  /// The folder in /proc of the process that holds the pod's container, not of its sandbox; "" =
  /// there is none.
  fs::path process_of(const std::string& pod) {
    const std::string uid = uid_of(pod);
    for (const auto& process : fs::directory_iterator("/proc")) {
      const fs::path& path = process.path();
      if (text_of_file(path / "cgroup").find(uid) != std::string::npos &&
          text_of_file(path / "cmdline").find("hold") != std::string::npos &&
          text_of_file(path / "mounts").find(" /usr/local/tangram/") != std::string::npos) {
        return path;
      }
    }
    return {};
  }

  /// @returns the process that has this argument; 0 = none
  static int process_with(const std::string& argument) {
    for (const auto& process : fs::directory_iterator("/proc")) {
      const std::string name = process.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const std::string line = text_of_file(process.path() / "cmdline");
      if (line.starts_with("/cuda_client") && line.find(argument) != std::string::npos) {
        return std::stoi(name);
      }
    }
    return 0;
  }

  static std::string text_of_file(const fs::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  /// Why the image has not that program of NVIDIA's, by tests/e2e/nvidia_programs.sh; "" = it has.
  [[nodiscard]] std::string missing(const std::string& program) const {
    std::istringstream lines(text_of_file(root_ / "missing-programs"));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(program + ":")) return line;
    }
    return "";
  }

  std::vector<std::jthread> programs_;  ///< end with their pods

  // They wait for the end of their pods.
  ~NodeLibraryTest() override { remove_pods(); }
};

TEST_F(NodeLibraryTest, AContainerSeesItsHalfOfTheCardAndGetsNoByteMore) {
  create_and_wait("half", "0.5");
  const std::string half = std::to_string(kHalf);
  for (const std::string how : {"plain", "deepbind", "unversioned", "namespace"}) {
    EXPECT_THAT(ask("half", how, "init\ntotal 0\ninfo\nalloc " + std::to_string(kHalf + 1) + "\n"),
                HasSubstr("\n0 " + half + "\n0 " + half + " " + half + "\n2 0\n"))
        << how;
    EXPECT_THAT(ask("half", how, "init\nalloc " + half + "\nalloc 1\n"), HasSubstr("\n2 0\n"))
        << how;
  }
  const auto seen = kubectl({"exec", "half", "--", "/program", "env"});
  EXPECT_THAT(seen.text, HasSubstr("TANGRAM_MEMORY_LIMITS=library"));
  expect_books_right();
}

/// NVIDIA's own program, in four views.
TEST_F(NodeLibraryTest, NvidiaSmiShowsTheShare) {
  if (const auto why = missing("nvidia-smi"); !why.empty()) GTEST_SKIP() << why;
  create_and_wait("half", "0.5");
  const auto smi = [](const std::vector<std::string>& arguments) {
    std::vector<std::string> command{"exec", "half", "--", "/nvidia-smi"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return kubectl(command).text;
  };
  EXPECT_THAT(smi({}), ContainsRegex(R"( 0MiB / +16255MiB \|)"));
  EXPECT_THAT(smi({"-q", "-d", "MEMORY"}), ContainsRegex("Total +: 16255 MiB"));
  EXPECT_THAT(smi({"--query-gpu=memory.total,memory.free", "--format=csv,noheader"}),
              HasSubstr("16255 MiB, 16255 MiB"));
  EXPECT_THAT(smi({"-q", "-x"}), HasSubstr("<total>16255 MiB</total>"));
}

/// NVIDIA's own runtime, linked statically. It gives up on the fake driver, but not before it has
/// looked up every function that it calls later.
TEST_F(NodeLibraryTest, AStaticRuntimeGetsItsFunctionsFromTheStandIn) {
  if (const auto why = missing("cuda_runtime"); !why.empty()) GTEST_SKIP() << why;
  create_and_wait("half", "0.5", {}, {{"TANGRAM_LOOKUPS", "/lookups"}});
  const auto answer = kubectl({"exec", "half", "--", "/lib64/ld-linux-x86-64.so.2", "--audit",
                               "/watch_lookups.so", "/cuda_runtime"});
  const std::string seen = text_of_file(process_of("half") / "root/lookups");
  const std::string stand_in = "/x86_64-linux-gnu/libcuda.so.1\n";
  EXPECT_THAT(seen, ContainsRegex("bound cuGetProcAddress_v2 [^\n]*" + stand_in));
  for (const std::string function :
       {"cuMemAlloc", "cuMemAllocAsync", "cuMemAllocManaged", "cuArray3DCreate", "cuMemGetInfo"}) {
    EXPECT_THAT(seen, ContainsRegex("\n" + function + " [^\n]*" + stand_in));
  }
  constexpr int kAllLookups = 419;
  std::istringstream lines(seen);
  int lookups = 0;
  for (std::string line; std::getline(lines, line);) {
    lookups += line.starts_with("bound ") ? 0 : 1;
  }
  EXPECT_EQ(lookups, kAllLookups) << answer.text << seen;
}

TEST_F(NodeLibraryTest, AContainerCannotChangeItsLimitsNorTheDriver) {
  create_and_wait("half", "0.5");
  // The libraries and the page of limits are mounted read-only.
  int read_only = 0;
  int writable = 0;
  std::istringstream mounts(text_of_file(process_of("half") / "mounts"));
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(" /usr/local/tangram/") == std::string::npos &&
        line.find("/libcuda.so.1 ") == std::string::npos &&
        line.find("/libnvidia-ml.so.1 ") == std::string::npos) {
      continue;
    }
    (line.find(" ro,") != std::string::npos ? read_only : writable) += 1;
  }
  EXPECT_EQ(read_only, 5) << "two libraries, the driver's two, the limits";
  EXPECT_EQ(writable, 1) << "the use";
}

TEST_F(NodeLibraryTest, TwoContainersOfACardHaveTheirOwnLimits) {
  create_and_wait("one", "0.25");
  create_and_wait("two", "0.5");
  EXPECT_THAT(ask("two", "plain", "init\ntotal 0\n"),
              HasSubstr("0 " + std::to_string(kHalf) + "\n"));
  const std::uint64_t quarter = 8'127 * kMiB;  // rounded down
  EXPECT_THAT(ask("one", "plain", "init\ntotal 0\n"),
              HasSubstr("0 " + std::to_string(quarter) + "\n"));
  expect_books_right();
}

/// Both may use the card's idle time, so that only the turns hold them to their shares.
TEST_F(NodeLibraryTest, TwoContainersOfACardGetTheirSharesOfItsTime) {
  create_and_wait("thirty", "0.3", {{"gpu-compute-limit", "1"}});
  create_and_wait("seventy", "0.7", {{"gpu-compute-limit", "1"}});
  const auto thirty = launch("thirty", 300'000);
  const auto seventy = launch("seventy", 2'000'000);
  ASSERT_TRUE(thirty && seventy) << agent_log();
  const auto share = [&](std::chrono::seconds time) {
    const auto before = busy_ns();
    std::this_thread::sleep_for(time);  // the time that is measured
    const auto now = busy_ns();
    const auto of_thirty = static_cast<double>(now[*thirty] - before[*thirty]);
    const auto of_seventy = static_cast<double>(now[*seventy] - before[*seventy]);
    return 100 * of_thirty / (of_thirty + of_seventy);
  };
  (void)share(1s);
  constexpr auto kLong = 8s;
  const auto agent_before = cpu_time_of(node_.pid("tangram-node"));
  const double leased = share(kLong);
  const auto agent_spent = cpu_time_of(node_.pid("tangram-node")) - agent_before;
  EXPECT_NEAR(leased, 30, 5);
  // Programs run on while no agent is there: they wait for it once, two seconds long.
  node_.kill("tangram-node");
  (void)share(3s);
  const auto before = busy_ns();
  std::this_thread::sleep_for(1s);
  const auto now = busy_ns();
  EXPECT_GT(now[*thirty], before[*thirty]);
  EXPECT_GT(now[*seventy], before[*seventy]);
  start_library_agent();
  (void)share(2s);
  const double again = share(6s);
  Figures("node_lease")
      .add("percent_of_30", leased)
      .add("percent_after_restart_of_agent", again)
      .add("agent_cpu_percent", 100 * agent_spent / kLong);
  EXPECT_NEAR(again, 30, 5);
}

TEST_F(NodeLibraryTest, AContainerAloneGetsNoMoreTimeThanItsLimit) {
  create_and_wait("quarter", "0.25");
  const auto program = launch("quarter", 500'000);
  ASSERT_TRUE(program) << agent_log();
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t before = busy_ns()[*program];
  std::this_thread::sleep_for(4s);  // the time that is measured
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - begin;
  const double used = 100 * static_cast<double>(busy_ns()[*program] - before) / passed.count();
  std::cout << used << " % of 25\n";
  EXPECT_NEAR(used, 25, 5);
}

/// The limits do not reach a program that loads the driver's own library by its path.
TEST_F(NodeLibraryTest, AProgramThatUsesTheDriversOwnLibraryIsReportedSoon) {
  node_.stop("tangram-node");
  start_library_agent({"--runtime-socket", node_.runtime()});
  create_and_wait("half", "0.5");
  const std::string driver = "/usr/local/tangram/driver/libcuda.so.1";
  programs_.emplace_back([driver] { (void)ask("half", driver, "init\nchurn 1 1048576\n"); });
  int pid = 0;
  ASSERT_TRUE(eventually(30s, [&] { return (pid = process_with(driver)) != 0; }));
  auto cards = cards_;
  cards[0].processes = {{.pid = pid, .memory_mib = 100}};
  const auto listed = TimePoint::clock::now();
  node_.write_cards(cards);
  const auto reported = [&] {
    return cluster_.get("/apis/events.k8s.io/v1/namespaces/default/events")
               .find("OtherDriverLibrary") != std::string::npos;
  };
  EXPECT_TRUE(eventually(10s, reported)) << agent_log();
  const double seconds = seconds_between(listed, TimePoint::clock::now());
  std::cout << "reported after " << seconds << " s\n";
  EXPECT_LE(seconds, 5) << "two seconds, where the machine has time for it";
}

TEST_F(NodeLibraryTest, PagesEndWithTheirContainersAndOutliveTheAgent) {
  create_and_wait("half", "0.5");
  const fs::path shares = root_ / "run/tangram/shares";
  ASSERT_TRUE(fs::exists(shares));
  const auto pages = [&] { return std::distance(fs::directory_iterator(shares), {}); };
  // Those of earlier pods are removed, too, also by an agent that has started none.
  EXPECT_TRUE(eventually(30s, [&] { return pages() == 1; })) << pages();
  node_.kill("tangram-node");
  EXPECT_THAT(ask("half", "plain", "init\ntotal 0\n"), HasSubstr("0 " + std::to_string(kHalf)));
  start_library_agent();
  remove_pods();
  EXPECT_TRUE(eventually(30s, [&] { return pages() == 0; }));
}

}  // namespace
}  // namespace tangram::e2e
