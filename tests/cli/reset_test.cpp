#include "cli/reset.hpp"

#include "cli/format.hpp"
#include "tests/cli/rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tangram::cli {
namespace {

model::Card linked(const std::string& id, const std::vector<std::string>& peers) {
  model::Card card = testing::card(id);
  for (const std::string& peer : peers) {
    card.links.push_back({.peer = peer, .type = "nvlink", .count = 4});
  }
  return card;
}

model::Card instance(const std::string& id, const std::string& parent) {
  model::Card card = testing::card(id);
  card.kind = model::CardKind::kMig;
  card.parent = parent;
  return card;
}

const ResetPlace kPlace{.target = {}, .system_namespace = "gpu-system"};
const ResetProgress kReady{.closed = true, .pods = {}, .clients = {}};

class ResetTest : public ::testing::Test {
 protected:
  /// The node's cards, as its agent publishes them after a cordon.
  void close(const std::string& node, std::vector<model::Card> cards,
             const std::vector<std::string>& cordoned) {
    for (model::Card& card : cards) {
      card.cordoned = std::ranges::find(cordoned, card.id) != cordoned.end();
    }
    rig_.publish(node, cards);
  }
  ResetOrder prepared(const std::string& card, LinkedCards linked = LinkedCards::kStay) {
    const auto order = prepare_reset(rig_.api, card, linked);
    EXPECT_TRUE(order) << (order ? "" : order.error().message);
    return order ? *order : ResetOrder{};
  }
  ResetProgress progress(const ResetOrder& order) {
    const auto read = read_reset_progress(*rig_.cluster(), order);
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return read ? *read : ResetProgress{};
  }
  std::string annotation(const std::string& node) {
    const auto own =
        node::decode_own_node(rig_.ask(testing::get_request("/api/v1/nodes/" + node)).body);
    return own ? own->cordon : "?";
  }

  Rig rig_;
};

TEST_F(ResetTest, TakesTheNamedCardAlone) {
  rig_.add_node("a", {linked("GPU-0", {"GPU-1"}), linked("GPU-1", {"GPU-0"})});
  const ResetOrder order = prepared("GPU-1");
  EXPECT_EQ(order.node, "a");
  EXPECT_EQ(order.cards, std::vector<std::string>{"GPU-1"});
  EXPECT_EQ(order.linked, std::vector<std::string>{"GPU-0"});
  EXPECT_FALSE(order.has_instances);
  EXPECT_EQ(annotation("a"), "GPU-1=to be reset");
  const std::string text = draw_reset(file_screen(), order, {}, kPlace);
  EXPECT_NE(text.find("NVLink connects it to GPU-0, "), std::string::npos) << text;
  EXPECT_NE(text.find("--with-linked"), std::string::npos) << text;
}

TEST_F(ResetTest, TakesLinkedCardsTooIfThatIsAskedFor) {
  // A pair, a third card that one of them links, and one apart.
  rig_.add_node("a", {linked("GPU-0", {"GPU-1"}), linked("GPU-1", {"GPU-0", "GPU-2"}),
                      linked("GPU-2", {"GPU-1"}), linked("GPU-3", {})});
  const ResetOrder order = prepared("GPU-2", LinkedCards::kAreReset);
  EXPECT_EQ(order.cards, (std::vector<std::string>{"GPU-2", "GPU-0", "GPU-1"}));
  EXPECT_TRUE(order.linked.empty());
  EXPECT_EQ(annotation("a"), "GPU-2=to be reset,GPU-0=to be reset,GPU-1=to be reset");
  prepared("GPU-2", LinkedCards::kAreReset);
  EXPECT_EQ(annotation("a"), "GPU-2=to be reset,GPU-0=to be reset,GPU-1=to be reset");
}

TEST_F(ResetTest, LeavesCordonsOfOperators) {
  rig_.add_node("a", {linked("GPU-0", {"GPU-1"}), linked("GPU-1", {"GPU-0"})},
                ", tangram.dev/cordon: GPU-1=its fan");
  rig_.add_node("b", {testing::card("GPU-b0")}, ", tangram.dev/cordon: all");
  for (int run = 0; run < 2; ++run) {
    const ResetOrder order = prepared("GPU-0", LinkedCards::kAreReset);
    EXPECT_EQ(annotation("a"), "GPU-1=its fan,GPU-0=to be reset");
    EXPECT_EQ(order.kept, std::vector<std::string>{"GPU-1"});
    const auto commands = reset_commands(order, kPlace);
    EXPECT_EQ(commands.size(), 5U) << joined(commands, "\n");
    EXPECT_EQ(commands.back(), "kubectl tangram uncordon-card a/GPU-0");
    const std::string text = draw_reset(file_screen(), order, kReady, kPlace);
    EXPECT_NE(text.find("cordoned before, and still so after these: GPU-1\n"), std::string::npos)
        << text;
    EXPECT_EQ(testing::json_at(reset_json(order, kReady, kPlace), "stayCordoned"), R"(["GPU-1"])");
  }
  const ResetOrder all = prepared("GPU-b0");
  EXPECT_EQ(annotation("b"), "all");
  EXPECT_EQ(all.kept, std::vector<std::string>{"GPU-b0"});
  EXPECT_EQ(reset_commands(all, kPlace).back(), "kubectl label node b tangram.dev/agent=true");
}

TEST_F(ResetTest, PrintsCommandsForTheSameCluster) {
  const ResetPlace place{{.kubeconfig = "/k/a b", .context = "it's", .server = ""}, "gpu-system"};
  for (const std::string& command : reset_commands({.node = "a", .cards = {"GPU-0"}}, place)) {
    EXPECT_NE(command.find(R"( --kubeconfig '/k/a b' --context 'it'\''s' )"), std::string::npos)
        << command;
  }
  // No flag stands before the plugin's name.
  EXPECT_EQ(reset_commands({.node = "a", .cards = {"GPU-0"}}, place).back(),
            R"(kubectl tangram uncordon-card --kubeconfig '/k/a b' --context 'it'\''s' a/GPU-0)");
  EXPECT_EQ(reset_commands({.node = "a", .cards = {"GPU-$(x)"}}, kPlace).back(),
            "kubectl tangram uncordon-card 'a/GPU-$(x)'");
}

TEST_F(ResetTest, TakesThePhysicalCardOfAnInstance) {
  const std::vector<model::Card> cards{instance("MIG-1", "GPU-0"), instance("MIG-2", "GPU-0"),
                                       testing::card("GPU-9")};
  rig_.add_node("m", cards);
  const ResetOrder order = prepared("MIG-1");
  EXPECT_EQ(order.cards, std::vector<std::string>{"GPU-0"});
  EXPECT_TRUE(order.has_instances);
  EXPECT_EQ(prepared("m/GPU-0").cards, order.cards);
  rig_.add_bound("other", "0.5", "m", {testing::granted("MIG-2", 40'960, 500)});
  close("m", cards, {"MIG-1", "MIG-2"});
  EXPECT_EQ(progress(order).pods, (std::vector<ResetPod>{{"ml/other", "Starting"}}));
}

TEST_F(ResetTest, WaitsForTheAgentToPublishTheCordon) {
  const std::vector<model::Card> cards{testing::card("GPU-0"), testing::card("GPU-1")};
  rig_.add_node("a", cards);
  const ResetOrder order = prepared("GPU-0");
  EXPECT_FALSE(progress(order).closed);
  EXPECT_FALSE(progress(order).ready());
  close("a", cards, {"GPU-0"});
  EXPECT_TRUE(progress(order).ready());
}

TEST_F(ResetTest, ListsThePodsThatAreInTheWay) {
  const std::vector<model::Card> cards{testing::card("GPU-0"), testing::card("GPU-1"),
                                       testing::card("GPU-2")};
  rig_.add_node("a", cards);
  rig_.add_node("b", {testing::card("GPU-b0")});
  rig_.add_bound("on-it", "0.5", "a", {testing::granted("GPU-0", 40'960, 500)});
  rig_.add_bound("beside", "0.5", "a", {testing::granted("GPU-1", 40'960, 500)});
  auto whole = testing::granted("GPU-2", 81'920, 1'000);
  whole.whole = true;
  rig_.add_bound("whole", "1", "a", {whole});
  rig_.add_bound("gone", "0.1", "a", {testing::granted("GPU-unlisted", 8'192, 100)});
  rig_.add_bound("elsewhere", "0.5", "b", {testing::granted("GPU-b0", 40'960, 500)});
  rig_.add_pod("waits", {{"gpu-fraction", "0.5"}});
  const ResetOrder order = prepared("GPU-0");
  close("a", cards, {"GPU-0"});
  const ResetProgress now = progress(order);
  EXPECT_EQ(now.pods, (std::vector<ResetPod>{{"ml/gone", "Starting"}, {"ml/on-it", "Starting"}}));
  EXPECT_EQ(now.clients, (std::vector<ResetPod>{{"ml/beside", "Starting"}}))
      << "a pod with a whole card has no daemon";
  EXPECT_FALSE(now.ready());
  const std::string text = draw_reset(file_screen(), order, now, kPlace);
  EXPECT_NE(text.find("not ready to be reset"), std::string::npos) << text;
  EXPECT_NE(text.find("ml/on-it  Starting"), std::string::npos) << text;
  EXPECT_NE(text.find("1 pod under MPS on other cards"), std::string::npos) << text;
  EXPECT_EQ(text.find("nvidia-smi"), std::string::npos) << text;
  EXPECT_EQ(testing::json_at(reset_json(order, now, kPlace), "commands"), "[]");
}

TEST_F(ResetTest, CountsAGrantThatCannotBeRead) {
  const std::vector<model::Card> cards{testing::card("GPU-0"), testing::card("GPU-1")};
  rig_.add_node("a", cards);
  testing::PodText pod;
  pod.name = "odd";
  pod.annotations = {{"tangram.dev/gpu-fraction", "0.5"}};
  pod.limits = {{"tangram.dev/gpu-slot", "1"}};
  const std::string uid = rig_.add_pod(pod);
  rig_.ask(testing::write_request(
      kube::Method::kPost, "/api/v1/namespaces/ml/pods/odd/binding",
      testing::binding_json("odd", uid, "a", {{"tangram.dev/gpu-grant", "no grant"}})));
  const ResetOrder order = prepared("GPU-0");
  close("a", cards, {"GPU-0"});
  EXPECT_EQ(progress(order).pods, (std::vector<ResetPod>{{"ml/odd", "Starting"}}));
}

TEST_F(ResetTest, PrintsTheCommandsThatResetTheCards) {
  const ResetOrder order{
      .node = "a", .cards = {"GPU-0", "GPU-1"}, .linked = {}, .kept = {}, .has_instances = true};
  const std::string text = draw_reset(file_screen(), order, kReady, kPlace);
  EXPECT_EQ(text,
            "2 cards of node a cordoned: GPU-0, GPU-1\n"
            "ready to be reset; nothing was reset. Run:\n"
            "  kubectl label node a tangram.dev/agent-\n"
            "  kubectl --namespace gpu-system wait --for=delete pods --field-selector "
            "spec.nodeName=a --selector 'app.kubernetes.io/name in (tangram-node, tangram-mps)' "
            "--timeout=2m\n"
            "  kubectl debug nodes/a -it --profile=sysadmin --image=busybox -- chroot /host "
            "nvidia-smi --gpu-reset -i GPU-0,GPU-1\n"
            "  kubectl label node a tangram.dev/agent=true\n"
            "  kubectl tangram uncordon-card a/GPU-0\n"
            "  kubectl tangram uncordon-card a/GPU-1\n"
            "The agent shows the card as healthy 10 minutes after it is back; before that, create "
            "its MIG instances again. Details: docs/runbooks.md, \"Reset a card\"\n");
  EXPECT_EQ(testing::json_at(reset_json(order, kReady, kPlace), "ready"), "true");
}

TEST_F(ResetTest, RefusesOtherCardsAndWritesNothing) {
  rig_.add_node("a", {testing::card("AMD-1")});
  const auto refused = prepare_reset(rig_.api, "AMD-1", LinkedCards::kStay);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_EQ(annotation("a"), "");
  EXPECT_FALSE(prepare_reset(rig_.api, "GPU-none", LinkedCards::kStay));
  EXPECT_EQ(read_reset_progress(*rig_.cluster(), {.node = "gone"}).error().code, Errc::kNotFound);
}

TEST_F(ResetTest, WaitsUntilTheCardIsReadyOrTheTimeIsUp) {
  int reads = 0;
  const Sleeper sleep = [this](std::chrono::milliseconds time, std::stop_token) {
    rig_.clock.advance(time);
  };
  const auto becomes_ready = [&]() -> Result<ResetProgress> {
    if (++reads == 2) return fail(Errc::kUnavailable, "the API server is away");
    return ResetProgress{.closed = reads == 4, .pods = {}, .clients = {}};
  };
  const auto waited = await_reset(becomes_ready, {std::chrono::seconds(60), rig_.clock, sleep});
  ASSERT_TRUE(waited);
  EXPECT_TRUE(waited->ready());
  EXPECT_EQ(reads, 4);
  reads = 10;
  const auto late = await_reset(becomes_ready, {std::chrono::seconds(5), rig_.clock, sleep});
  ASSERT_TRUE(late);
  EXPECT_FALSE(late->ready());
  EXPECT_EQ(reads, 14) << "at 0, 2, 4 and 6 s";
  const auto gone =
      await_reset([]() -> Result<ResetProgress> { return fail(Errc::kNotFound, "node a is gone"); },
                  {std::chrono::seconds(60), rig_.clock, sleep});
  EXPECT_EQ(gone.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace tangram::cli
