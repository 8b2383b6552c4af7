// Pods that count cards get replicas, as the sharing configuration of each node cuts its cards.

#include "model/cards.hpp"
#include "model/placement.hpp"
#include "model/resizing.hpp"
#include "tests/testing/builders.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tangram::model {
namespace {

using namespace tangram::literals;
using testing::card;
using testing::inventory;

constexpr Mebibytes kMemory{81'920};

Card shared(std::string id, int count, Isolation isolation = Isolation::kTimeSlice) {
  Card cut = card(std::move(id), "A100", kMemory);
  cut.replicas = {.count = count, .isolation = isolation};
  return cut;
}

NodeState node_of(std::vector<Card> cards) {
  return testing::node(inventory("n", std::move(cards)));
}

/// A pod of one container, read as any other.
GpuRequest replicas(const std::string& resource, const std::string& count = "1") {
  const auto request = parse_request({{"gpu-replica", resource}, {"gpu-count", count}},
                                     {{.name = "main"}}, {.default_isolation = Isolation::kMps});
  EXPECT_TRUE(request) << request.error().message;
  return request ? *request : GpuRequest{};
}

std::optional<Placement> placed(const GpuRequest& request, const NodeState& node) {
  return place(request, node, [](const Slice&, std::uint32_t, const CardUse&) { return 0; });
}

/// Binds pods of one replica until none fits.
int pods_on(NodeState node, const GpuRequest& request) {
  int pods = 0;
  while (const auto placement = placed(request, node)) {
    node.use = use_after(request, node, *placement);
    ++pods;
  }
  return pods;
}

TEST(ReplicasTest, FillEveryCardExactly) {
  for (int count = 2; count <= Replicas::kMost; ++count) {
    const NodeState node = node_of({shared("GPU-0", count), shared("GPU-1", count)});
    EXPECT_EQ(pods_on(node, replicas("gpu")), 2 * count) << count;
  }
}

TEST(ReplicasTest, AreEqualPartsThatRoundDown) {
  const Slice third = slice_of(replicas("gpu").containers[0].share, shared("GPU-0", 3));
  EXPECT_EQ(third, (Slice{27'306_mib, 333_mgpu, 27'306_mib, 333_mgpu}));
}

TEST(ReplicasTest, AreWholeCardsWhereNoneIsShared) {
  const GpuRequest request = replicas("gpu", "2");
  const NodeState node = node_of({card("GPU-0", "A100", kMemory), card("GPU-1", "A100", kMemory)});
  const auto placement = placed(request, node);
  ASSERT_TRUE(placement);
  const auto grants = grants_of(request, node, *placement);
  for (const GrantedCard& part : grants[0].cards) {
    EXPECT_TRUE(part.whole.value());
    EXPECT_EQ(part.memory, kMemory);
  }
  EXPECT_EQ(pods_on(node, replicas("gpu")), 2);
}

TEST(ReplicasTest, RunInTheModeOfTheNode) {
  const GpuRequest request = replicas("gpu");
  for (const Isolation mode : {Isolation::kTimeSlice, Isolation::kMps}) {
    const NodeState node = node_of({shared("GPU-0", 4, mode)});
    const auto placement = placed(request, node);
    ASSERT_TRUE(placement);
    EXPECT_EQ(mode_of(request, node, *placement), mode);
    EXPECT_FALSE(use_after(request, node, *placement)[0].mode_free_for(
        mode == Isolation::kMps ? Isolation::kTimeSlice : Isolation::kMps));
  }
}

TEST(ReplicasTest, StandBesideSharesOfTheirModeOnly) {
  NodeState node = node_of({shared("GPU-0", 4)});
  charge(node.use[0], testing::slice(1'000, 100), Isolation::kMps);
  EXPECT_FALSE(placed(replicas("gpu"), node));
  EXPECT_EQ(why_not(replicas("gpu"), node), Misfit::kIsolationBusy);
}

TEST(ReplicasTest, AreFoundUnderTheirResource) {
  Card renamed = shared("GPU-0", 4);
  renamed.replicas.resource = CardResource::kGpuShared;
  const NodeState node = node_of({renamed});
  EXPECT_TRUE(placed(replicas("gpu.shared"), node));
  EXPECT_FALSE(placed(replicas("gpu"), node));
  EXPECT_EQ(why_not(replicas("gpu"), node), Misfit::kReplicas);
  EXPECT_EQ(why_not(replicas("mig"), node), Misfit::kReplicas);
  EXPECT_FALSE(resolvable(Misfit::kReplicas)) << "no eviction renames a resource";
}

TEST(ReplicasTest, SeveralAreOfDifferentCards) {
  const NodeState node = node_of({shared("GPU-0", 4), shared("GPU-1", 4)});
  const auto placement = placed(replicas("gpu", "2"), node);
  ASSERT_TRUE(placement);
  EXPECT_NE((*placement)[0], (*placement)[1]);
  EXPECT_FALSE(placed(replicas("gpu", "3"), node));
}

TEST(ReplicasTest, SeveralCanBeRefusedByTheNode) {
  std::vector<Card> cards{shared("GPU-0", 4), shared("GPU-1", 4)};
  for (Card& one : cards) one.replicas.one_each = true;
  const NodeState node = node_of(cards);
  EXPECT_TRUE(placed(replicas("gpu"), node));
  EXPECT_FALSE(placed(replicas("gpu", "2"), node));
  EXPECT_EQ(why_not(replicas("gpu", "2"), node), Misfit::kReplicas);
}

TEST(ReplicasTest, SeveralAreRefusedByMpsWhateverTheNodeSays) {
  const NodeState node =
      node_of({shared("GPU-0", 4, Isolation::kMps), shared("GPU-1", 4, Isolation::kMps)});
  EXPECT_EQ(why_not(replicas("gpu", "2"), node), Misfit::kReplicas);
}

/// Rounded once, not twice: 16 chunks are 16 replicas.
TEST(ReplicasTest, OfChunksAreAsManyAsThereAreChunks) {
  for (const int chunks : {4, 7, 16}) {
    Card card = shared("GPU-0", chunks, Isolation::kMps);
    card.compute_chunks = chunks;
    EXPECT_EQ(pods_on(node_of({card}), replicas("gpu")), chunks);
  }
}

TEST(ReplicasTest, AFractionOfASharedCardStaysAFraction) {
  const NodeState node = node_of({shared("GPU-0", 4)});
  GpuRequest half = testing::request(testing::fraction(500));
  half.isolation = Isolation::kTimeSlice;
  const auto placement = placed(half, node);
  ASSERT_TRUE(placement);
  EXPECT_EQ(grants_of(half, node, *placement)[0].cards[0].compute, 500_mgpu);
}

/// A running pod keeps what it was granted when its node's configuration changes.
TEST(ReplicasTest, AreNeverResized) {
  const GpuRequest request = replicas("gpu");
  const NodeState before = node_of({shared("GPU-0", 4)});
  const auto granted = grants_of(request, before, *placed(request, before));
  const NodeState after = node_of({shared("GPU-0", 2)});
  EXPECT_TRUE(same_shape(request, granted));
  EXPECT_FALSE(asks_other_amounts(request, granted, 0, &after));
}

TEST(ReplicasTest, ReachTheReaderOfTheCards) {
  Card cut = shared("GPU-0", 7, Isolation::kMps);
  cut.replicas.resource = CardResource::kGpuShared;
  cut.replicas.one_each = true;
  const auto read = decode_cards(encode_cards({cut, card("GPU-1")}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)[0].replicas, cut.replicas);
  EXPECT_EQ((*read)[1].replicas, Replicas{});
}

TEST(ReplicasTest, AMigInstanceIsOneUnlessItsAgentSaysOtherwise) {
  const std::string text =
      R"({"version":1,"cards":[{"id":"MIG-1","kind":"mig","model":"A100 MIG 1g.10gb","memMiB":9728)";
  const auto plain = decode_cards(text + "}]}");
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)[0].replicas.resource, CardResource::kMig);
  const auto single =
      decode_cards(text + R"(,"replicas":{"of":"gpu","count":1,"isolation":"time-slice"}}]})");
  ASSERT_TRUE(single);
  EXPECT_EQ((*single)[0].replicas.resource, CardResource::kGpu);
}

TEST(ReplicasTest, UnreadableOnesAreRefused) {
  for (const char* const replicas :
       {R"({"of":"tpu","count":2,"isolation":"mps"})",
        R"({"of":"gpu","count":49,"isolation":"mps"})",
        R"({"of":"gpu","count":0,"isolation":"mps"})", R"({"of":"gpu","count":2,"isolation":"x"})",
        R"({"count":2,"isolation":"mps"})"}) {
    EXPECT_FALSE(
        decode_cards(R"({"version":1,"cards":[{"id":"GPU-1","model":"A","memMiB":10,"replicas":)" +
                     std::string(replicas) + "}]}"))
        << replicas;
  }
}

struct MistakeCase {
  std::string name;
  Annotations annotations;
  std::string part;
};
class ReplicaMistakeTest : public ::testing::TestWithParam<MistakeCase> {};

TEST_P(ReplicaMistakeTest, SaysWhatToWrite) {
  const auto request = parse_request(GetParam().annotations, {{.name = "a"}, {.name = "b"}}, {});
  ASSERT_FALSE(request);
  EXPECT_NE(request.error().message.find(GetParam().part), std::string::npos)
      << request.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, ReplicaMistakeTest,
    ::testing::Values(
        MistakeCase{"Unknown", {{"gpu-replica", "nvidia.com/gpu"}}, "write gpu, gpu.shared, mig"},
        MistakeCase{"BesideAnAmount",
                    {{"gpu-replica", "gpu"}, {"gpu-fraction", "0.5"}},
                    "write only one of them"},
        MistakeCase{"BesideALimit",
                    {{"gpu-replica", "gpu"}, {"gpu-mem-limit", "8Gi"}},
                    "write only one of them"},
        MistakeCase{"Mixed",
                    {{"gpu-replica.a", "gpu"}, {"gpu-fraction.b", "0.5"}},
                    "write the same annotation for all of them"},
        MistakeCase{"WithAMode",
                    {{"gpu-replica", "gpu"}, {"gpu-isolation", "mps"}},
                    "the node's sharing configuration says how replicas are kept apart"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace tangram::model
