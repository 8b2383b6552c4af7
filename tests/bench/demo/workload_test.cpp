#include "bench/demo/workload.hpp"

#include "source_dir.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace tangram::bench::demo {
namespace {

std::string pod(const std::string& metadata) {
  return "apiVersion: v1\nkind: Pod\nmetadata: " + metadata +
         "\nspec: {containers: [{name: main}]}\n";
}

const std::string kGood =
    R"({namespace: ml, generateName: train-, annotations: {tangram.dev/gpu-mem: 8Gi, )"
    R"(tangram.dev/gpu-compute: "0.4", demo.tangram.dev/weight: "3", demo.tangram.dev/lifetime: "10"}})";

std::string file(const std::string& path) {
  const std::ifstream in(std::string(TANGRAM_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(PodKindsTest, ReadsWhatAPodAsksForAndHowOftenItComes) {
  const auto kinds = read_pod_kinds(pod(kGood));
  ASSERT_TRUE(kinds) << kinds.error().message;
  ASSERT_EQ(kinds->size(), 1U);
  EXPECT_EQ(kinds->front().ns, "ml");
  EXPECT_EQ(kinds->front().name, "train");
  EXPECT_EQ(kinds->front().request, "mem=8Gi compute=0.4");
  EXPECT_EQ(kinds->front().weight, 3U);
  EXPECT_EQ(kinds->front().lifetime, 10);
}

struct BadCase {
  std::string name;
  std::string yaml;
  std::string message;
};
class BadPodKindsTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadPodKindsTest, AreRejectedWithWhatToWrite) {
  const auto kinds = read_pod_kinds(GetParam().yaml);
  ASSERT_FALSE(kinds);
  EXPECT_EQ(kinds.error().code, Errc::kInvalidArgument);
  EXPECT_NE(kinds.error().message.find(GetParam().message), std::string::npos)
      << kinds.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadPodKindsTest,
    testing::Values(
        BadCase{"NoPod", "", "write at least one"},
        BadCase{"AnotherKind", "kind: Node\nmetadata: {generateName: n-}\n",
                "write only objects of kind Pod"},
        BadCase{"FixedName", pod("{name: one}"), "write a generateName that ends in '-'"},
        BadCase{"NoWeight", pod("{generateName: a-}"),
                "the pod has no annotation demo.tangram.dev/weight"},
        BadCase{"ZeroWeight",
                pod(R"({generateName: a-, annotations: {demo.tangram.dev/weight: "0"}})"),
                "a whole number from 1 to 1000000"},
        BadCase{"SecondPod", pod(kGood) + "---\n" + pod("{name: one}"),
                "line 6: the pod is a template for many"}),
    [](const auto& row) { return row.param.name; });

std::vector<PodKind> three_kinds() {
  std::vector<PodKind> kinds(3);
  kinds[0].weight = 1;
  kinds[1].weight = 8;
  kinds[2].weight = 1;
  kinds[1].lifetime = 10;
  return kinds;
}

TEST(ArrivalsTest, EveryKindComesOnceBeforeOneComesTwice) {
  const auto kinds = three_kinds();
  Arrivals arrivals(kinds, 7);
  std::set<std::size_t> first;
  for (int i = 0; i < 3; ++i) first.insert(arrivals.next().kind);
  EXPECT_EQ(first, (std::set<std::size_t>{0, 1, 2}));
}

TEST(ArrivalsTest, ComeByWeightAndLiveAroundTheirMean) {
  const auto kinds = three_kinds();
  Arrivals arrivals(kinds, 7);
  constexpr int kDraws = 10'000;
  int heavy = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Arrivals::Arrival arrival = arrivals.next();
    EXPECT_GE(arrival.lifetime, 1);
    if (arrival.kind != 1) continue;
    ++heavy;
    EXPECT_GE(arrival.lifetime, 5);
    EXPECT_LE(arrival.lifetime, 15);
  }
  EXPECT_NEAR(heavy, 0.8 * kDraws, 0.02 * kDraws);
}

TEST(ArrivalsTest, TheSeedDecidesEverything) {
  const auto kinds = three_kinds();
  const auto draw = [&](std::uint64_t seed) {
    Arrivals arrivals(kinds, seed);
    std::string text;
    for (int i = 0; i < 50; ++i) {
      const Arrivals::Arrival arrival = arrivals.next();
      text += std::to_string(arrival.kind) + ":" + std::to_string(arrival.lifetime) + " ";
    }
    return text;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(ExampleWorkloadTest, HoldsManyKindsThatCanBeRead) {
  const auto kinds = read_pod_kinds(file("deploy/demo/workload.yaml"));
  ASSERT_TRUE(kinds) << kinds.error().message;
  EXPECT_GE(kinds->size(), 30U);
}

}  // namespace
}  // namespace tangram::bench::demo
