#include "node/vendor/nvidia/nvidia.hpp"

#include "tests/node/cards/scripted_source.hpp"
#include "tests/node/vendor/nvidia/driver/host.hpp"
#include "tests/node/vendor/nvidia/fake_machine.hpp"
#include "tests/node/vendor/nvidia/fake_programs.hpp"
#include "tests/testing/manual_clock.hpp"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::node::nvidia {
namespace {

using namespace std::chrono_literals;
using model::Isolation;

TimePoint at(std::chrono::seconds since_start) { return TimePoint(since_start); }

Fault xid(std::uint64_t code) { return {"a", Fault::Kind::kDriverError, code}; }

HealthTracker one_card() {
  HealthTracker tracker(xid_rules(), {}, at(0s));
  tracker.on_listed({"a"}, at(0s));
  return tracker;
}

TEST(XidRulesTest, WhatApplicationsDoIsIgnored) {
  HealthTracker tracker = one_card();
  for (const std::uint64_t code : {13U, 31U, 43U, 45U, 68U, 109U})
    tracker.on_fault(xid(code), at(1s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1s)), "");
}

TEST(XidRulesTest, TimeDoesNotReplaceAReset) {
  for (const std::uint64_t code : {46U, 48U, 62U, 64U, 74U, 79U, 95U, 119U, 120U, 140U, 143U}) {
    HealthTracker tracker = one_card();
    tracker.on_fault(xid(code), at(0s));
    EXPECT_EQ(tracker.unhealthy_reason("a", at(24h)), kNeedsReset) << code;
  }
  HealthTracker tracker = one_card();
  tracker.on_fault({"a", Fault::Kind::kEcc, 0}, at(0s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(24h)), kNeedsReset);
}

TEST(XidRulesTest, OtherXidsMakeACardUnhealthyForAWhile) {
  HealthTracker tracker = one_card();
  tracker.on_fault(xid(94), at(0s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1s)), kRecentFault);
  EXPECT_EQ(tracker.unhealthy_reason("a", at(10min)), "");
}

TEST(NvidiaTest, ReadsItsFlags) {
  Nvidia nvidia;
  CLI::App cli;
  nvidia.add_options(cli);
  cli.parse(
      "--nvidia-cdi-dirs=/a,/b --mps-launcher='nsenter --target 1' --mps-multiuser=false "
      "--nvml-library=/lib/x --time-slice=2 --mps-compute=partitions");
  const Settings& settings = nvidia.settings();
  EXPECT_EQ(settings.cdi_dirs, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(settings.mps_launcher, "nsenter --target 1");
  EXPECT_FALSE(settings.mps_multiuser);
  EXPECT_EQ(settings.nvml_library, "/lib/x");
  EXPECT_EQ(settings.time_slice, 2);
  EXPECT_EQ(settings.mps_compute, "partitions");
  EXPECT_THROW(cli.parse("--mps-compute=chunks"), CLI::ValidationError);
}

TEST(NvidiaTest, GoesByThePlacesOfTheMachine) {
  Nvidia nvidia;
  nvidia.set_places({.host_root = "/host", .run_dir = "/r", .memory_hook = "/hook"});
  EXPECT_EQ(nvidia.settings().driver.host_root, "/host");
  EXPECT_EQ(nvidia.settings().run_dir, "/r");
  EXPECT_EQ(nvidia.settings().memory_hook, "/hook");
}

TEST(NvidiaTest, GivesAMigInstanceWhatNvmlAndTheDriversFilesSay) {
  const FakeMachine machine(
      R"({"cards":[{"uuid":"GPU-b","memMiB":81920,"mig":true,"instances":)"
      R"([{"uuid":"MIG-b1","profile":"1g.10gb","memMiB":9728,"gi":7,"ci":0}]}]})");
  const DriverHost host;
  host.install_driver("/run/nvidia/driver");
  host.add_nodes();
  host.add_card("GPU-b", 3);
  host.add_capability("gpu3/mig/gi7", 66);
  host.add_capability("gpu3/mig/gi7/ci0", 67);
  const Nvidia nvidia(
      {.nvml_library = kFakeNvml, .driver = {.host_root = host.root()}, .cdi_dirs = {}});
  EXPECT_EQ(nvidia.cdi_edits({"MIG-b1"}).error().code, Errc::kUnavailable) << "not listed yet";
  const auto cards = nvidia.open_cards();
  ASSERT_TRUE(cards->inventory());
  const auto edits = nvidia.cdi_edits({"MIG-b1"});
  ASSERT_TRUE(edits) << edits.error().message;
  const auto& nodes = edits->lists.at("deviceNodes");
  for (const char* const node :
       {"/dev/nvidia3", "/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-caps/nvidia-cap67"}) {
    EXPECT_EQ(std::count(nodes.begin(), nodes.end(), R"({"path":")" + std::string(node) + R"("})"),
              1)
        << node;
  }
}

TEST(NvidiaTest, EnforcesMpsAndTimeSlices) {
  const Nvidia nvidia({.run_dir = "/r", .time_slice = 3});
  ScriptedSource source;
  FakePrograms programs;
  const testing::ManualClock clock;
  const EnforcerParts parts{source, programs, clock, 16, false, true};
  EXPECT_EQ(nvidia.enforcer(Isolation::kNone, parts), nullptr);
  ASSERT_TRUE(nvidia.enforcer(Isolation::kTimeSlice, parts)->prepare("GPU-a", {}));
  EXPECT_EQ(programs.commands().back().arguments.back(), "3");
  const auto mps = nvidia.enforcer(Isolation::kMps, parts);
  model::GrantedCard card;
  card.uuid = "GPU-a";
  const auto edits = mps->edits("slot-1.a", {card});
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_EQ(edits->mounts.at(0).host_path, "/r/mps/GPU-a/clients/slot-1.a");
}

TEST(NvidiaTest, WithoutADriverThereAreNoCards) {
  const Nvidia nvidia({.nvml_library = "/no/such/library"});
  EXPECT_EQ(nvidia.open_cards()->inventory().error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace tangram::node::nvidia
