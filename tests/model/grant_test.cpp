#include "model/grant.hpp"

#include "model/node_state.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/documents.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace tangram::model {
namespace {

using namespace tangram::literals;
using testing::granted;

Grant example() {
  Grant grant;
  grant.pod_uid = "0d4c7a3e-1111-2222-3333-444455556666";
  grant.node = "gpu-1";
  grant.issued_at = "2026-11-20T12:00:00Z";
  grant.isolation = Isolation::kMps;
  GrantedCard card = granted("GPU-1", 8192, 100);
  card.memory_limit = 16'384_mib;
  card.compute_limit = 500_mgpu;
  grant.containers.push_back({.container = "main", .cards = {card, granted("GPU-2", 8192, 100)}});
  grant.containers.push_back({.container = "side", .cards = {granted("GPU-1", 0, 0)}});
  return grant;
}

constexpr std::string_view kText =
    R"({"version":1,"podUID":"0d4c7a3e-1111-2222-3333-444455556666","node":"gpu-1",)"
    R"("issuedAt":"2026-11-20T12:00:00Z","isolation":"mps","containers":[)"
    R"({"name":"main","cards":[)"
    R"({"uuid":"GPU-1","memMiB":8192,"milli":100,"memLimitMiB":16384,"milliLimit":500},)"
    R"({"uuid":"GPU-2","memMiB":8192,"milli":100,"memLimitMiB":8192,"milliLimit":100}]},)"
    R"({"name":"side","cards":[)"
    R"({"uuid":"GPU-1","memMiB":0,"milli":0,"memLimitMiB":0,"milliLimit":0}]}]})";

TEST(GrantTest, IsWrittenInTheOneFormThatIsSigned) {
  EXPECT_EQ(encode(example()), kText);
  Grant grant = example();
  grant.signature = "c2ln";
  std::string text(kText.substr(0, kText.size() - 1));
  EXPECT_EQ(encode(grant), text + R"(,"sig":"c2ln"})");
}

TEST(GrantTest, SaysWhoHasACardAlone) {
  Grant grant = example();
  grant.containers.resize(1);
  grant.containers[0].cards[0].whole = true;
  grant.containers[0].cards[1].whole = false;
  const std::string text = encode(grant);
  EXPECT_NE(text.find(R"("milliLimit":500,"whole":true})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("milliLimit":100,"whole":false})"), std::string::npos) << text;
  EXPECT_EQ(*decode_grant(text), grant);
}

TEST(GrantTest, AnOlderGrantIsReadByItsSize) {
  const Grant older = *decode_grant(std::string(kText));
  const GrantedCard& part = older.containers[0].cards[1];
  EXPECT_TRUE(takes_whole(part, {.memory = 8192_mib, .compute = 100_mgpu}));
  EXPECT_FALSE(takes_whole(part, {.memory = 8193_mib, .compute = 100_mgpu}));
}

TEST(GrantTest, ReadsBackWhatWasWritten) {
  Grant grant = example();
  for (const std::string_view signature : {"", "c2lnbmF0dXJl=="}) {
    grant.signature = signature;
    const auto read = decode_grant(encode(grant));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, grant);
  }
}

TEST(GrantTest, ARevisionSaysWhatWasBefore) {
  Grant grant = example();
  grant.revision = 7;
  GrantedCard& part = grant.containers[0].cards[1];
  part.former = part.amounts();
  part.memory = 4096_mib;
  const std::string text = encode(grant);
  EXPECT_NE(text.find(R"("issuedAt":"2026-11-20T12:00:00Z","revision":7,"isolation")"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"({"uuid":"GPU-2","memMiB":4096,"milli":100,"memLimitMiB":8192,)"
                      R"("milliLimit":100,"former":{"memMiB":8192,"milli":100,)"
                      R"("memLimitMiB":8192,"milliLimit":100}})"),
            std::string::npos)
      << text;
  EXPECT_EQ(*decode_grant(text), grant);
}

TEST(GrantTest, FormerAmountsBelongToARevision) {
  Grant grant = example();
  grant.containers[0].cards[0].former = CardAmounts{};
  EXPECT_FALSE(decode_grant(encode(grant)));
  grant.revision = 1;
  EXPECT_TRUE(decode_grant(encode(grant)));
  grant.containers[0].cards[0].former->memory = 1_mib;  // above its limit
  EXPECT_FALSE(decode_grant(encode(grant)));
}

TEST(GrantTest, SaysThatTheFormerAmountsWereRefused) {
  Grant grant = example();
  grant.revision = 1;
  grant.former_refused = true;
  EXPECT_FALSE(decode_grant(encode(grant))) << "there are none";
  grant.containers[0].cards[0].former = CardAmounts{};
  EXPECT_NE(encode(grant).find(R"("revision":1,"formerRefused":true,"isolation")"),
            std::string::npos);
  EXPECT_EQ(*decode_grant(encode(grant)), grant);
}

TEST(GrantTest, SaysWhichBurstItsLimitsKeepTo) {
  Grant grant = example();
  EXPECT_EQ(encode(grant).find("maxBurst"), std::string::npos);
  grant.max_burst = 4;
  EXPECT_NE(encode(grant).find(R"("maxBurst":4,"isolation")"), std::string::npos);
  EXPECT_EQ(*decode_grant(encode(grant)), grant);
  grant.max_burst = 1001;
  EXPECT_FALSE(decode_grant(encode(grant)));
}

TEST(GrantTest, ARevisionIsOfTheSameCards) {
  const Grant first = example();
  const auto later = [&](const std::function<void(Grant&)>& change) {
    Grant grant = first;
    grant.revision = 1;
    change(grant);
    return revises(grant, first);
  };
  EXPECT_FALSE(revises(first, first));
  // Of a grant that does not say who has a card alone, no part can change.
  EXPECT_TRUE(later([](Grant&) {}));
  EXPECT_FALSE(later([](Grant& grant) { grant.containers[0].cards[0].memory = 1_mib; }));
  EXPECT_FALSE(later([](Grant& grant) { grant.revision = 0; }));
  EXPECT_FALSE(later([](Grant& grant) { grant.pod_uid = "another"; }));
  EXPECT_FALSE(later([](Grant& grant) { grant.node = "another"; }));
  EXPECT_FALSE(later([](Grant& grant) { grant.issued_at = "later"; }));
  EXPECT_FALSE(later([](Grant& grant) { grant.isolation = Isolation::kNone; }));
  EXPECT_FALSE(later([](Grant& grant) { grant.containers.pop_back(); }));
  EXPECT_FALSE(later([](Grant& grant) { grant.containers[0].container = "another"; }));
  EXPECT_FALSE(later([](Grant& grant) { grant.containers[0].cards.pop_back(); }));
  EXPECT_FALSE(later([](Grant& grant) { grant.containers[0].cards[0].uuid = "another"; }));
  EXPECT_FALSE(later([](Grant& grant) { grant.containers[0].cards[0].whole = false; }));
  EXPECT_FALSE(later(
      [](Grant& grant) { grant.containers[0].cards[0].memory_limits = MemoryLimits::kDriver; }));
}

TEST(GrantTest, OnlyASharesAmountsChange) {
  for (const bool whole : {false, true}) {
    Grant first = example();
    first.containers[0].cards[0].whole = whole;
    Grant later = first;
    later.revision = 1;
    later.containers[0].cards[0].memory = 1_mib;
    EXPECT_EQ(revises(later, first), !whole);
  }
}

TEST(GrantTest, NamesNeedNoCleanCharacters) {
  Grant grant = example();
  grant.node = "n\"\\\n\xc3\xa9";
  const auto read = decode_grant(encode(grant));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, grant);
}

TEST(GrantTest, IgnoresMembersOfNewerPrograms) {
  std::string text(kText);
  text.insert(text.find("\"uuid\""), R"("tier":{"a":[1]},)");
  text.insert(text.find("\"name\""), R"("ports":[],)");
  text.insert(1, R"("by":"x",)");
  const auto read = decode_grant(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, example());
}

TEST(GrantTest, TheDocumentedExampleReads) {
  const auto grant =
      decode_grant(testing::example_in("annotations.md", R"({"version":1,"podUID")"));
  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_EQ(grant->containers.front().cards.front().memory_limit, 16'384_mib);
}

TEST(GrantTest, EveryTruncationIsRefused) {
  for (std::size_t size = 0; size < kText.size(); ++size) {
    EXPECT_FALSE(decode_grant(std::string(kText.substr(0, size)))) << size;
  }
}

struct RefusedCase {
  std::string name;
  std::string from;  ///< a part of kText
  std::string to;    ///< what stands there instead
  std::string says;
};

class GrantRefusedTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(GrantRefusedTest, NamesWhatIsWrong) {
  std::string text(kText);
  const auto at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, GetParam().from.size(), GetParam().to);
  const auto grant = decode_grant(text);
  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().code, Errc::kInvalidArgument);
  EXPECT_NE(grant.error().message.find(GetParam().says), std::string::npos)
      << grant.error().message;
  EXPECT_LE(grant.error().message.size(), 250U);
}

INSTANTIATE_TEST_SUITE_P(
    All, GrantRefusedTest,
    ::testing::Values(
        RefusedCase{"NotJson", "{\"version\"", "version", "grant: not valid JSON"},
        RefusedCase{"NewerVersion", "\"version\":1", "\"version\":2",
                    "version: is 2, but this program knows only up to 1; upgrade it"},
        RefusedCase{"VersionZero", "\"version\":1", "\"version\":0", "version: is 0; must be 1"},
        RefusedCase{"VersionText", "\"version\":1", "\"version\":\"1\"",
                    "version: expected a whole number"},
        RefusedCase{"NoVersion", "\"version\":1,", "", "member \"version\" is missing"},
        RefusedCase{"NoPodUid", "\"podUID\"", "\"x\"", "member \"podUID\" is missing"},
        RefusedCase{"NoNode", "\"node\"", "\"x\"", "member \"node\" is missing"},
        RefusedCase{"NoTime", "\"issuedAt\"", "\"x\"", "member \"issuedAt\" is missing"},
        RefusedCase{"NoIsolation", "\"isolation\"", "\"x\"", "member \"isolation\" is missing"},
        RefusedCase{"NoContainers", "\"containers\"", "\"x\"", "member \"containers\" is missing"},
        RefusedCase{"EmptyNode", "\"gpu-1\"", "\"\"", "node: must not be empty"},
        RefusedCase{"LongNode", "gpu-1", std::string(254, 'n'),
                    "node: has 254 characters; at most 253 are allowed"},
        RefusedCase{"LongTime", "2026", std::string(64, '2'), "issuedAt: has"},
        RefusedCase{"UnknownIsolation", "\"mps\"", "\"all\"",
                    "isolation: \"all\" is not an isolation; write mps, time-slice or none"},
        RefusedCase{"NullContainer", "{\"name\":\"main\"", "null,{\"name\":\"main\"",
                    "containers: member \"name\" is missing"},
        RefusedCase{"ContainerTwice", "\"side\"", "\"main\"", "container \"main\" stands twice"},
        RefusedCase{"NoCards", "\"name\":\"main\",\"cards\"", "\"name\":\"main\",\"x\"",
                    "containers: member \"cards\" is missing"},
        RefusedCase{"CardTwice", "\"GPU-2\"", "\"GPU-1\"", "card \"GPU-1\" stands twice"},
        RefusedCase{"UuidWithADollar", "\"GPU-1\"", "\"$(x)\"",
                    "cards.uuid: \"$(x)\" cannot be a card's id"},
        RefusedCase{"UuidWithASlash", "\"GPU-1\"", "\"../1\"", "cards.uuid: \"../1\""},
        RefusedCase{"ContainerWithALineEnd", "\"side\"", "\"side\\n\"",
                    "containers.name: \"side\\x0a\" cannot be a container's name"},
        RefusedCase{"ContainerInCapitals", "\"side\"", "\"Side\"", "containers.name: \"Side\""},
        RefusedCase{"LongContainer", "\"side\"", "\"" + std::string(64, 's') + "\"",
                    "containers.name: "},
        RefusedCase{"NoUuid", "\"uuid\":\"GPU-1\",", "", "member \"uuid\" is missing"},
        RefusedCase{"NoLimit", ",\"milliLimit\":500", "", "member \"milliLimit\" is missing"},
        RefusedCase{"NegativeMemory", "8192", "-1",
                    "containers.cards.memMiB: is -1; must be 0 to 1099511627776"},
        RefusedCase{"HugeMemory", "16384", "1099511627777", "memLimitMiB: is 1099511627777"},
        RefusedCase{"PastInt64", "16384", "99999999999999999999", "the number is outside"},
        RefusedCase{"MilliAboveOne", "\"milliLimit\":500", "\"milliLimit\":1001",
                    "milliLimit: is 1001; must be 0 to 1000"},
        RefusedCase{"FractionalMilli", "\"milli\":100", "\"milli\":0.1",
                    "milli: expected a whole number"},
        RefusedCase{"MemoryLimitBelow", "16384", "8191",
                    "card \"GPU-1\": memLimitMiB is 8191MiB, below the granted 8192MiB"},
        RefusedCase{"ComputeLimitBelow", "\"milliLimit\":500", "\"milliLimit\":99",
                    "card \"GPU-1\": milliLimit is 99mGPU, below the granted 100mGPU"},
        RefusedCase{"MemberTwice", "\"milli\":100", "\"milli\":100,\"milli\":100",
                    "key \"milli\" stands twice"},
        RefusedCase{"LongSignature", "\"node\"",
                    "\"sig\":\"" + std::string(1025, 's') + "\",\"node\"",
                    "sig: has 1025 characters"}),
    [](const auto& row) { return row.param.name; });

TEST(GrantTest, HostileNamesNeitherFillNorForgeTheMessage) {
  Grant grant = example();
  const std::string hostile = "\x1b[2J\n" + std::string(200, 'x');
  for (GrantedCard& card : grant.containers.front().cards) card.uuid = hostile;
  const auto read = decode_grant(encode(grant));
  ASSERT_FALSE(read);
  EXPECT_LT(read.error().message.size(), 200U);
  EXPECT_NE(read.error().message.find(R"(uuid: "\x1b[2J\x0axxx)"), std::string::npos)
      << read.error().message;
}

}  // namespace
}  // namespace tangram::model
