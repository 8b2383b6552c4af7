#include "model/cards.hpp"

#include "tests/testing/builders.hpp"
#include "tests/testing/documents.hpp"

#include <gtest/gtest.h>

namespace tangram::model {
namespace {

using namespace tangram::literals;

Card example() {
  Card card;
  card.id = "GPU-1";
  card.model = "A100-SXM4-80GB";
  card.memory = 81'920_mib;
  card.healthy = false;
  card.cordoned = true;
  card.unavailable_reason = "XID 79: \"fell off the bus\"";
  card.numa_node = 1;
  card.pci_bus = "0000:17:00.0";
  card.links = {{.peer = "GPU-2", .type = "nvlink", .count = 12}};
  card.isolation = {Isolation::kMps, Isolation::kNone};
  card.max_sharers = 16;
  card.memory_limits = MemoryLimits::kLibrary;
  return card;
}

Card mig_instance() {
  Card card;
  card.id = "MIG-1";
  card.kind = CardKind::kMig;
  card.model = "A100-SXM4-80GB MIG 1g.10gb";
  card.memory = 9728_mib;
  card.parent = "GPU-2";
  card.isolation = {Isolation::kTimeSlice, Isolation::kNone};
  return card;
}

constexpr std::string_view kText =
    R"({"version":1,"cards":[{"id":"GPU-1","kind":"physical","model":"A100-SXM4-80GB",)"
    R"("memMiB":81920,"milli":1000,"healthy":false,"cordoned":true,)"
    R"("reason":"XID 79: \"fell off the bus\"","numa":1,"pci":"0000:17:00.0","parent":"",)"
    R"("links":[{"to":"GPU-2","type":"nvlink","count":12}],"isolation":["mps","none"],)"
    R"("maxSharers":16,"memoryLimits":"library"}]})";

TEST(CardsTest, AreWrittenAsDocumented) {
  EXPECT_EQ(encode_cards({example()}), kText);
  EXPECT_EQ(encode_cards({}), R"({"version":1,"cards":[]})");
}

TEST(CardsTest, ReadBackWhatWasWritten) {
  Card alone = testing::card("GPU-3", "H100");
  alone.compute_chunks = 16;
  alone.max_sharers = 16;
  alone.isolation = {};  // sharing forbidden: an empty list is not an absent one
  const std::vector<Card> cards{example(), mig_instance(), alone};
  const auto read = decode_cards(encode_cards(cards));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, cards);
}

TEST(CardsTest, ANodeMayHaveNoCards) {
  const auto read = decode_cards(R"({"version":1,"cards":[]})");
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->empty());
}

TEST(CardsTest, WhatIsNotSaidIsTheUsual) {
  const auto read =
      decode_cards(R"({"cards":[{"id":"GPU-1","model":"T4","memMiB":15360}],"version":1})");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1U);
  Card usual = testing::card("GPU-1", "T4", 15'360_mib);
  usual.memory_limits = MemoryLimits::kMps;
  EXPECT_EQ(read->front(), usual);
  EXPECT_TRUE(read->front().available());
  EXPECT_EQ(read->front().numa_node, -1);
  EXPECT_EQ(read->front().max_sharers, Card::kDefaultMaxSharers);
}

struct IsolationCase {
  std::string name;
  std::string members;
  IsolationSet modes;
};

class CardsIsolationTest : public ::testing::TestWithParam<IsolationCase> {};

TEST_P(CardsIsolationTest, AreTheModesOfTheCard) {
  const auto read = decode_cards(R"({"version":1,"cards":[{"id":"C","model":"T4","memMiB":1)" +
                                 GetParam().members + "}]}");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->front().isolation, GetParam().modes);
}

const IsolationSet kAll{Isolation::kMps, Isolation::kTimeSlice, Isolation::kNone};
const IsolationSet kNoMps{Isolation::kTimeSlice, Isolation::kNone};

INSTANTIATE_TEST_SUITE_P(
    All, CardsIsolationTest,
    ::testing::Values(
        IsolationCase{"AbsentOnPhysical", "", kAll},
        IsolationCase{"AbsentOnMig", R"(,"kind":"mig")", kNoMps},
        IsolationCase{"NullIsAbsent", R"(,"isolation":null,"kind":"mig")", kNoMps},
        IsolationCase{
            "SaidBeforeTheKind", R"(,"isolation":["mps"],"kind":"mig")", {Isolation::kMps}},
        IsolationCase{"Empty", R"(,"isolation":[])", {}},
        IsolationCase{
            "UnknownAreIgnored", R"(,"isolation":["vgpu","none","MPS"])", {Isolation::kNone}},
        IsolationCase{"Repeated", R"(,"isolation":["none","none"])", {Isolation::kNone}}),
    [](const auto& row) { return row.param.name; });

TEST(CardsTest, IgnoreMembersOfNewerPrograms) {
  std::string text(kText);
  text.insert(text.find("\"id\""), R"("power":{"watt":[300]},)");
  text.insert(text.find("\"to\""), R"("gbps":600,)");
  text.insert(1, R"("agent":"9.9",)");
  const auto read = decode_cards(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, std::vector<Card>{example()});
}

TEST(CardsTest, TheDocumentedExampleReads) {
  const auto cards = decode_cards(testing::example_in("annotations.md", R"({"version":1,"cards")"));
  ASSERT_TRUE(cards) << cards.error().message;
  EXPECT_EQ(cards->front().links.front().count, 12);
}

TEST(CardsTest, EveryTruncationIsRefused) {
  for (std::size_t size = 0; size < kText.size(); ++size) {
    EXPECT_FALSE(decode_cards(std::string(kText.substr(0, size)))) << size;
  }
}

std::vector<Card> many(std::size_t count) {
  std::vector<Card> cards;
  for (std::size_t i = 0; i < count; ++i) {
    cards.push_back(testing::card("GPU-" + std::to_string(i)));
  }
  return cards;
}

TEST(CardsTest, AsManyAsTheLimitAreReadAndNotOneMore) {
  const auto most = decode_cards(encode_cards(many(kMaxCardsPerNode)));
  ASSERT_TRUE(most) << most.error().message;
  EXPECT_EQ(most->size(), kMaxCardsPerNode);
  const auto more = decode_cards(encode_cards(many(kMaxCardsPerNode + 1)));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message, "cards: cards: more than 512 cards");
}

struct RefusedCase {
  std::string name;
  std::string from;  ///< a part of kText
  std::string to;    ///< what stands there instead
  std::string says;
};

TEST(CardsTest, NoMoreSharersThanChunksAreExactFor) {
  const auto sharers = [](int chunks) {
    Card card = testing::card("GPU-1", "B200");
    card.compute_chunks = chunks;
    return decode_cards(encode_cards({card}))->front().max_sharers;
  };
  EXPECT_EQ(sharers(1), 1);
  EXPECT_EQ(sharers(16), 16);
  EXPECT_EQ(sharers(37), 27);  // 999 / 36
  EXPECT_EQ(sharers(0), Card::kDefaultMaxSharers);
}

class CardsRefusedTest : public ::testing::TestWithParam<RefusedCase> {};

TEST(CardsTest, AReasonIsOneLine) {
  Card card;
  card.id = "GPU-1";
  card.model = "A100";
  card.memory = Mebibytes(1);
  card.unavailable_reason = "XID 79\nGPU-2  ok\xe2\x80\xae";
  const auto read = decode_cards(encode_cards({card}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->front().unavailable_reason, "XID 79?GPU-2  ok?");
}

TEST_P(CardsRefusedTest, NamesWhatIsWrong) {
  std::string text(kText);
  const auto at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, GetParam().from.size(), GetParam().to);
  const auto cards = decode_cards(text);
  ASSERT_FALSE(cards);
  EXPECT_EQ(cards.error().code, Errc::kInvalidArgument);
  EXPECT_NE(cards.error().message.find(GetParam().says), std::string::npos)
      << cards.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, CardsRefusedTest,
    ::testing::Values(
        RefusedCase{"NotJson", "{\"version\"", "[", "cards: not valid JSON"},
        RefusedCase{"NewerVersion", "\"version\":1", "\"version\":2",
                    "version: is 2, but this program knows only up to 1"},
        RefusedCase{"NoVersion", "\"version\"", "\"x\"", "member \"version\" is missing"},
        RefusedCase{"NoCards", "\"cards\"", "\"x\"", "member \"cards\" is missing"},
        RefusedCase{"NullCard", "[{\"id\"", "[null,{\"id\"", "member \"id\" is missing"},
        RefusedCase{"NoId", "\"id\"", "\"x\"", "member \"id\" is missing"},
        RefusedCase{"NoModel", "\"model\"", "\"x\"", "member \"model\" is missing"},
        RefusedCase{"NoMemory", "\"memMiB\"", "\"x\"", "member \"memMiB\" is missing"},
        RefusedCase{"EmptyId", "\"GPU-1\"", "\"\"", "cards.id: must not be empty"},
        RefusedCase{"LongId", "GPU-1", std::string(254, 'x'), "cards.id: has 254 characters"},
        RefusedCase{"IdWithADollar", "\"GPU-1\"", "\"$(x)\"",
                    "cards.id: \"$(x)\" cannot be a card's id; write letters, digits and - _ . :"},
        RefusedCase{"IdWithASpace", "\"GPU-1\"", "\"GPU 1\"", "cards.id: \"GPU 1\" cannot be"},
        RefusedCase{"IdWithALineEnd", "\"GPU-1\"", "\"GPU-1\\n:0\"", "cards.id: "},
        RefusedCase{"IdThatBeginsWithADash", "\"GPU-1\"", "\"-rf\"", "cards.id: \"-rf\""},
        RefusedCase{"IdWithASlash", "\"GPU-1\"", "\"GPU/1\"", "cards.id: \"GPU/1\""},
        RefusedCase{"IdAbove", "\"GPU-1\"", "\"..\"", "cards.id: \"..\""},
        RefusedCase{"ModelWithALineEnd", "A100-SXM4-80GB", "A100\\n", "cards.model: \"A100\\x0a\""},
        RefusedCase{"ModelWithABacktick", "A100-SXM4-80GB", "`x`",
                    "cards.model: \"`x`\" cannot be a card's model; write letters, digits, spaces "
                    "and - _ . : + / ( ) [ ]"},
        RefusedCase{"ModelWithAComma", "A100-SXM4-80GB", "A100,H100", "cards.model: \"A100,H100\""},
        RefusedCase{"PeerOfALink", "\"to\":\"GPU-2\"", "\"to\":\"GPU-2;\"", "links.to: \"GPU-2;\""},
        RefusedCase{"Parent", "\"parent\":\"\"", "\"parent\":\"`x`\"", "cards.parent: \"`x`\""},
        RefusedCase{"PciAddress", "0000:17:00.0", "0000:17:00.0 ", "cards.pci: \"0000:17"},
        RefusedCase{"UnknownKind", "physical", "virtual",
                    "\"virtual\" is not a kind of card; write physical or mig"},
        RefusedCase{"NoMemoryAtAll", "81920", "0",
                    "cards.memMiB: is 0; must be 1 to 1099511627776"},
        RefusedCase{"HugeMemory", "81920", "1099511627777", "cards.memMiB: is 1099511627777"},
        RefusedCase{"OtherMilli", "\"milli\":1000", "\"milli\":143",
                    "cards.milli: is 143; must be 1000 to 1000"},
        RefusedCase{"HealthAsText", "\"healthy\":false", "\"healthy\":\"no\"",
                    "cards.healthy: expected true or false"},
        RefusedCase{"LongReason", "XID 79", std::string(1024, 'r'), "cards.reason: has"},
        RefusedCase{"NumaBelow", "\"numa\":1", "\"numa\":-2", "cards.numa: is -2"},
        RefusedCase{"NumaAbove", "\"numa\":1", "\"numa\":4096", "cards.numa: is 4096"},
        RefusedCase{"LinkToNobody", "\"to\":\"GPU-2\",", "", "links: member \"to\" is missing"},
        RefusedCase{"NoLinks", "\"count\":12", "\"count\":0", "links.count: is 0"},
        RefusedCase{"NoSharers", "\"maxSharers\":16", "\"maxSharers\":0", "maxSharers: is 0"},
        RefusedCase{"TooManySharers", "\"maxSharers\":16", "\"maxSharers\":1001",
                    "maxSharers: is 1001; must be 1 to 1000"},
        RefusedCase{"TooManyChunks", "\"maxSharers\":16", "\"computeChunks\":501",
                    "computeChunks: is 501; must be 0 to 500"},
        RefusedCase{"IsolationNotText", "\"mps\"", "1", "isolation: expected a string"},
        RefusedCase{"MemoryLimitsNotText", "\"library\"", "[]", "memoryLimits: expected a string"},
        RefusedCase{"CardTwice", "}]}", R"(},{"id":"GPU-1","model":"T4","memMiB":1}]})",
                    "card \"GPU-1\" stands twice"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tangram::model
