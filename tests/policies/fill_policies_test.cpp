#include "policies/fill.hpp"
#include "policies/registry.hpp"
#include "tests/policies/cluster.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace tangram::policies {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

PolicyPtr made(std::string_view name) { return make_policy(name, {}).value(); }

struct Row {
  std::string name;
  model::NodeState node;
  model::PodDemand demand;
  std::int64_t binpack_score = 0;  ///< millionths; spread's is 1,000,000 less this, where the
                                   ///< cards' choice does not change the fill
  model::Placement binpack;
  model::Placement spread;
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

class FillPoliciesTest : public ::testing::TestWithParam<Row> {};

TEST_P(FillPoliciesTest, PreferOppositeEnds) {
  const Row& row = GetParam();
  const auto packed = made("binpack")->choose(row.demand, row.node);
  const auto spread = made("spread")->choose(row.demand, row.node);
  ASSERT_TRUE(packed && spread);
  EXPECT_EQ(packed->score, row.binpack_score);
  EXPECT_EQ(packed->placement, row.binpack);
  EXPECT_EQ(spread->score, 1'000'000 - row.binpack_score);
  EXPECT_EQ(spread->placement, row.spread);
}

model::NodeState with_much_memory_on_first_card() {
  model::NodeState state = loaded_node({{100}, {300}});
  state.use[0].memory = Mebibytes(40'960);  // half of 80 GiB
  return state;
}

INSTANTIATE_TEST_SUITE_P(
    Pods, FillPoliciesTest,
    ::testing::Values(
        // (200 + 500 + 400) / 3000
        Row{"FullestAgainstEmptiestCard",
            loaded_node({{200}, {500}, {0}}),
            pod(request(fraction(400))),
            366'666,
            {1},
            {2}},
        // (600 + 500) / 2000: 500 + 600 does not fit the fullest card
        Row{"OnlyCardsThatFit",
            loaded_node({{500}, {0}}),
            pod(request(fraction(600))),
            550'000,
            {1},
            {1}},
        // memory 40960 + 24576 + 8192 of 163840 = 0.45; compute (100 + 300 + 100) / 2000 = 0.25
        Row{"LargerOfMemoryAndComputeCounts",
            with_much_memory_on_first_card(),
            pod(request(fraction(100))),
            450'000,
            {0},
            {1}},
        Row{"EqualCardsByLowestIndex",
            loaded_node({{0}, {0}, {0}}),
            pod(request(whole(), 2)),
            666'666,
            {0, 1},
            {0, 1}},
        Row{"SeveralSharesOnSeveralCards",
            loaded_node({{0}, {300}, {600}}),
            pod(request(fraction(300), 2)),
            500'000,
            {2, 1},
            {0, 1}},
        // CPU (64000 - 48000 + 16000) / 64000 = 0.5; memory 262144 / 524288 = 0.5
        Row{"PodWithoutGpuByCpuAndMemory",
            loaded_node({{1000}}, 48'000),
            cpu_pod(16'000, 262'144),
            500'000,
            {},
            {}},
        Row{"CpuBeyondTheNodeIsFull", loaded_node({}, 1000), cpu_pod(2000), 1'000'000, {}, {}}),
    [](const auto& row) { return row.param.name; });

TEST(FillPoliciesTest, ContainersOfOnePodPackOrSpread) {
  model::GpuRequest two = request(fraction(300));
  two.containers.push_back({.container = "side", .count = 1, .share = fraction(300)});
  const auto state = loaded_node({{0}, {0}});
  EXPECT_EQ(made("binpack")->choose(pod(two), state)->placement, (model::Placement{0, 0}));
  EXPECT_EQ(made("spread")->choose(pod(two), state)->placement, (model::Placement{0, 1}));
}

TEST(FillTest, CountsAnOverGrantedCardAsFullNotFuller) {
  const model::Card any = card("g");
  EXPECT_EQ(card_fill(any, used(any, {1500, 3})), kFull);
}

}  // namespace
}  // namespace tangram::policies
