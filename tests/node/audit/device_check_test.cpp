#include "node/audit/device_check.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using Environment = std::vector<std::string>;

JournalEntry entry(const std::string& name, const std::string& mark, std::int64_t marked_at = 10,
                   const std::string& uid = "uid-a", const std::string& container = "main") {
  Claim claim;
  claim.pod_uid = uid;
  claim.container = container;
  claim.spec = "{}";
  claim.mark = mark;
  claim.marked_at = marked_at;
  return {.name = name, .slots = {"slot-1"}, .allocated_at = "", .claim = claim};
}

RuntimeContainer created(std::int64_t at) { return {"c1", "uid-a", "ml", "a", "main", at}; }

std::string due_mark(const RuntimeContainer& container, const std::vector<JournalEntry>& journal) {
  const JournalEntry* const due = due_entry(container, journal);
  return due == nullptr ? "" : due->claim->mark;
}

TEST(DeviceCheckTest, AContainerThatTheAgentLetStartMustHaveItsMark) {
  EXPECT_EQ(due_mark(created(11), {entry("s1", "M=b", 10, "uid-b"), entry("s2", "M=a")}), "M=a");
  EXPECT_EQ(due_mark(created(11), {}), "");
  EXPECT_EQ(due_mark(created(11), {entry("s1", "M=b", 10, "uid-b")}), "") << "another pod's";
  EXPECT_EQ(due_mark(created(11), {entry("s1", "M=b", 10, "uid-a", "other")}), "");
}

TEST(DeviceCheckTest, WhatAnEarlierAgentLetStartIsNotJudged) {
  JournalEntry allocated = entry("s1", "M=a");
  allocated.claim.reset();
  JournalEntry of_an_earlier_agent = entry("s1", "");
  of_an_earlier_agent.claim->spec = R"({"env":["TANGRAM_ALLOCATION=s1"]})";
  EXPECT_EQ(due_mark(created(11), {allocated}), "");
  EXPECT_EQ(due_mark(created(11), {of_an_earlier_agent}), "");
}

TEST(DeviceCheckTest, AContainerThatIsOlderThanTheMarkIsNotJudgedByIt) {
  const JournalEntry restarting = entry("s1", "M=2", 20);
  EXPECT_EQ(due_mark(created(19), {restarting}), "") << "it ends while the next one starts";
  EXPECT_EQ(due_mark(created(20), {restarting}), "M=2");
  EXPECT_EQ(due_mark(created(0), {restarting}), "M=2") << "the runtime does not say when";
}

TEST(DeviceCheckTest, OfSeveralAllocationsTheNewestStartCounts) {
  const std::vector<JournalEntry> journal{entry("s1", "M=1", 10), entry("s2", "M=2", 20)};
  EXPECT_EQ(due_mark(created(25), journal), "M=2");
  EXPECT_EQ(due_mark(created(15), journal), "M=1");
}

TEST(DeviceCheckTest, OnlyTheVeryVariableShowsTheDevice) {
  const char* const mark = "TANGRAM_START=8c0f";
  EXPECT_TRUE(shows({"PATH=/bin", mark}, mark));
  EXPECT_TRUE(shows({"TANGRAM_START=x", mark, "A=b"}, mark)) << "the device overrides the pod's";
  const std::vector<Environment> without = {{},
                                            {"TANGRAM_START="},
                                            {"TANGRAM_START=8c0f0"},
                                            {"MY_TANGRAM_START=8c0f"},
                                            {"X=TANGRAM_START=8c0f"},
                                            {"TANGRAM_ALLOCATION=slot-1.8c"},
                                            {"ANY=tangram.dev/slot=slot-1.8c"}};
  for (const Environment& environment : without) {
    EXPECT_FALSE(shows(environment, mark)) << environment.size();
  }
}

TEST(DeviceCheckTest, WhereAVariableCarriesTheDeviceItsLastValueCounts) {
  const char* const mark = "NVIDIA_VISIBLE_DEVICES=tangram.dev/slot=slot-1.8c";
  EXPECT_TRUE(shows({"NVIDIA_VISIBLE_DEVICES=all", mark}, mark));
  EXPECT_FALSE(shows({mark, "NVIDIA_VISIBLE_DEVICES=all"}, mark));
  EXPECT_FALSE(shows({"OTHER=tangram.dev/slot=slot-1.8c"}, mark));
}

}  // namespace
}  // namespace tangram::node
