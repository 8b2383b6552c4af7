#include "node/cards/file_source.hpp"

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;
using namespace tangram::literals;
using Kind = Fault::Kind;

constexpr const char* kGood = R"(
version: 1
driver: "1.2"
cards:
- {id: CARD-a, model: Acme 1, memMiB: 16384, numa: 1, isolation: [none], maxSharers: 4}
- {id: CARD-b, model: Acme 1, memMiB: 16384, healthy: false, reason: smells burnt}
)";

/// A file that a test replaces.
class CardsFile {
 public:
  explicit CardsFile(const std::string& text) { play(text); }
  void play(const std::string& text) const { EXPECT_TRUE(replace_file(path(), text)); }
  [[nodiscard]] std::string path() const { return folder_.path() + "/cards.yaml"; }
  [[nodiscard]] std::string folder() const { return folder_.path(); }

 private:
  testing::TempFolder folder_;
};

TEST(CardFileTest, SpeaksTheWordsOfTheAnnotation) {
  const auto file = parse_card_file(kGood);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->inventory.driver, "1.2");
  ASSERT_EQ(file->inventory.cards.size(), 2U);
  const InstalledCard& first = file->inventory.cards[0];
  EXPECT_EQ(first.card.id, "CARD-a");
  EXPECT_EQ(first.card.model, "Acme 1");
  EXPECT_EQ(first.card.memory, 16'384_mib);
  EXPECT_EQ(first.total, 16'384_mib);
  EXPECT_EQ(first.card.numa_node, 1);
  EXPECT_EQ(first.card.max_sharers, 4);
  EXPECT_FALSE(first.card.isolation.has(model::Isolation::kMps));
  EXPECT_FALSE(file->inventory.cards[1].card.healthy);
  EXPECT_EQ(file->inventory.cards[1].card.unavailable_reason, "smells burnt");
}

TEST(CardFileTest, CardsOfAFileAreNotSharedByMps) {
  using model::Isolation;
  const auto file = parse_card_file(
      "version: 1\ncards:\n- {id: a, model: m, memMiB: 1}\n"
      "- {id: b, model: m, memMiB: 1, isolation: [mps, none]}\n");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->inventory.cards.at(0).card.isolation,
            (model::IsolationSet{Isolation::kTimeSlice, Isolation::kNone}));
  EXPECT_EQ(file->inventory.cards.at(1).card.isolation, model::IsolationSet{Isolation::kNone});
}

TEST(CardFileTest, JsonIsYamlToo) {
  EXPECT_TRUE(parse_card_file(R"({"version":1,"cards":[{"id":"a","model":"m","memMiB":1}]})"));
}

TEST(CardFileTest, FaultsHaveOneKind) {
  const auto file = parse_card_file(
      "version: 1\ncards: []\nfaults:\n- {card: a, xid: 79}\n- {ecc: true}\n- {card: b, lost: "
      "true}\n");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->faults,
            (std::vector<Fault>{
                {"a", Kind::kDriverError, 79}, {"", Kind::kEcc, 0}, {"b", Kind::kLost, 0}}));
}

class BadCardFileTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BadCardFileTest, SaysWhatToWrite) {
  const auto file = parse_card_file(GetParam());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::kInvalidArgument);
  EXPECT_NE(file.error().message.find("write"), std::string::npos) << file.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadCardFileTest,
    ::testing::Values("", "cards: [", "cards: []", "version: 1", "version: 1\ncards: [{id: a}]",
                      "version: 1\ncards: []\nfaults: [{card: a}]",
                      "version: 1\ncards: []\nfaults: [{card: a, xid: 1, ecc: true}]",
                      "version: 1\ncards: []\nfaults: [{carb: a, xid: 1}]"));

TEST(FileSourceTest, ReadsTheFileAgainWhenItChanged) {
  const CardsFile file(kGood);
  FileSource source(file.path());
  EXPECT_EQ(source.inventory()->cards.size(), 2U);
  file.play("version: 1\ncards: []\n");
  EXPECT_TRUE(source.inventory()->cards.empty());
}

TEST(FileSourceTest, ABadFileLeavesTheLastGoodOneInForce) {
  const CardsFile file(kGood);
  FileSource source(file.path());
  ASSERT_TRUE(source.inventory());
  file.play("nonsense");
  EXPECT_EQ(source.inventory()->cards.size(), 2U);
  std::filesystem::remove(file.path());
  EXPECT_EQ(source.inventory()->cards.size(), 2U);
}

TEST(FileSourceTest, WithoutAGoodFileItSaysWhy) {
  const CardsFile file("cards: []");
  FileSource source(file.path());
  const auto bad = source.inventory();
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Errc::kInvalidArgument);
  EXPECT_NE(bad.error().message.find(file.path()), std::string::npos);

  FileSource nowhere(file.folder() + "/none");
  EXPECT_EQ(nowhere.inventory().error().code, Errc::kUnavailable);
}

TEST(FileSourceTest, FaultsHappenOnceForEachFile) {
  const std::string faulty = std::string(kGood) + "faults: [{card: CARD-a, xid: 79}]\n";
  const CardsFile file(faulty);
  FileSource source(file.path());
  EXPECT_EQ(*source.wait_for_faults(0ms), (std::vector<Fault>{{"CARD-a", Kind::kDriverError, 79}}));
  EXPECT_TRUE(source.wait_for_faults(0ms)->empty());
  file.play(faulty);
  EXPECT_EQ(source.wait_for_faults(0ms)->size(), 1U);
}

TEST(FileSourceTest, AWaitingCallSeesANewFile) {
  const CardsFile file(kGood);
  FileSource source(file.path());
  std::jthread waiter([&] {
    EXPECT_EQ(*source.wait_for_faults(60s), (std::vector<Fault>{{"CARD-a", Kind::kLost, 0}}));
  });
  file.play(std::string(kGood) + "faults: [{card: CARD-a, lost: true}]\n");
}

TEST(FileSourceTest, KnowsNoUseAndNoComputeMode) {
  const CardsFile file(kGood);
  FileSource source(file.path());
  EXPECT_LT(source.activity("CARD-a")->utilization, 0);
  EXPECT_TRUE(source.activity("CARD-a")->processes.empty());
  EXPECT_EQ(source.activity("CARD-z").error().code, Errc::kNotFound);
  EXPECT_EQ(source.set_exclusive_process("CARD-a", true).error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace tangram::node
