#include "node/container/journal.hpp"

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node {
namespace {

JournalEntry pending(const std::string& name) {
  return {.name = name,
          .slots = {"slot-1", "slot-2"},
          .allocated_at = "2026-01-01T00:00:00Z",
          .claim = {}};
}

JournalEntry claimed(const std::string& name) {
  JournalEntry entry = pending(name);
  entry.claim = Claim{.pod_uid = "uid",
                      .ns = "ml",
                      .pod = "train-0",
                      .container = "main",
                      .grant = R"({"version":1,"quote":"\""})",
                      .spec = R"({"cdiVersion":"0.6.0"})",
                      .mark = "TANGRAM_START=8c0f",
                      .marked_at = 1'767'225'600'000'000'000,
                      .boot = "4f1c"};
  return entry;
}

class JournalTest : public ::testing::Test {
 protected:
  Journal open() {
    auto journal = Journal::open(folder.path() + "/allocations");
    EXPECT_TRUE(journal);
    return std::move(*journal);
  }
  testing::TempFolder folder;
};

TEST_F(JournalTest, RemembersOverARestart) {
  {
    Journal journal = open();
    ASSERT_TRUE(journal.put(pending("a")));
    ASSERT_TRUE(journal.put(pending("b")));
    ASSERT_TRUE(journal.put(claimed("b")));
    ASSERT_TRUE(journal.put(pending("c")));
    journal.erase("c");
    journal.erase("never there");
  }
  const Journal journal = open();
  EXPECT_EQ(journal.all(), (std::vector{pending("a"), claimed("b")}));
  EXPECT_EQ(journal.find("b"), claimed("b"));
  EXPECT_FALSE(journal.find("c"));
}

TEST_F(JournalTest, SetsAsideWhatCannotBeRead) {
  ASSERT_TRUE(open().put(pending("a")));
  const std::string folder_path = folder.path() + "/allocations/";
  ASSERT_TRUE(replace_file(folder_path + "torn.json", ""));
  ASSERT_TRUE(replace_file(folder_path + "newer.json", R"({"version":2,"name":"newer"})"));
  ASSERT_TRUE(replace_file(folder_path + "renamed.json", encode(pending("other"))));
  const Journal journal = open();
  EXPECT_EQ(journal.all(), std::vector{pending("a")});
  for (const char* name : {"torn", "newer", "renamed"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_path + name + ".json.bad")) << name;
  }
}

TEST_F(JournalTest, AnUnwritableFolderChangesNothing) {
  Journal journal = open();
  ASSERT_TRUE(journal.put(pending("a")));
  std::filesystem::remove_all(folder.path() + "/allocations");
  EXPECT_FALSE(journal.put(claimed("a")));
  EXPECT_EQ(journal.find("a"), pending("a"));
}

TEST_F(JournalTest, NeedsAFolder) {
  ASSERT_TRUE(replace_file(folder.path() + "/file", ""));
  EXPECT_FALSE(Journal::open(folder.path() + "/file/allocations"));
}

TEST_F(JournalTest, APodIsAwaitedNoLongerThanItsClaims) {
  Journal journal = open();
  ASSERT_TRUE(journal.put(claimed("a")));
  ASSERT_TRUE(journal.put(claimed("b")));
  journal.await_pod("uid");
  journal.erase("a");
  EXPECT_TRUE(journal.awaits_pod("uid"));
  journal.erase("b");
  EXPECT_FALSE(journal.awaits_pod("uid"));
}

}  // namespace
}  // namespace tangram::node
