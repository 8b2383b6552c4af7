#include "node/vendor/nvidia/nvml_source.hpp"

#include "tests/node/vendor/nvidia/fake_machine.hpp"
#include "tests/testing/eventually.hpp"

#include <dlfcn.h>

#include <thread>

namespace tangram::node::nvidia {
namespace {

using namespace std::chrono_literals;

constexpr const char* kOneCard = R"({"cards":[{"uuid":"GPU-a","memMiB":1000}]})";
constexpr const char* kNoDriver = R"({"driver":"down"})";

/// The setting in the driver, read without the code under test.
int compute_mode(const std::string& uuid) {
  void* library = ::dlopen(kFakeNvml, RTLD_NOW | RTLD_LOCAL);
  const auto handle =
      reinterpret_cast<int (*)(const char*, void**)>(::dlsym(library, "nvmlDeviceGetHandleByUUID"));
  const auto mode =
      reinterpret_cast<int (*)(void*, int*)>(::dlsym(library, "nvmlDeviceGetComputeMode"));
  void* device = nullptr;
  int out = -1;
  EXPECT_EQ(handle(uuid.c_str(), &device), 0);
  EXPECT_EQ(mode(device, &out), 0);
  ::dlclose(library);
  return out;
}

TEST(NvmlLibraryTest, SaysWhatToDoWithoutADriver) {
  const auto opened = NvmlLibrary::open("/nowhere/libnvidia-ml.so.1");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kUnavailable);
  EXPECT_NE(opened.error().message.find("install the driver"), std::string::npos);
}

TEST(NvmlLibraryTest, NamesTheFunctionsThatAreMissing) {
  const auto opened = NvmlLibrary::open("libm.so.6");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kInvalidArgument);
  EXPECT_NE(opened.error().message.find("nvmlInit_v2"), std::string::npos);
  EXPECT_EQ(opened.error().message.find("nvmlDeviceGetMigMode"), std::string::npos);
}

TEST(NvmlSourceTest, AsksNothingBeforeTheFirstCall) {
  NvmlSource source("/nowhere/libnvidia-ml.so.1");
  const auto found = source.inventory();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kUnavailable);
}

TEST(NvmlSourceTest, BelievesNoNumberThatCannotBe) {
  const FakeMachine machine(
      R"({"boundless":true,"cards":[{"uuid":"GPU-a","memMiB":1000,"utilization":4294967295},
          {"uuid":"GPU-b","memMiB":1000,"mig":true,"instances":[{"uuid":"MIG-1","memMiB":500}]}]})");
  NvmlSource source(kFakeNvml);
  const auto found = source.inventory();
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->cards.size(), 2U);
  EXPECT_EQ(found->cards[0].card.id, std::string(nvml::kTextSize, 'A'));
  const auto activity = source.activity("GPU-a");
  ASSERT_TRUE(activity) << activity.error().message;
  EXPECT_TRUE(activity->processes.empty());
  EXPECT_EQ(activity->utilization, 1);
}

TEST(NvmlSourceTest, FindsADriverThatComesLater) {
  const FakeMachine machine(kNoDriver);
  NvmlSource source(kFakeNvml);
  ASSERT_FALSE(source.inventory());
  machine.play(kOneCard);
  const auto found = source.inventory();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->cards.size(), 1U);
}

TEST(NvmlSourceTest, StartsAnewAfterTheDriverRestarted) {
  const FakeMachine machine(kOneCard);
  NvmlSource source(kFakeNvml);
  ASSERT_TRUE(source.inventory());
  for (const char* away : {kNoDriver, R"({"driver":"mismatch"})"}) {
    machine.play(away);
    const auto gone = source.inventory();
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, Errc::kUnavailable);
    EXPECT_EQ(source.activity("GPU-a").error().code, Errc::kUnavailable);
    EXPECT_EQ(source.wait_for_faults(0ms).error().code, Errc::kUnavailable);
    machine.play(kOneCard);
    // The session from before is noticed by the first call at most; the next one has a new one.
    if (auto back = source.inventory(); !back) back = source.inventory();
    EXPECT_TRUE(source.inventory());
  }
}

TEST(NvmlSourceTest, ADriverThatWasAwayForAMomentIsNoticed) {
  const FakeMachine machine(R"({"cards":[{"uuid":"GPU-a","memMiB":1000}],
    "events":[{"atMs":20,"driver":"down"},{"atMs":21,"driver":"up"}]})");
  NvmlSource source(kFakeNvml);
  // However few calls fall into that moment: the session did not survive it.
  EXPECT_TRUE(testing::eventually([&] { return !source.inventory(); }));
  EXPECT_TRUE(testing::eventually([&] { return source.inventory().has_value(); }));
  EXPECT_TRUE(source.inventory());
}

TEST(NvmlSourceTest, ALostCardDoesNotHideTheOthers) {
  const FakeMachine machine(R"({"cards":[{"uuid":"GPU-a","memMiB":1000,"lost":true},
                                         {"uuid":"GPU-b","memMiB":1000}]})");
  NvmlSource source(kFakeNvml);
  for (int poll = 0; poll < 3; ++poll) {
    const auto found = source.inventory();
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->cards.size(), 1U);
    EXPECT_EQ(found->cards[0].card.id, "GPU-b");
  }
  EXPECT_EQ(source.activity("GPU-a").error().code, Errc::kUnavailable);
  EXPECT_TRUE(source.activity("GPU-b"));
}

TEST(NvmlSourceTest, ReportsWhatHappensOnACard) {
  const FakeMachine machine(
      R"({"cards":[{"uuid":"GPU-a","memMiB":1000,"reservedMiB":50,"utilization":37,
    "processes":[{"pid":12,"memMiB":100},{"pid":11,"memMiB":30},{"pid":13,"memMiB":20,"mps":true},
                 {"pid":12,"memMiB":0,"mps":true},{"pid":14,"memMiB":10,"graphics":true},
                 {"pid":11,"memMiB":30,"graphics":true}]}]})");
  NvmlSource source(kFakeNvml);
  const auto activity = source.activity("GPU-a");
  ASSERT_TRUE(activity) << activity.error().message;
  EXPECT_EQ(activity->memory_used_bytes, 190U << 20U);  // of all processes, not the 50
  EXPECT_DOUBLE_EQ(activity->utilization, 0.37);
  EXPECT_EQ(activity->processes,
            (std::vector<CardProcess>{
                {11, 30U << 20U}, {12, 100U << 20U}, {13, 20U << 20U}, {14, 10U << 20U}}));
}

TEST(NvmlSourceTest, ReadsMoreProcessesThanItExpected) {
  std::string script = R"({"cards":[{"uuid":"GPU-a","memMiB":80000,"processes":[)";
  for (int pid = 1; pid <= 500; ++pid) {
    script +=
        (pid == 1 ? "" : ",") + std::string(R"({"memMiB":1,"pid":)") + std::to_string(pid) + "}";
  }
  const FakeMachine machine(script + "]}]}");
  NvmlSource source(kFakeNvml);
  const auto activity = source.activity("GPU-a");
  ASSERT_TRUE(activity);
  EXPECT_EQ(activity->processes.size(), 500U);
}

TEST(NvmlSourceTest, UtilizationMayBeUnknown) {
  const FakeMachine machine(kOneCard);
  NvmlSource source(kFakeNvml);
  EXPECT_LT(source.activity("GPU-a")->utilization, 0);
}

TEST(NvmlSourceTest, KnowsNoOtherCards) {
  const FakeMachine machine(kOneCard);
  NvmlSource source(kFakeNvml);
  EXPECT_EQ(source.activity("GPU-z").error().code, Errc::kNotFound);
  EXPECT_EQ(source.set_exclusive_process("GPU-z", true).error().code, Errc::kNotFound);
}

TEST(NvmlSourceTest, SetsTheComputeMode) {
  const FakeMachine machine(kOneCard);
  NvmlSource source(kFakeNvml);
  ASSERT_TRUE(source.set_exclusive_process("GPU-a", true));
  EXPECT_EQ(compute_mode("GPU-a"), 3);
  ASSERT_TRUE(source.set_exclusive_process("GPU-a", false));
  EXPECT_EQ(compute_mode("GPU-a"), 0);
}

TEST(NvmlSourceTest, MigInstancesHaveNoComputeMode) {
  const FakeMachine machine(R"({"cards":[{"uuid":"GPU-a","memMiB":1000,"mig":true,
    "instances":[{"uuid":"MIG-1","profile":"1g.10gb","memMiB":100}]}]})");
  NvmlSource source(kFakeNvml);
  const auto set = source.set_exclusive_process("MIG-1", true);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Errc::kInvalidArgument);
}

TEST(NvmlSourceTest, ServesManyThreadsWhileTheDriverComesAndGoes) {
  const FakeMachine machine(kOneCard);
  NvmlSource source(kFakeNvml);
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) (void)source.wait_for_faults(1ms);
    });
    threads.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) (void)source.activity("GPU-a");
    });
    for (int round = 0; round < 20; ++round) {
      machine.play(round % 2 == 0 ? kNoDriver : kOneCard);
      (void)source.inventory();
    }
  }
  machine.play(kOneCard);
  (void)source.inventory();
  EXPECT_TRUE(source.inventory());
}

}  // namespace
}  // namespace tangram::node::nvidia
