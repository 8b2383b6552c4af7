#include "bench/demo/audit.hpp"

#include "tests/drawing/builders.hpp"

#include <gtest/gtest.h>

namespace tangram::bench::demo {
namespace {

constexpr const char* kCards =
    R"({"version":1,"cards":[{"id":"GPU-0","model":"T4","memMiB":1000,"maxSharers":2},)"
    R"({"id":"GPU-1","model":"T4","memMiB":1000,"cordoned":true},)"
    R"({"id":"GPU-2","model":"T4","memMiB":1000,"healthy":false}]})";

struct Granted {
  std::string uid = "u1";
  std::string node = "n";
  std::string mode = "mps";
  std::string uuid = "GPU-0";
  int mem = 100;
  int milli = 100;
  bool whole = false;
};

std::string grant(const Granted& granted) {
  return R"({"version":1,"podUID":")" + granted.uid + R"(","node":")" + granted.node +
         R"(","issuedAt":"2026-01-01T00:00:00Z","isolation":")" + granted.mode +
         R"(","containers":[{"name":"c","cards":[{"uuid":")" + granted.uuid + R"(","memMiB":)" +
         std::to_string(granted.mem) + R"(,"milli":)" + std::to_string(granted.milli) +
         R"(,"memLimitMiB":1000,"milliLimit":1000,"whole":)" + (granted.whole ? "true" : "false") +
         "}]}]}";
}

class AuditTest : public testing::Test {
 protected:
  AuditTest() { EXPECT_TRUE(audit.add_node("n", kCards)); }
  void bind(const Granted& granted) { audit.bound(granted.uid, "n", grant(granted)); }
  [[nodiscard]] std::string only_break() const {
    EXPECT_EQ(audit.broken().size(), 1U);
    return audit.broken().empty() ? "" : audit.broken().front();
  }
  Audit audit;
};

TEST_F(AuditTest, FindsNothingWrongWhereTwoShareACard) {
  bind({.uid = "u1", .mem = 500, .milli = 500});
  bind({.uid = "u2", .mem = 500, .milli = 500});
  EXPECT_TRUE(audit.broken().empty());
  EXPECT_GT(audit.checks(), 0U);
  EXPECT_EQ(audit.granted_milli(), 1000);
  EXPECT_EQ(audit.capacity_milli(), 3000);
}

TEST_F(AuditTest, FindsMemoryOverTheCards) {
  bind({.uid = "u1", .mem = 600});
  bind({.uid = "u2", .mem = 401});
  EXPECT_EQ(only_break(), "card GPU-0, with pod u2: 1001 MiB granted of 1000");
}

TEST_F(AuditTest, FindsComputeOverTheCards) {
  bind({.uid = "u1", .milli = 600});
  bind({.uid = "u2", .milli = 401});
  EXPECT_EQ(only_break(), "card GPU-0, with pod u2: 1001 milli granted of 1000");
}

TEST_F(AuditTest, FindsTooManySharers) {
  for (const char* uid : {"u1", "u2", "u3"}) bind({.uid = uid});
  EXPECT_EQ(only_break(), "card GPU-0, with pod u3: 3 sharers of at most 2");
}

TEST_F(AuditTest, FindsTwoModesOnOneCard) {
  bind({.uid = "u1", .mode = "mps"});
  bind({.uid = "u2", .mode = "time-slice"});
  EXPECT_EQ(only_break(), "card GPU-0, with pod u2: shared in two isolation modes at one time");
}

TEST_F(AuditTest, FindsACardSharedThatAContainerHasWhole) {
  bind({.uid = "u1", .whole = true});  // the card was smaller when it was granted
  EXPECT_TRUE(audit.broken().empty());
  bind({.uid = "u2"});
  EXPECT_EQ(only_break(), "card GPU-0, with pod u2: shared, though a container has it whole");
}

TEST_F(AuditTest, ForgivesAnotherModeAfterTheFirstIsGone) {
  bind({.uid = "u1", .mode = "mps"});
  audit.removed("u1");
  bind({.uid = "u2", .mode = "time-slice"});
  EXPECT_TRUE(audit.broken().empty());
}

TEST_F(AuditTest, FindsGrantsOfClosedCards) {
  bind({.uid = "u1", .uuid = "GPU-1"});
  bind({.uid = "u2", .uuid = "GPU-2"});
  EXPECT_EQ(audit.broken().size(), 2U);
}

TEST_F(AuditTest, FindsGrantsOfForeignCards) {
  bind({.uuid = "GPU-9"});
  EXPECT_EQ(only_break(), "pod u1: card GPU-9 is not on node n");
}

TEST_F(AuditTest, FindsGrantsForAnotherPodOrNode) {
  audit.bound("other", "n", grant({.uid = "u1"}));
  audit.bound("u2", "n", grant({.uid = "u2", .node = "m"}));
  ASSERT_EQ(audit.broken().size(), 2U);
  EXPECT_EQ(audit.broken()[0], "pod other: its grant was issued to u1");
  EXPECT_EQ(audit.broken()[1], "pod u2 is bound to node n, but its grant is for node m");
}

TEST_F(AuditTest, FindsGrantsThatCannotBeReadOrHoldNothing) {
  audit.bound("u1", "n", "{");
  EXPECT_EQ(only_break(), "pod u1: its grant cannot be read");
  audit.bound("u2", "n", R"({"podUID":"u2","node":"n","isolation":"mps","containers":[]})");
  EXPECT_EQ(audit.broken().size(), 2U);
}

TEST_F(AuditTest, FindsMissingGrantsAndSecondBinds) {
  audit.bound_without_grant("a/b");
  EXPECT_EQ(only_break(), "pod a/b requests a card and is bound without a grant");
  bind({});
  bind({});
  EXPECT_EQ(audit.broken().size(), 2U);
}

TEST_F(AuditTest, ComparesWhatIsShownWithTheGrants) {
  bind({.mem = 300, .milli = 200});
  drawing::ClusterView shown;
  shown.nodes.push_back({.name = "n", .cards = {}});
  shown.nodes[0].cards = {drawing::shown_card("GPU-0", "T4", 1000, {{"a", "x", 300, 200}}),
                          drawing::shown_card("GPU-1", "T4", 1000, {}),
                          drawing::shown_card("GPU-2", "T4", 1000, {})};
  audit.compare(shown);
  EXPECT_TRUE(audit.broken().empty());

  shown.nodes[0].cards[0].granted_milli = 199;
  audit.compare(shown);
  EXPECT_EQ(only_break(),
            "card GPU-0 of node n: 199 milli shown as granted, but the pods' grants sum to 200");
  shown.nodes[0].cards.pop_back();
  audit.compare(shown);
  EXPECT_EQ(audit.broken().back(), "3 cards are listed by the nodes, 2 are shown");
}

}  // namespace
}  // namespace tangram::bench::demo
