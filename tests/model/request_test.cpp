#include "model/request.hpp"

#include "tests/testing/builders.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::model {
namespace {

using namespace tangram::literals;
using testing::fraction;
using testing::memory;

using Containers = std::vector<ContainerInfo>;

const Containers kMain{{.name = "main"}};
/// An app container with the slot behind one that was put before it, and an init container.
const Containers kThree{
    {.name = "proxy"}, {.name = "main", .slots = 1}, {.name = "fetch", .ordinary_init = true}};

Result<GpuRequest> parse(const Annotations& annotations, const Containers& containers = kMain) {
  return parse_request(annotations, containers, {.default_isolation = Isolation::kMps});
}

std::string error_of(const Annotations& annotations, const Containers& containers = kMain) {
  const auto request = parse(annotations, containers);
  if (request) return "";
  EXPECT_EQ(request.error().code, Errc::kInvalidArgument);
  return request.error().message;
}

Share limited(Share share, std::optional<Mebibytes> memory_limit,
              std::optional<MilliGpu> compute_limit) {
  share.memory_limit = memory_limit;
  share.compute_limit = compute_limit;
  return share;
}
Share with_compute(Share share, std::int64_t milli) {
  share.compute = MilliGpu(milli);
  return share;
}

struct ReadCase {
  std::string name;
  Annotations annotations;
  std::vector<ContainerRequest> containers;
  Containers pod = kMain;
};

class RequestReadTest : public ::testing::TestWithParam<ReadCase> {};

TEST_P(RequestReadTest, AsksWhatTheAnnotationsSay) {
  const auto request = parse(GetParam().annotations, GetParam().pod);
  ASSERT_TRUE(request) << request.error().message;
  auto expected = GetParam().containers;
  for (ContainerRequest& each : expected) each.share.by_mps = true;
  EXPECT_EQ(request->containers, expected);
  EXPECT_EQ(request->isolation, Isolation::kMps);
  EXPECT_TRUE(request->models.empty());
  EXPECT_EQ(request->policy, "");
}

INSTANTIATE_TEST_SUITE_P(
    Shares, RequestReadTest,
    ::testing::Values(
        ReadCase{"Nothing", {}, {}}, ReadCase{"NoContainers", {}, {}, {}},
        ReadCase{"OthersAnnotations", {{"cards", "x"}, {"gpu", "y"}, {"rank", "z"}}, {}},
        ReadCase{"GrantIsNoRequest", {{"gpu-grant", "whatever"}}, {}},
        ReadCase{"Fraction", {{"gpu-fraction", "0.5"}}, {{"main", 1, fraction(500)}}},
        ReadCase{"SmallestFraction", {{"gpu-fraction", "0.001"}}, {{"main", 1, fraction(1)}}},
        ReadCase{"ThreeDecimals", {{"gpu-fraction", "0.125"}}, {{"main", 1, fraction(125)}}},
        ReadCase{"LeadingZeros", {{"gpu-fraction", "000.250"}}, {{"main", 1, fraction(250)}}},
        ReadCase{"FractionOne", {{"gpu-fraction", "1"}}, {{"main", 1, fraction(1000)}}},
        ReadCase{
            "FractionOnePointZero", {{"gpu-fraction", "1.000"}}, {{"main", 1, fraction(1000)}}},
        ReadCase{"Memory", {{"gpu-mem", "8Gi"}}, {{"main", 1, memory(8192)}}},
        ReadCase{"MemoryRoundsUp", {{"gpu-mem", "8G"}}, {{"main", 1, memory(7630)}}},
        ReadCase{"SmallestMemory", {{"gpu-mem", "1Mi"}}, {{"main", 1, memory(1)}}},
        ReadCase{"MemoryInBytes", {{"gpu-mem", "8589934592"}}, {{"main", 1, memory(8192)}}},
        ReadCase{"MemoryAndCompute",
                 {{"gpu-mem", "8Gi"}, {"gpu-compute", "0.3"}},
                 {{"main", 1, with_compute(memory(8192), 300)}}},
        ReadCase{"BestEffortCompute",
                 {{"gpu-mem", "8Gi"}, {"gpu-compute", "0"}},
                 {{"main", 1, with_compute(memory(8192), 0)}}},
        ReadCase{"WholeCards", {{"gpu-count", "2"}}, {{"main", 2, Share{}}}},
        ReadCase{"MostCards", {{"gpu-count", "64"}}, {{"main", 64, Share{}}}},
        ReadCase{"SeveralWholeFractions",
                 {{"gpu-count", "4"}, {"gpu-fraction", "1"}},
                 {{"main", 4, fraction(1000)}}},
        ReadCase{"Limits",
                 {{"gpu-mem", "8Gi"},
                  {"gpu-compute", "0.2"},
                  {"gpu-mem-limit", "16Gi"},
                  {"gpu-compute-limit", "0.5"}},
                 {{"main", 1, limited(with_compute(memory(8192), 200), 16'384_mib, 500_mgpu)}}},
        ReadCase{
            "LimitsOfAFraction",
            {{"gpu-fraction", "0.25"}, {"gpu-mem-limit", "1Mi"}, {"gpu-compute-limit", "0.25"}},
            {{"main", 1, limited(fraction(250), 1_mib, 250_mgpu)}}},
        // The compute that follows from the memory is known only when the card is.
        ReadCase{"ComputeLimitOfDerivedCompute",
                 {{"gpu-mem", "8Gi"}, {"gpu-compute-limit", "0.001"}},
                 {{"main", 1, limited(memory(8192), std::nullopt, 1_mgpu)}}}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Containers, RequestReadTest,
    ::testing::Values(ReadCase{"PlainMeansTheOneWithTheSlot",
                               {{"gpu-fraction", "0.5"}},
                               {{"main", 1, fraction(500)}},
                               kThree},
                      ReadCase{
                          "PlainMeansTheFirstWithoutSlots",
                          {{"gpu-fraction", "0.5"}},
                          {{"a", 1, fraction(500)}},
                          {{.name = "init", .ordinary_init = true}, {.name = "a"}, {.name = "b"}}},
                      ReadCase{"GpuContainerDecides",
                               {{"gpu-fraction", "0.5"}, {"gpu-container", "b"}},
                               {{"b", 1, fraction(500)}},
                               {{.name = "a"}, {.name = "b"}}},
                      ReadCase{"NamedForm",
                               {{"gpu-mem.main", "8Gi"}, {"gpu-compute.main", "0.5"}},
                               {{"main", 1, with_compute(memory(8192), 500)}},
                               kThree},
                      ReadCase{"EachItsOwnInThePodsOrder",
                               {{"gpu-fraction.b", "0.5"}, {"gpu-count.a", "2"}},
                               {{"a", 2, Share{}}, {"b", 1, fraction(500)}},
                               {{.name = "a"}, {.name = "b"}}},
                      ReadCase{"PlainBesideNamed",
                               {{"gpu-fraction", "0.5"}, {"gpu-fraction.b", "0.25"}},
                               {{"a", 1, fraction(500)}, {"b", 1, fraction(250)}},
                               {{.name = "a", .slots = 1}, {.name = "b", .slots = 1}}},
                      ReadCase{"GpuContainerBesideNamedOnly",
                               {{"gpu-fraction.a", "0.5"}, {"gpu-container", "a"}},
                               {{"a", 1, fraction(500)}},
                               {{.name = "a"}, {.name = "b"}}},
                      ReadCase{"ManySlotsAreOthersMatter",
                               {{"gpu-fraction", "0.5"}},
                               {{"main", 1, fraction(500)}},
                               {{.name = "main", .slots = 3}}}),
    [](const auto& row) { return row.param.name; });

TEST(RequestTest, ReadsThePreferencesOfThePod) {
  const auto request = parse({{"gpu-fraction", "0.5"},
                              {"gpu-model", " A100* ,H100*,! T4,RTX A6000"},
                              {"gpu-uuid", "GPU-5f2a* ,!GPU-77c1"},
                              {"gpu-policy", "binpack"},
                              {"gpu-isolation", "time-slice"},
                              {"gpu-memory-limits", "library"}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->models, (std::vector<std::string>{"A100*", "H100*", "!T4", "RTX A6000"}));
  EXPECT_EQ(request->card_ids, (std::vector<std::string>{"GPU-5f2a*", "!GPU-77c1"}));
  EXPECT_EQ(request->policy, "binpack");
  EXPECT_EQ(request->isolation, Isolation::kTimeSlice);
  EXPECT_EQ(request->memory_limits, MemoryLimits::kLibrary);
  EXPECT_TRUE(request->asks_gpu());
}

TEST(RequestTest, TakesTheClustersIsolationUnlessThePodChooses) {
  for (const Isolation mode : kAllIsolationModes) {
    EXPECT_EQ(parse_request({{"gpu-count", "1"}}, kMain, {.default_isolation = mode})->isolation,
              mode);
    EXPECT_EQ(parse_request({{"gpu-count", "1"}, {"gpu-isolation", "none"}}, kMain,
                            {.default_isolation = mode})
                  ->isolation,
              Isolation::kNone);
  }
}

TEST(RequestTest, SharesOfSeveralCardsNeedAnotherModeThanMps) {
  const Annotations quarters{{"gpu-count", "4"}, {"gpu-fraction", "0.25"}};
  for (const Isolation mode : {Isolation::kTimeSlice, Isolation::kNone}) {
    const auto request = parse_request(quarters, kMain, {.default_isolation = mode});
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->containers, (std::vector<ContainerRequest>{{"main", 4, fraction(250)}}));
  }
  EXPECT_EQ(
      error_of(quarters),
      "container \"main\" asks for shares of 4 cards, and mps can hold a container to a share "
      "of one card only; write tangram.dev/gpu-isolation: time-slice, or "
      "tangram.dev/gpu-count alone for whole cards");
  EXPECT_NE(error_of({{"gpu-count", "2"}, {"gpu-mem", "8Gi"}}), "");
}

TEST(RequestTest, ReadsTheCountOfEachContainer) {
  const auto request =
      parse({{"gpu-count.a", "2"}, {"gpu-fraction.b", "0.5"}}, {{.name = "a"}, {.name = "b"}});
  ASSERT_TRUE(request);
  ASSERT_EQ(request->containers.size(), 2U);
  EXPECT_EQ(request->containers[0].count, 2);
  EXPECT_EQ(request->containers[1].count, 1);
}

struct RefusedCase {
  std::string name;
  Annotations annotations;
  std::string message;
  Containers pod = kMain;
};

class RequestRefusedTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(RequestRefusedTest, SaysWhatToWrite) {
  EXPECT_EQ(error_of(GetParam().annotations, GetParam().pod), GetParam().message);
}

// A macro, since only literals join: the messages below are whole, as users see them.
#define FULL "tangram.dev/"

INSTANTIATE_TEST_SUITE_P(
    Fractions, RequestRefusedTest,
    ::testing::Values(
        RefusedCase{"FourDecimals",
                    {{"gpu-fraction", "0.3333"}},
                    FULL "gpu-fraction: \"0.3333\" has more than three decimals; write 0.333"},
        RefusedCase{"FourDecimalsOfZero",
                    {{"gpu-fraction", "0.5000"}},
                    FULL "gpu-fraction: \"0.5000\" has more than three decimals; write 0.5"},
        RefusedCase{"TooFineToCut",
                    {{"gpu-fraction", "0.0004"}},
                    FULL "gpu-fraction: \"0.0004\" has more than three decimals; write 0.001"},
        RefusedCase{"FractionZero",
                    {{"gpu-fraction", "0"}},
                    FULL "gpu-fraction: \"0\" is too small; write a number from 0.001 to 1"},
        RefusedCase{"FractionTwo",
                    {{"gpu-fraction", "2"}},
                    FULL "gpu-fraction: \"2\" is more than 1; write 1, and " FULL
                         "gpu-count for several cards"},
        RefusedCase{"JustAboveOne",
                    {{"gpu-fraction", "1.0001"}},
                    FULL "gpu-fraction: \"1.0001\" is more than 1; write 1, and " FULL
                         "gpu-count for several cards"},
        RefusedCase{"Percent",
                    {{"gpu-fraction", "50%"}},
                    FULL "gpu-fraction: \"50%\" is not a decimal number; write one from 0.001 to "
                         "1, such as 0.5"},
        RefusedCase{"FractionEmpty",
                    {{"gpu-fraction", ""}},
                    FULL "gpu-fraction: \"\" is not a decimal number; write one from 0.001 to 1, "
                         "such as 0.5"},
        RefusedCase{"ComputeAboveOne",
                    {{"gpu-mem", "8Gi"}, {"gpu-compute", "1.5"}},
                    FULL "gpu-compute: \"1.5\" is more than 1; write 1, which is all of the card"},
        RefusedCase{"ComputeTooFine",
                    {{"gpu-mem", "8Gi"}, {"gpu-compute", "0.0001"}},
                    FULL "gpu-compute: \"0.0001\" has more than three decimals; write 0.001"},
        RefusedCase{"ComputeZeroTooFine",
                    {{"gpu-mem", "8Gi"}, {"gpu-compute", "0.0000"}},
                    FULL "gpu-compute: \"0.0000\" has more than three decimals; write 0"},
        RefusedCase{"LimitZero",
                    {{"gpu-mem", "8Gi"}, {"gpu-compute-limit", "0"}},
                    FULL "gpu-compute-limit: \"0\" is too small; write a number from 0.001 to 1"}),
    [](const auto& row) { return row.param.name; });

class RequestNotADecimalTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RequestNotADecimalTest, IsRefused) {
  EXPECT_NE(error_of({{"gpu-fraction", GetParam()}}).find("is not a decimal number"),
            std::string::npos)
      << GetParam();
}

INSTANTIATE_TEST_SUITE_P(All, RequestNotADecimalTest,
                         ::testing::Values(".", ".5", "0.", "1.", "-0.5", "+0.5", "0,5", "5e-1",
                                           "500m", " 0.5", "0.5 ", "0.5.5", "half", "0x1",
                                           "\xd9\xa1", std::string("1\0", 2), "nan"));

INSTANTIATE_TEST_SUITE_P(
    Memory, RequestRefusedTest,
    ::testing::Values(
        RefusedCase{
            "EightBytes", {{"gpu-mem", "8"}}, FULL "gpu-mem: \"8\" means 8 bytes; write 8Gi"},
        RefusedCase{"ManyBytes",
                    {{"gpu-mem", "8192"}},
                    FULL "gpu-mem: \"8192\" means 8192 bytes; write 8192Mi"},
        RefusedCase{"NearlyAMebibyte",
                    {{"gpu-mem", "1048575"}},
                    FULL "gpu-mem: \"1048575\" means 1048575 bytes; write an amount such as 8Gi"},
        RefusedCase{"Kilobytes",
                    {{"gpu-mem", "100Ki"}},
                    FULL "gpu-mem: \"100Ki\" is less than 1Mi; write an amount such as 8Gi"},
        RefusedCase{"MemoryZero",
                    {{"gpu-mem", "0"}},
                    FULL "gpu-mem: \"0\" is less than 1Mi; write an amount such as 8Gi"},
        RefusedCase{"UnknownUnit",
                    {{"gpu-mem", "8GB"}},
                    FULL "gpu-mem: \"8GB\" is not an amount of memory that Kubernetes knows; "
                         "write a number with a unit, such as 8Gi"},
        RefusedCase{"NegativeMemory",
                    {{"gpu-mem", "-8Gi"}},
                    FULL "gpu-mem: \"-8Gi\" is not an amount of memory that Kubernetes knows; "
                         "write a number with a unit, such as 8Gi"},
        RefusedCase{"SmallLimit",
                    {{"gpu-mem", "8Gi"}, {"gpu-mem-limit", "16"}},
                    FULL "gpu-mem-limit: \"16\" means 16 bytes; write 16Gi"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Counts, RequestRefusedTest,
    ::testing::Values(
        RefusedCase{"NoCards",
                    {{"gpu-count", "0"}},
                    FULL "gpu-count: \"0\" is not a number of cards; write a whole number from 1 "
                         "to 64"},
        RefusedCase{"TooManyCards",
                    {{"gpu-count", "65"}},
                    FULL "gpu-count: \"65\" is not a number of cards; write a whole number from 1 "
                         "to 64"},
        RefusedCase{"HalfACard",
                    {{"gpu-count", "0.5"}},
                    FULL "gpu-count: \"0.5\" is not a number of cards; write a whole number from "
                         "1 to 64"},
        RefusedCase{"HugeCount",
                    {{"gpu-count", "99999999999"}},
                    FULL "gpu-count: \"99999999999\" is not a number of cards; write a whole "
                         "number from 1 to 64"},
        RefusedCase{"EmptyCount",
                    {{"gpu-count", ""}},
                    FULL "gpu-count: \"\" is not a number of cards; write a whole number from 1 "
                         "to 64"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Together, RequestRefusedTest,
    ::testing::Values(
        RefusedCase{"FractionAndMemory",
                    {{"gpu-fraction", "0.5"}, {"gpu-mem", "8Gi"}},
                    FULL "gpu-fraction: \"0.5\" and " FULL "gpu-mem \"8Gi\" both say how much "
                         "memory; write only one of them"},
        RefusedCase{"ComputeAlone",
                    {{"gpu-compute", "0.5"}},
                    FULL "gpu-compute: \"0.5\" needs a " FULL "gpu-mem beside it; write that too, "
                         "or " FULL "gpu-fraction instead"},
        RefusedCase{"ComputeOfAFraction",
                    {{"gpu-fraction", "0.5"}, {"gpu-compute", "0.5"}},
                    FULL "gpu-compute: \"0.5\" has no meaning beside " FULL "gpu-fraction, which "
                         "is a share of compute too; remove it, or write " FULL
                         "gpu-mem instead of the fraction"},
        RefusedCase{"LimitAlone",
                    {{"gpu-mem-limit", "8Gi"}},
                    FULL "gpu-mem-limit: \"8Gi\" limits a share that is not there; write " FULL
                         "gpu-fraction or " FULL "gpu-mem too"},
        RefusedCase{"LimitOfWholeCards",
                    {{"gpu-count", "2"}, {"gpu-compute-limit", "0.5"}},
                    FULL "gpu-compute-limit: \"0.5\" has no meaning for whole cards; remove it, "
                         "or write " FULL "gpu-fraction or " FULL "gpu-mem too"},
        RefusedCase{"MemoryLimitBelow",
                    {{"gpu-mem", "8Gi"}, {"gpu-mem-limit", "4Gi"}},
                    FULL "gpu-mem-limit: \"4Gi\" is less than the request; write at least the "
                         "same as " FULL "gpu-mem"},
        RefusedCase{"ComputeLimitBelow",
                    {{"gpu-mem", "8Gi"}, {"gpu-compute", "0.5"}, {"gpu-compute-limit", "0.4"}},
                    FULL "gpu-compute-limit: \"0.4\" is less than the request; write at least the "
                         "same as " FULL "gpu-compute"},
        RefusedCase{"ComputeLimitBelowFraction",
                    {{"gpu-fraction.main", "0.5"}, {"gpu-compute-limit.main", "0.499"}},
                    FULL "gpu-compute-limit.main: \"0.499\" is less than the request; write at "
                         "least the same as " FULL "gpu-fraction.main"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Preferences, RequestRefusedTest,
    ::testing::Values(
        RefusedCase{"EmptyModelItem",
                    {{"gpu-count", "1"}, {"gpu-model", "A100*,,T4"}},
                    FULL "gpu-model: \"A100*,,T4\" has an empty item; write models with one comma "
                         "between, such as A100*,!T4"},
        RefusedCase{"NoModel",
                    {{"gpu-count", "1"}, {"gpu-model", ""}},
                    FULL "gpu-model: \"\" has an empty item; write models with one comma "
                         "between, such as A100*,!T4"},
        RefusedCase{"LoneExclamation",
                    {{"gpu-count", "1"}, {"gpu-model", "T4,! "}},
                    FULL "gpu-model: \"! \" excludes nothing; write a model after the '!', such "
                         "as !T4"},
        RefusedCase{"UnprintableModel",
                    {{"gpu-count", "1"}, {"gpu-model", "T\x01"}},
                    FULL "gpu-model: \"T\\x01\" cannot be the name of a card model; write at most "
                         "128 printable ASCII characters"},
        RefusedCase{"EmptyUuidItem",
                    {{"gpu-count", "1"}, {"gpu-uuid", "GPU-5f2a,"}},
                    FULL "gpu-uuid: \"GPU-5f2a,\" has an empty item; write UUIDs with one comma "
                         "between, such as GPU-5f2a*,!GPU-77c1*"},
        RefusedCase{"ExclamationBeforeNoUuid",
                    {{"gpu-count", "1"}, {"gpu-uuid", "!"}},
                    FULL "gpu-uuid: \"!\" excludes nothing; write a UUID after the '!', such as "
                         "!GPU-77c1*"},
        RefusedCase{"UnprintableUuid",
                    {{"gpu-count", "1"}, {"gpu-uuid", "GPU\x01"}},
                    FULL "gpu-uuid: \"GPU\\x01\" cannot be the UUID of a card; write at most 128 "
                         "printable ASCII characters"},
        RefusedCase{"UuidOfOneContainer",
                    {{"gpu-count", "1"}, {"gpu-uuid.main", "GPU-1"}},
                    FULL "gpu-uuid.main: is for the whole pod, not for one container; write " FULL
                         "gpu-uuid"},
        RefusedCase{"PolicyWithCapitals",
                    {{"gpu-count", "1"}, {"gpu-policy", "BinPack"}},
                    FULL "gpu-policy: \"BinPack\" cannot be the name of a policy; write "
                         "lower-case letters, digits and '-', beginning with a letter, such as "
                         "binpack"},
        RefusedCase{"NoPolicy",
                    {{"gpu-count", "1"}, {"gpu-policy", ""}},
                    FULL "gpu-policy: \"\" cannot be the name of a policy; write lower-case "
                         "letters, digits and '-', beginning with a letter, such as binpack"},
        RefusedCase{"UnknownIsolation",
                    {{"gpu-count", "1"}, {"gpu-isolation", "MPS"}},
                    FULL "gpu-isolation: \"MPS\" is not an isolation; write mps, time-slice or "
                         "none"},
        RefusedCase{"NoMemoryLimits",
                    {{"gpu-count", "1"}, {"gpu-memory-limits", "none"}},
                    FULL "gpu-memory-limits: \"none\" is no means of memory limits; write mps, "
                         "library or driver"},
        RefusedCase{"OnlyAPreference",
                    {{"gpu-model", "A100"}},
                    FULL "gpu-model: nothing says how much GPU the pod asks for; write " FULL
                         "gpu-fraction: \"0.5\", " FULL "gpu-mem: \"8Gi\" or " FULL
                         "gpu-count: \"1\""}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Names, RequestRefusedTest,
    ::testing::Values(
        RefusedCase{"Misspelt",
                    {{"gpu-fracton", "0.5"}},
                    FULL "gpu-fracton: there is no such annotation; write " FULL "gpu-fraction"},
        RefusedCase{"AnotherWord",
                    {{"gpu-memory", "8Gi"}},
                    FULL "gpu-memory: there is no such annotation; write " FULL "gpu-mem"},
        RefusedCase{"MisspeltOfAContainer",
                    {{"gpu-fracton.main", "0.5"}},
                    FULL "gpu-fracton.main: there is no such annotation; write " FULL
                         "gpu-fraction"},
        RefusedCase{"NothingNear",
                    {{"gpu-something-else", "1"}},
                    FULL
                    "gpu-something-else: there is no such annotation; there are gpu-fraction "
                    "gpu-mem gpu-compute gpu-count gpu-replica gpu-mem-limit gpu-compute-limit "
                    "gpu-model gpu-uuid gpu-policy gpu-isolation gpu-memory-limits gpu-container"},
        RefusedCase{"GrantOfAContainer",
                    {{"gpu-grant.main", "x"}},
                    FULL "gpu-grant.main: there is no such annotation; write " FULL "gpu-count"},
        RefusedCase{"PodWideForOneContainer",
                    {{"gpu-count", "1"}, {"gpu-model.main", "T4"}},
                    FULL "gpu-model.main: is for the whole pod, not for one container; write " FULL
                         "gpu-model"},
        RefusedCase{"NoName",
                    {{"gpu-fraction.", "0.5"}},
                    FULL "gpu-fraction.: names no container after the '.'; write " FULL
                         "gpu-fraction.NAME"},
        RefusedCase{"UnknownContainer",
                    {{"gpu-fraction.mian", "0.5"}},
                    FULL "gpu-fraction.mian: there is no container \"mian\"; write one of main"},
        RefusedCase{"UnknownGpuContainer",
                    {{"gpu-fraction", "0.5"}, {"gpu-container", "gpu"}},
                    FULL "gpu-container: there is no container \"gpu\"; write one of proxy main",
                    kThree},
        RefusedCase{"InitContainer",
                    {{"gpu-fraction", "0.5"}, {"gpu-fraction.fetch", "0.5"}},
                    FULL "gpu-fraction.fetch: \"fetch\" is an init container, and those cannot "
                         "hold a card after they end; name one of proxy main",
                    kThree},
        RefusedCase{"GpuContainerIsInit",
                    {{"gpu-count", "1"}, {"gpu-container", "fetch"}},
                    FULL "gpu-container: \"fetch\" is an init container, and those cannot hold a "
                         "card after they end; name one of proxy main",
                    kThree},
        RefusedCase{"NoContainerAtAll",
                    {{"gpu-fraction", "0.5"}},
                    FULL "gpu-fraction: the pod has no container that can hold a card",
                    {}},
        RefusedCase{"PlainAndNamed",
                    {{"gpu-fraction", "0.5"}, {"gpu-mem.main", "8Gi"}},
                    FULL "gpu-fraction and " FULL "gpu-mem.main are both for container \"main\"; "
                         "write " FULL "gpu-fraction.main, or name another container in " FULL
                         "gpu-container"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Slots, RequestRefusedTest,
    ::testing::Values(
        RefusedCase{"NoRequestAtAll",
                    {},
                    "container \"main\" has a " FULL "gpu-slot but no annotation says how much "
                    "GPU it gets; write " FULL "gpu-fraction: \"0.5\", " FULL
                    "gpu-mem: \"8Gi\" or " FULL "gpu-count: \"1\"",
                    kThree},
        RefusedCase{"OnlyOthersAsk",
                    {{"gpu-fraction.proxy", "0.5"}},
                    "container \"main\" has a " FULL
                    "gpu-slot but no request of its own; write " FULL
                    "gpu-fraction.main: \"0.5\", or remove the slot",
                    kThree},
        RefusedCase{"SecondSlotWithOnlyAPlainForm",
                    {{"gpu-fraction", "0.5"}},
                    "container \"b\" has a " FULL "gpu-slot but no request of its own; write " FULL
                    "gpu-fraction.b: \"0.5\", or remove the slot",
                    {{.name = "a", .slots = 1}, {.name = "b", .slots = 1}}},
        RefusedCase{"InitContainerWithASlot",
                    {{"gpu-fraction", "0.5"}},
                    "container \"init\" has a " FULL "gpu-slot but is an init container, and "
                    "those cannot hold a card after they end; remove it",
                    {{.name = "main"}, {.name = "init", .slots = 1, .ordinary_init = true}}}),
    [](const auto& row) { return row.param.name; });

TEST(RequestTest, TellsEveryMistakeAtOnce) {
  const std::string message = error_of({{"gpu-fraction", "0.3333"},
                                        {"gpu-count", "none"},
                                        {"gpu-isolation", "all"},
                                        {"gpu-modle", "T4"}},
                                       kThree);
  EXPECT_EQ(message, FULL
            "gpu-modle: there is no such annotation; write " FULL "gpu-model; " FULL
            "gpu-count: \"none\" is not a number of cards; write a whole number from 1 to "
            "64; " FULL "gpu-fraction: \"0.3333\" has more than three decimals; write 0.333; " FULL
            "gpu-isolation: \"all\" is not an isolation; write mps, time-slice or none");
}

TEST(RequestTest, AMisreadShareBringsNoFurtherMistakes) {
  EXPECT_EQ(error_of({{"gpu-fraction", "x"}, {"gpu-compute-limit", "0.5"}}),
            error_of({{"gpu-fraction", "x"}}));
  EXPECT_EQ(error_of({{"gpu-mem", "x"}, {"gpu-mem-limit", "1Gi"}}), error_of({{"gpu-mem", "x"}}));
}

TEST(RequestTest, LimitsTheContainersThatMayAsk) {
  Containers pod;
  Annotations annotations;
  for (int i = 0; i < kMaxGpuContainers; ++i) {
    pod.push_back({.name = "c" + std::to_string(i)});
    annotations["gpu-fraction." + pod.back().name] = "0.5";
  }
  ASSERT_TRUE(parse(annotations, pod));
  pod.push_back({.name = "more"});
  annotations["gpu-fraction.more"] = "0.5";
  EXPECT_EQ(error_of(annotations, pod),
            "the pod asks for GPUs in 17 containers; at most 16 can have some");
}

TEST(RequestTest, LimitsTheModels) {
  std::string globs = "m";
  for (std::size_t i = 1; i < kMaxGlobs; ++i) globs += ",m";
  EXPECT_EQ(parse({{"gpu-count", "1"}, {"gpu-model", globs}})->models.size(), kMaxGlobs);
  const std::string message = error_of({{"gpu-count", "1"}, {"gpu-model", globs + ",m"}});
  EXPECT_NE(message.find("has too many models; write at most 32"), std::string::npos) << message;
  const std::string longest(128, 'm');
  EXPECT_EQ(error_of({{"gpu-count", "1"}, {"gpu-model", longest}}), "");
  EXPECT_NE(error_of({{"gpu-count", "1"}, {"gpu-model", longest + "m"}}), "");
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

TEST(RequestTest, HostileValuesNeitherFillNorForgeTheMessage) {
  const std::string hostile = std::string(100'000, '9') + "\n\x1b[2J\"; all is well";
  for (const std::string_view key :
       {"gpu-fraction", "gpu-mem", "gpu-compute", "gpu-count", "gpu-mem-limit", "gpu-compute-limit",
        "gpu-model", "gpu-policy", "gpu-isolation", "gpu-memory-limits", "gpu-container"}) {
    const std::string message = error_of({{std::string(key), hostile}});
    EXPECT_NE(message.find("999..."), std::string::npos) << key << ": " << message;
    EXPECT_EQ(message.find(std::string(65, '9')), std::string::npos) << key;
    EXPECT_LT(message.size(), 700U) << key;
    EXPECT_TRUE(printable(message)) << key;
  }
}

TEST(RequestTest, HostileKeysNeitherFillNorForgeTheMessage) {
  const std::string hostile = std::string(100'000, 'x') + "\n";
  for (const std::string& key : {"gpu-" + hostile, "gpu-fraction." + hostile}) {
    const std::string message = error_of({{key, "0.5"}});
    EXPECT_LT(message.size(), 500U);
    EXPECT_TRUE(printable(message));
  }
}

TEST(RequestTest, ManyMistakesAreCountedNotListed) {
  Annotations annotations;
  for (int i = 0; i < 5000; ++i) annotations["gpu-zzzzzzzzzz" + std::to_string(i)] = "";
  const std::string message = error_of(annotations);
  EXPECT_LT(message.size(), 6000U);
  EXPECT_TRUE(message.ends_with("; and 4980 more")) << message;
}

TEST(RequestTest, EveryThousandthOfACardReadsBack) {
  for (int milli = 1; milli <= 1000; ++milli) {
    std::string text = std::to_string(milli / 1000) + ".";
    text += std::to_string(1000 + milli % 1000).substr(1);
    const auto request = parse({{"gpu-fraction", text}});
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->containers.front().share.fraction, MilliGpu(milli));
  }
}

}  // namespace
}  // namespace tangram::model
