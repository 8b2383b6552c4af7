#include "node/publish/node_publisher.hpp"

#include "kube/local/api.hpp"
#include "model/cards.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/fault_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

namespace tangram::node {
namespace {

using kube::Method;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::card;
using testing::eventually;
using testing::Fault;

const testing::CallMatch kAnyPatch{.method = Method::kPatch};

/// A node, its agent's publisher, and an API server that can be made to fail between them. Waits
/// pass at once.
class NodePublisherTest : public ::testing::Test {
 protected:
  NodePublisherTest() { make_node(); }
  ~NodePublisherTest() override { faulty.release(); }

  template <class Do>
  auto with_lock(Do&& act) {
    const std::lock_guard lock(mutex);
    return act();
  }

  void start(RecordSettings settings = {}, std::optional<LabelSettings> labels = {}) {
    publisher.emplace(
        PublisherSettings{
            .node = "gpu-1", .record = std::move(settings), .labels = std::move(labels)},
        NodePublisher::Parts{
            .api = faulty,
            .clock = clock,
            .cards = [this] { return with_lock([&] { return ++asked, cards; }); },
            .pods = [this] { return with_lock([&] { return pods; }); },
            .other_owners = [this] { return with_lock([&] { return other_owners; }); },
            .report_event =
                [this](const kube::EventNote& note) {
                  with_lock([&] { return notes.push_back(note); });
                },
            .sleeper =
                [this](milliseconds wait, const std::stop_token&) {
                  with_lock([&] { return waits.push_back(wait); });
                  clock.advance(wait);
                }});
    publisher->start();
  }
  void start_settled() {
    start();
    ASSERT_TRUE(eventually([&] { return publisher->settled() && published(*cards); }));
  }

  void make_node() {
    write(Method::kPost, "/api/v1/nodes", testing::node_json("gpu-1"));
    write(Method::kPost, "/api/v1/nodes", testing::node_json("gpu-2"));
  }
  /// Somebody else's write.
  void write(Method method, const std::string& path, const std::string& body) {
    ASSERT_TRUE(api.call(testing::write_request(method, path, body)).has_value());
  }
  void patch(const std::string& subresource, const std::string& body) {
    write(Method::kPatch, "/api/v1/nodes/gpu-1" + subresource, body);
  }
  void install(const std::vector<model::Card>& installed) {
    auto now = std::make_shared<CardsNow>();
    now->answers = true;
    for (const model::Card& one : installed) now->inventory.cards.emplace_back().card = one;
    with_lock([&] { cards = now; });
  }
  OwnNode node() {
    auto read = read_own_node(api, "gpu-1", seconds(1));
    return read ? *read : OwnNode{};
  }
  std::vector<model::Card> listed() {
    auto cards_now = model::decode_cards(node().cards.value_or(""));
    return cards_now ? std::move(*cards_now) : std::vector<model::Card>{};
  }
  /// The Node lists these cards, as they are, and counts them.
  bool published(const CardsNow& now) {
    const OwnNode stands = node();
    const auto record = record_of(now, stands, {}, {}, {});
    return record && stands.cards && !metadata_patch(stands, *record) &&
           !capacity_patch(stands, *record);
  }
  std::size_t patches() { return faulty.calls(kAnyPatch).size(); }
  /// Cordons `id` and waits until the publisher has answered: it has seen all that came before.
  void sync(const std::string& id) {
    patch("", R"({"metadata":{"annotations":{"tangram.dev/cordon":")" + id + "\"}}}");
    ASSERT_TRUE(eventually([&] {
      const auto now = listed();
      return std::any_of(now.begin(), now.end(),
                         [&](const auto& one) { return one.id == id && one.cordoned; });
    }));
  }

  testing::ManualClock clock;
  kube::LocalApi api{clock};
  testing::FaultApi faulty{api};
  std::mutex mutex;
  CardsPtr cards;
  std::optional<NodePods> pods = NodePods{};
  std::optional<OtherOwners> other_owners = OtherOwners{};
  std::size_t asked = 0;
  std::vector<kube::EventNote> notes;
  std::vector<milliseconds> waits;
  std::optional<NodePublisher> publisher;  // last: ends first
};

TEST_F(NodePublisherTest, PublishesCardsLabelsAndCapacities) {
  install({card("GPU-1", "NVIDIA A100"), card("GPU-2", "NVIDIA A100")});
  start();
  ASSERT_TRUE(eventually([&] { return publisher->settled(); }));
  EXPECT_EQ(listed(),
            (std::vector<model::Card>{card("GPU-1", "NVIDIA A100"), card("GPU-2", "NVIDIA A100")}));
  EXPECT_EQ(node().gpu_label, "true");
  EXPECT_EQ(node().model_label, "NVIDIA-A100");
  EXPECT_EQ(node().milli, KubeQuantity::parse("2000").value());
  EXPECT_EQ(node().memory, KubeQuantity::parse("163840").value());
  EXPECT_EQ(publisher->counts().writes, 2U);
  EXPECT_EQ(publisher->counts().failures, 0U);
  const auto other = read_own_node(api, "gpu-2", seconds(1));
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->cards, std::nullopt);
}

TEST_F(NodePublisherTest, AtRestWritesNothing) {
  install({card("GPU-1")});
  start_settled();
  const std::size_t before = patches();
  EXPECT_EQ(before, 2U);
  for (int beat = 0; beat < 20; ++beat) {
    patch("/status", R"({"status":{"conditions":[{"type":"Ready","heartbeat":)" +
                         std::to_string(beat) + "}]}}");
    publisher->changed();
  }
  patch("/status", R"({"status":{"capacity":{"tangram.dev/gpu-milli":"1k"}}})");
  sync("GPU-1");
  EXPECT_EQ(patches(), before + 1) << "one for the cordon";
}

TEST_F(NodePublisherTest, WritesNothingAboutWhatItDoesNotKnow) {
  start();
  const auto asked_often = [&] {
    publisher->changed();
    return with_lock([&] { return asked; }) >= 5;
  };
  ASSERT_TRUE(eventually(asked_often));
  EXPECT_EQ(patches(), 0U);
  install({card("GPU-1")});
  with_lock([&] { pods = std::nullopt; });
  const std::size_t before = with_lock([&] { return asked; });
  publisher->changed();
  ASSERT_TRUE(eventually([&] { return with_lock([&] { return asked; }) > before; }));
  with_lock([&] { pods = NodePods{}; });
  publisher->changed();
  ASSERT_TRUE(eventually([&] { return published(*cards); }));
  EXPECT_EQ(patches(), 2U);
}

TEST_F(NodePublisherTest, WritesAgainWhatKubeletZeroed) {
  install({card("GPU-1")});
  start_settled();
  patch("/status",
        R"({"status":{"capacity":{"tangram.dev/gpu-milli":"0","tangram.dev/gpu-mem-mib":"0"}}})");
  EXPECT_TRUE(eventually([&] { return published(*cards); }));
  patch("/status", R"({"status":{"capacity":{"tangram.dev/gpu-milli":null}}})");
  EXPECT_TRUE(eventually([&] { return published(*cards); }));
}

TEST_F(NodePublisherTest, WritesAgainWhatSomebodyRemovedOrSpoilt) {
  install({card("GPU-1")});
  start_settled();
  patch("", R"({"metadata":{"annotations":{"tangram.dev/cards":null}}})");
  EXPECT_TRUE(eventually([&] { return published(*cards); }));
  patch("", R"({"metadata":{"annotations":{"tangram.dev/cards":"[not cards"}}})");
  EXPECT_TRUE(eventually([&] { return published(*cards); }));
  patch("", R"({"metadata":{"labels":{"tangram.dev/gpu-model":"other"}}})");
  EXPECT_TRUE(eventually([&] { return published(*cards); }));
}

TEST_F(NodePublisherTest, FollowsCardsAndRequests) {
  install({card("GPU-1")});
  start_settled();
  install({card("GPU-1"), card("GPU-2")});
  publisher->changed();
  EXPECT_TRUE(eventually([&] { return published(*cards); }));
  with_lock(
      [&] { pods = NodePods{.requested = {.milli = MilliGpu(2'500), .memory = Mebibytes(1)}}; });
  publisher->changed();
  EXPECT_TRUE(eventually([&] { return node().milli == KubeQuantity::parse("2500").value(); }));
}

TEST_F(NodePublisherTest, NodeMadeAnewIsWrittenAnew) {
  install({card("GPU-1")});
  start_settled();
  const std::string uid = node().uid;
  write(Method::kDelete, "/api/v1/nodes/gpu-1", "");
  write(Method::kPost, "/api/v1/nodes", testing::node_json("gpu-1"));
  EXPECT_TRUE(eventually([&] { return published(*cards); }));
  EXPECT_NE(node().uid, uid);
}

TEST_F(NodePublisherTest, WaitsForANodeThatIsNotThereYet) {
  write(Method::kDelete, "/api/v1/nodes/gpu-1", "");
  install({card("GPU-1")});
  start();
  write(Method::kPost, "/api/v1/nodes", testing::node_json("gpu-1"));
  EXPECT_TRUE(eventually([&] { return published(*cards); }));
}

TEST_F(NodePublisherTest, LooksAgainAfterAConflict) {
  install({card("GPU-1")});
  faulty.will_answer(kAnyPatch, 409);
  faulty.will_answer({Method::kPatch, "/status"}, 500);
  start_settled();
  EXPECT_EQ(publisher->counts().failures, 2U);
  EXPECT_EQ(publisher->counts().writes, 2U);
  EXPECT_EQ(faulty.faults_left(), 0U);
}

TEST_F(NodePublisherTest, LostAnswerIsNoHarm) {
  install({card("GPU-1")});
  faulty.will(kAnyPatch, Fault::Kind::kLoseAnswer);
  faulty.will(kAnyPatch, Fault::Kind::kLoseBefore);
  start_settled();
  EXPECT_EQ(publisher->counts().failures, 2U);
  EXPECT_EQ(faulty.faults_left(), 0U);
}

TEST_F(NodePublisherTest, BackOffDoublesWhileTheServerRefuses) {
  install({card("GPU-1")});
  faulty.plan().add(
      {.match = kAnyPatch, .fault = {.kind = Fault::Kind::kAnswer, .status = 503}, .times = 10});
  start_settled();
  const auto slept = with_lock([&] { return waits; });
  EXPECT_EQ(slept, (std::vector<milliseconds>{
                       milliseconds(100), milliseconds(200), milliseconds(400), milliseconds(800),
                       milliseconds(1'600), milliseconds(3'200), milliseconds(6'400),
                       milliseconds(12'800), milliseconds(25'600), milliseconds(30'000)}));
}

TEST_F(NodePublisherTest, NeverHasTwoWritesInFlight) {
  install({card("GPU-1")});
  faulty.will(kAnyPatch, Fault::Kind::kHold);
  start();
  faulty.await_held(1);
  install({card("GPU-1"), card("GPU-2")});
  for (int i = 0; i < 50; ++i) publisher->changed();
  patch("", R"({"metadata":{"annotations":{"tangram.dev/cordon":"GPU-2"}}})");
  EXPECT_EQ(patches(), 1U);
  faulty.release_held();
  EXPECT_TRUE(eventually([&] { return published(*with_lock([&] { return cards; })); }));
  EXPECT_EQ(publisher->counts().failures, 0U);
}

TEST_F(NodePublisherTest, DoesNotOutwriteAnotherWriter) {
  install({card("GPU-1")});
  start_settled();
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    patch("", R"({"metadata":{"annotations":{"tangram.dev/cards":null}}})");
    ASSERT_TRUE(eventually([&] { return published(*cards); }));
  }
  const auto slept = with_lock([&] { return waits; });
  // 2 + 20 writes, 10 of them at once.
  EXPECT_GE(std::count(slept.begin(), slept.end(), milliseconds(5'000)), 12);
}

TEST_F(NodePublisherTest, TakesItsCapacitiesAwayWhenSwitchedOff) {
  install({card("GPU-1")});
  start_settled();
  publisher.reset();
  start({.aggregates = false});
  EXPECT_TRUE(eventually([&] { return !node().milli && !node().memory; }));
  EXPECT_NE(node().cards, std::nullopt);
}

TEST_F(NodePublisherTest, TellsOnceOfCardsWithTwoOwners) {
  install({card("GPU-1")});
  patch("/status", R"({"status":{"capacity":{"nvidia.com/gpu":"1"}}})");
  start();
  ASSERT_TRUE(eventually([&] { return publisher->settled(); }));
  EXPECT_TRUE(listed().at(0).cordoned);
  install({card("GPU-1"), card("GPU-2")});
  publisher->changed();
  ASSERT_TRUE(eventually([&] { return listed().size() == 2; })) << "it was published again";
  const auto events = with_lock([&] { return notes; });
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "Node");
  EXPECT_EQ(events[0].name, "gpu-1");
  EXPECT_EQ(events[0].uid, node().uid);
  EXPECT_EQ(events[0].reason, "CardsOwnedTwice");
  patch("/status", R"({"status":{"capacity":{"nvidia.com/gpu":"0"}}})");
  patch("", R"({"metadata":{"annotations":{"tangram.dev/cordon":null}}})");
  EXPECT_TRUE(eventually([&] { return !listed().at(0).cordoned; }));
}

TEST_F(NodePublisherTest, CountsCardsThatCannotBePublishedAndLeavesTheNodeAlone) {
  install({card("GPU-1")});
  start_settled();
  install({card("GPU-2"), card("GPU-2")});
  publisher->changed();
  ASSERT_TRUE(eventually([&] { return publisher->counts().failures > 0; }));
  EXPECT_EQ(listed(), std::vector<model::Card>{card("GPU-1")});
}

TEST_F(NodePublisherTest, SaysHowFarResizesHaveComeAsLongAsThereAreAny) {
  install({card("GPU-1")});
  start_settled();
  const auto resizes = [&] { return read_own_node(api, "gpu-1", seconds(1))->resizes; };
  EXPECT_EQ(resizes(), std::nullopt);
  with_lock([&] { pods->resizes = {{"uid-a", {.applied = 2, .refused = 0, .why = {}}}}; });
  publisher->changed();
  EXPECT_TRUE(
      eventually([&] { return resizes() == R"({"version":1,"pods":{"uid-a":{"revision":2}}})"; }));
  patch("", R"({"metadata":{"annotations":{"tangram.dev/resizes":"{}"}}})");
  EXPECT_TRUE(eventually([&] {
    return resizes() == R"({"version":1,"pods":{"uid-a":{"revision":2}}})";
  })) << "somebody else wrote it";
  with_lock([&] { pods->resizes.clear(); });
  publisher->changed();
  EXPECT_TRUE(eventually([&] { return resizes() == std::nullopt; }));
}

class VendorLabelsTest : public NodePublisherTest {
 protected:
  VendorLabelsTest() { install({card("GPU-1")}); }

  static LabelSettings labels(bool write = true) {
    LabelSettings made;
    made.write = write;
    made.labels.of_vendors_program = "nvidia.com/gfd.timestamp";
    made.labels.covers = [](std::string_view name) { return name.starts_with("nvidia.com/gpu."); };
    made.labels.of = [](const Inventory& inventory, std::string_view) {
      return NodeLabels{{"nvidia.com/gpu.count", std::to_string(inventory.cards.size())},
                        {"nvidia.com/gpu.family", "ampere"}};
    };
    return made;
  }
  void start_with_labels(bool write = true) {
    start({}, labels(write));
    ASSERT_TRUE(eventually([&] { return publisher->settled(); }));
  }
  bool has(const NodeLabels& expected) {
    return eventually([&] { return node().labels == expected; });
  }

  const NodeLabels ours{{"nvidia.com/gpu.count", "1"}, {"nvidia.com/gpu.family", "ampere"}};
};

TEST_F(VendorLabelsTest, AreWrittenAndFollowTheCards) {
  start_with_labels();
  EXPECT_EQ(node().labels, ours);
  EXPECT_EQ(patches(), 3U);
  install({card("GPU-1"), card("GPU-2")});
  publisher->changed();
  EXPECT_TRUE(has({{"nvidia.com/gpu.count", "2"}, {"nvidia.com/gpu.family", "ampere"}}));
}

TEST_F(VendorLabelsTest, GoWhenTheVendorsProgramComesAndComeWhenItGoes) {
  start_with_labels();
  // Node Feature Discovery writes all labels and its list at once.
  patch("", R"({"metadata":{"labels":{"nvidia.com/gfd.timestamp":"1","nvidia.com/gpu.count":"1"},)"
            R"("annotations":{"nfd.node.kubernetes.io/feature-labels":)"
            R"("nvidia.com/gfd.timestamp,nvidia.com/gpu.count"}}})");
  EXPECT_TRUE(has({{"nvidia.com/gfd.timestamp", "1"}, {"nvidia.com/gpu.count", "1"}}));
  EXPECT_TRUE(eventually([&] { return node().written_labels == std::nullopt; }));
  patch("",
        R"({"metadata":{"labels":{"nvidia.com/gfd.timestamp":null,"nvidia.com/gpu.count":null},)"
        R"("annotations":{"nfd.node.kubernetes.io/feature-labels":null}}})");
  EXPECT_TRUE(has(ours));
}

TEST_F(VendorLabelsTest, AnAgentWithoutTheFlagRemovesThoseOfTheLastOne) {
  patch("", R"({"metadata":{"labels":{"nvidia.com/gpu.family":"mine"}}})");
  start_with_labels();
  EXPECT_TRUE(has({{"nvidia.com/gpu.count", "1"}, {"nvidia.com/gpu.family", "mine"}}));
  publisher.reset();
  start_with_labels();
  EXPECT_TRUE(has({{"nvidia.com/gpu.count", "1"}, {"nvidia.com/gpu.family", "mine"}}))
      << "another agent knows them as its own";
  publisher.reset();
  start_with_labels(false);
  EXPECT_TRUE(has({{"nvidia.com/gpu.family", "mine"}}));
}

TEST_F(VendorLabelsTest, AWriterInBetweenKeepsItsLabel) {
  start_settled();
  publisher.reset();
  faulty.will(kAnyPatch, Fault::Kind::kHold);
  start({}, labels());
  faulty.await_held(1);
  patch("", R"({"metadata":{"labels":{"nvidia.com/gpu.count":"8"}}})");
  faulty.release_held();
  EXPECT_TRUE(has({{"nvidia.com/gpu.count", "8"}, {"nvidia.com/gpu.family", "ampere"}}));
  EXPECT_GE(publisher->counts().failures, 1U) << "a conflict; a second one before it hears of it";
}

TEST_F(VendorLabelsTest, ThatAreRefusedDoNotHoldUpCards) {
  start_settled();
  publisher.reset();
  faulty.will_answer(kAnyPatch, 422);
  start({}, labels());
  ASSERT_TRUE(eventually([&] { return with_lock([&] { return notes.size(); }) == 1; }));
  EXPECT_EQ(with_lock([&] { return notes.at(0).reason; }), "GpuLabelsRefused");
  install({card("GPU-1"), card("GPU-2")});
  publisher->changed();
  ASSERT_TRUE(eventually([&] { return publisher->settled() && published(*cards); }));
  EXPECT_TRUE(node().labels.empty());
  EXPECT_TRUE(with_lock([&] { return waits; }).empty());
  clock.advance(std::chrono::minutes(10));
  publisher->changed();
  EXPECT_TRUE(has({{"nvidia.com/gpu.count", "2"}, {"nvidia.com/gpu.family", "ampere"}}));
}

TEST_F(NodePublisherTest, StopsWhileItWaits) {
  install({card("GPU-1")});
  faulty.plan().add(
      {.match = kAnyPatch, .fault = {.kind = Fault::Kind::kAnswer, .status = 503}, .times = 0});
  publisher.emplace(PublisherSettings{.node = "gpu-1", .record = {}},
                    NodePublisher::Parts{.api = faulty,
                                         .clock = clock,
                                         .cards = [this] { return cards; },
                                         .pods = [this] { return pods; },
                                         .other_owners = [this] { return other_owners; }});
  publisher->start();
  ASSERT_TRUE(eventually([&] { return publisher->counts().failures > 0; }));
  publisher->stop();
  publisher->stop();
  EXPECT_EQ(publisher->counts().writes, 0U);
}

}  // namespace
}  // namespace tangram::node
