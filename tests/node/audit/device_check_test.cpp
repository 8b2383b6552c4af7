#include "node/audit/device_check.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using Environment = std::vector<std::string>;

JournalEntry entry(const std::string& name, const std::string& uid = "uid-a",
                   const std::string& container = "main") {
  Claim claim;
  claim.pod_uid = uid;
  claim.container = container;
  claim.spec = R"({"env":["TANGRAM_ALLOCATION=)" + name + R"("]})";
  return {.name = name, .slots = {"slot-1"}, .allocated_at = "", .claim = claim};
}

const RuntimeContainer kMain{"c1", "uid-a", "ml", "a", "main"};

TEST(DeviceCheckTest, AContainerThatTheAgentLetStartMustHaveItsDevice) {
  EXPECT_TRUE(must_have_device(kMain, {entry("other", "uid-b"), entry("slot-1.8c")}));
  EXPECT_FALSE(must_have_device(kMain, {}));
  EXPECT_FALSE(must_have_device(kMain, {entry("slot-1.8c", "uid-b")})) << "another pod's";
  EXPECT_FALSE(must_have_device({"c2", "uid-a", "ml", "a", "plain"}, {entry("slot-1.8c")}));
}

TEST(DeviceCheckTest, WithoutAMarkInItsSpecNothingIsJudged) {
  JournalEntry allocated = entry("slot-1.8c");
  allocated.claim.reset();
  JournalEntry refused = entry("slot-1.8c");
  refused.claim->spec.clear();
  JournalEntry of_an_earlier_agent = entry("slot-1.8c");
  of_an_earlier_agent.claim->spec = R"({"env":["TANGRAM_CARD_UUIDS=GPU-1"]})";
  for (const JournalEntry& one : {allocated, refused, of_an_earlier_agent}) {
    EXPECT_FALSE(must_have_device(kMain, {one}));
  }
}

TEST(DeviceCheckTest, ItsNameInTheEnvironmentShowsTheDevice) {
  const std::vector<JournalEntry> journal{entry("slot-1.8c"), entry("slot-2.5f"),
                                          entry("slot-3.77", "uid-b")};
  EXPECT_TRUE(has_device(kMain, {"PATH=/bin", "TANGRAM_ALLOCATION=slot-1.8c"}, journal));
  EXPECT_TRUE(has_device(kMain, {"TANGRAM_ALLOCATION=slot-2.5f"}, journal)) << "allocated again";
  EXPECT_TRUE(has_device(kMain, {"NVIDIA_VISIBLE_DEVICES=tangram.dev/slot=slot-1.8c"}, journal));
  const std::vector<Environment> without = {{},
                                            {"TANGRAM_ALLOCATION=slot-3.77"},
                                            {"TANGRAM_ALLOCATION=x"},
                                            {"TANGRAM_ALLOCATION="},
                                            {"TANGRAM_ALLOCATION=slot-1.8c0"},
                                            {"MY_TANGRAM_ALLOCATION=slot-1.8c"},
                                            {"NVIDIA_VISIBLE_DEVICES=all"},
                                            {"NVIDIA_VISIBLE_DEVICES=void"}};
  for (const Environment& environment : without) {
    EXPECT_FALSE(has_device(kMain, environment, journal)) << environment.size();
  }
}

}  // namespace
}  // namespace tangram::node
