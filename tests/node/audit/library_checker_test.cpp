#include "node/audit/library_checker.hpp"

#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;
using Found = LibraryChecker::Found;

class LibraryCheckerTest : public ::testing::Test {
 protected:
  /// The use of container "main" of pod "a", with these processes.
  static MemoryUse use(const std::vector<std::int64_t>& pids, const std::string& container = "main",
                       const std::string& card = "GPU-1") {
    MemoryUse use{.pod_uid = "uid-a", .ns = "ml", .pod = "a", .container = container, .card = card};
    for (const std::int64_t pid : pids) use.processes.push_back({.pid = pid});
    return use;
  }
  void note(const MemoryUse& use) {
    checker.note_use(use);
    checker.look();
  }
  std::vector<Found> found() const { return checker.state().found; }

  testing::ManualClock clock;
  std::map<std::int64_t, Result<std::string>> paths;  ///< by PID; otherwise none
  std::vector<std::int64_t> looked;
  std::vector<kube::EventNote> events;
  LibraryChecker checker{
      {.way_past = [this](const MemoryUse& /*use*/, std::int64_t pid) -> Result<std::string> {
         looked.push_back(pid);
         const auto path = paths.find(pid);
         return path == paths.end() ? std::string() : path->second;
       },
       .report_event = [this](kube::EventNote note) { events.push_back(std::move(note)); },
       .clock = clock}};
};

TEST_F(LibraryCheckerTest, ReportsAProcessWithAnotherLibraryAtTheFirstLook) {
  paths.insert({2, std::string("/usr/local/cuda/compat/libcuda.so.550.54.15")});
  note(use({1, 2}));
  EXPECT_EQ(found(), (std::vector<Found>{{"ml", "a", "main", 1}}));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].uid, "uid-a");
  EXPECT_EQ(events[0].reason, "OtherDriverLibrary");
  EXPECT_EQ(events[0].type, kube::EventNote::Type::kWarning);
  EXPECT_EQ(events[0].note.find("container main uses card GPU-1 by "
                                "/usr/local/cuda/compat/libcuda.so.550.54.15 instead of "),
            0U)
      << events[0].note;
}

TEST_F(LibraryCheckerTest, AProcessIsLookedAtOnceAMinute) {
  for (int second = 0; second < 60; ++second, clock.advance(1s)) note(use({1}));
  EXPECT_EQ(looked, (std::vector<std::int64_t>{1}));
  paths.insert({1, std::string("/copy/libcuda.so")});
  note(use({1}));
  EXPECT_EQ(looked.size(), 2U);
  EXPECT_EQ(events.size(), 1U) << "it has loaded another one since";
}

TEST_F(LibraryCheckerTest, AContainerIsReportedOnceForAllItsProcessesAndCards) {
  for (std::int64_t pid = 1; pid <= 3; ++pid) paths.insert({pid, std::string("/x/libcuda.so")});
  note(use({1, 2}));
  note(use({1, 2}, "main", "GPU-2"));
  note(use({1, 2, 3}));
  EXPECT_EQ(found(), (std::vector<Found>{{"ml", "a", "main", 3}}));
  EXPECT_EQ(events.size(), 1U);
  note(use({}, "other"));
  EXPECT_EQ(looked.size(), 3U);
}

TEST_F(LibraryCheckerTest, IsReportedAgainAfterItsProcessesHaveEnded) {
  paths.insert({1, std::string("/x/libcuda.so")});
  note(use({1}));
  clock.advance(11s);
  note(use({}));
  EXPECT_TRUE(found().empty());
  note(use({1}));
  EXPECT_EQ(events.size(), 2U);
}

TEST_F(LibraryCheckerTest, AnotherContainersProcessWithTheSameNumberIsLookedAt) {
  note(use({1}, "one"));
  note(use({1}, "two"));
  EXPECT_EQ(looked, (std::vector<std::int64_t>{1, 1}));
}

TEST_F(LibraryCheckerTest, ManyNewProcessesAreLookedAtAFewATime) {
  note(use({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(looked, (std::vector<std::int64_t>{1, 2, 3, 4}));
  note(use({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(looked, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(LibraryCheckerTest, WhatIsNotedIsLookedAtLater) {
  checker.note_use(use({1}));
  checker.note_use(use({1, 2}));
  EXPECT_TRUE(looked.empty());
  checker.look();
  EXPECT_EQ(looked, (std::vector<std::int64_t>{1, 2}));
}

TEST_F(LibraryCheckerTest, CountsLooksThatDidNotTell) {
  paths.insert({1, fail(Errc::kUnavailable, "too many mappings")});
  paths.insert({2, fail(Errc::kNotFound, "it has ended")});
  note(use({1, 2, 3}));
  EXPECT_EQ(checker.state().looks, 3U);
  EXPECT_EQ(checker.state().unclear, 1U);
  EXPECT_TRUE(found().empty());
  EXPECT_TRUE(events.empty());
}

TEST_F(LibraryCheckerTest, ShowsAPathThatTheContainerChoseWithCare) {
  paths.insert({1, "/\x1b[2J\n" + std::string(5000, 'x') + "/libcuda.so"});
  note(use({1}));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(events[0].note.find("/?[2J?xxx"), std::string::npos);
  EXPECT_LT(events[0].note.size(), 500U);
}

}  // namespace
}  // namespace tangram::node
