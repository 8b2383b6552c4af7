#include "cli/explain.hpp"

#include "base/ed25519.hpp"
#include "cli/pages.hpp"
#include "tests/cli/rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::cli {
namespace {

std::string explained(const Cluster& cluster, const std::string& pod, bool all = false) {
  auto page = explain_page(cluster, "ml", pod);
  if (!page) return page.error().message;
  const auto view = read_explain_view(std::move(*page));
  if (!view) return view.error().message;
  return draw_explain(file_screen(), *view, all);
}

std::string explained(Rig& rig, const std::string& pod, bool all = false) {
  return explained(*rig.cluster(), pod, all);
}

TEST(ExplainTest, SaysWithTheNumbersWhyAPodWaits) {
  Rig rig;
  rig.fill();
  rig.add_refused("pair", {{"gpu-count", "2"}, {"gpu-mem", "60Gi"}, {"gpu-isolation", "none"}});
  EXPECT_EQ(
      explained(rig, "pair"),
      "ml/pair is pending: fits none of 2 nodes: 1 x node has fewer GPU cards than the pod asks "
      "for; 1 x GPU cards are in use with another isolation. The pod asks for "
      "isolation none; to ask for another, write annotation tangram.dev/gpu-isolation\n"
      "requests main 2 × 60Gi; isolation none, policy binpack\n"
      "\n"
      "a: GPU cards are in use with another isolation\n"
      "  CARD    MODEL       FREE      NEEDED  SHARERS  MODE  THIS CARD\n"
      "  GPU-a0  A100   40Gi, 0.5  60Gi, 0.75     1/48  mps   is in use with mps; the pod asks for "
      "none\n"
      "  GPU-a1  A100     80Gi, 1  60Gi, 0.75     0/48  -     fits\n"
      "\n"
      "b: node has fewer GPU cards than the pod asks for\n"
      "\n"
      "note: kube-scheduler also looks at CPU, memory, taints, affinity and volumes\n");
}

TEST(ExplainTest, ShowsWhatItWouldGetWhereItFits) {
  Rig rig;
  rig.fill();
  rig.add_refused("small", {{"gpu-fraction", "0.25"}});
  EXPECT_EQ(
      explained(rig, "small"),
      "ml/small is pending: fits 2 of 2 nodes by their cards; if it still waits, `kubectl describe "
      "pod` names what else kube-scheduler lacks\n"
      "requests main 0.25; isolation mps, policy binpack\n"
      "\n"
      "a: fits, would get GPU-a0\n"
      "b: fits, would get GPU-b0\n"
      "\n"
      "note: kube-scheduler also looks at CPU, memory, taints, affinity and volumes\n");
}

TEST(ExplainTest, NamesThePodsThatWouldBeEvicted) {
  const auto view = read_explain_view(R"({"namespace":"ml","name":"p","state":"pending",
    "summary":"fits none of 1 nodes","group":{"name":"g","summary":"it belongs to the PodGroup g"},
    "room":{"by":"moves","node":"b","pods":2,"left":1},
    "preemption":{"node":"a","victims":[
      {"namespace":"ml","name":"x","priority":-5},{"namespace":"web","name":"y","priority":10}]}})");
  ASSERT_TRUE(view);
  EXPECT_NE(
      draw_explain({}, *view, false)
          .find("\npreemption on node a would evict ml/x (priority -5), web/y (priority 10)\n"),
      std::string::npos);
  EXPECT_NE(draw_explain({}, *view, false)
                .find("\nmoves on node b: 1 of 2 pods have left, and this pod gets the room\n"),
            std::string::npos);
}

TEST(ExplainTest, SaysWhatEachCardLacks) {
  const auto view =
      read_explain_view(R"({"namespace":"ml","name":"p","state":"pending","policy":"x",
    "request":{"isolation":"mps","containers":[{"name":"main","count":1,"share":"whole"}]},
    "nodes":[{"name":"a","fits":false,"why":"no GPU card has enough free memory and compute","cards":[
      {"uuid":"both","freeMemMiB":1024,"freeMilli":100,"containers":[{"name":"main","needMemMiB":3072,
        "needMilli":500,"fits":false,"why":"no GPU card has enough free memory and compute"}]},
      {"uuid":"busy","freeMemMiB":3072,"freeMilli":500,"containers":[{"name":"main","needMemMiB":3072,
        "needMilli":500,"fits":false,"why":"no GPU card has enough free memory and compute"}]},
      {"uuid":"unhealthy","reason":"XID 79","containers":[{"name":"main","fits":false,
        "why":"matching GPU cards are unhealthy or cordoned"}]},
      {"uuid":"new","containers":[{"name":"main","fits":false,"why":"the moon is full"}]}]}]})");
  ASSERT_TRUE(view) << view.error().message;
  const std::string text = draw_explain(file_screen(), *view, false);
  for (const char* words : {"lacks 2Gi, 0.4\n", "is not idle\n", "XID 79\n", "the moon is full\n",
                            "requests main 1 card; isolation mps"}) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  }
}

TEST(ExplainTest, EndsLinesOfATerminalBetweenWords) {
  Rig rig;
  rig.fill();
  const auto view = read_explain_view(explain_page(*rig.cluster(), "ml", "large").value());
  ASSERT_TRUE(view) << view.error().message;
  const std::string text = draw_explain(terminal(60), *view, false);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(drawing::columns_of(text.substr(begin, end - begin)), 60U) << text;
  }
  const std::string file = draw_explain(file_screen(), *view, false);
  EXPECT_NE(file.find("note: " + view->note + "\n"), std::string::npos) << "one line: " << file;
}

TEST(ExplainTest, ShowsWhatABoundPodHolds) {
  Rig rig;
  rig.fill();
  EXPECT_EQ(explained(rig, "half"),
            "ml/half is bound to node a, isolation mps, memory limits: nothing, grant not "
            "signed\n"
            "\n"
            "CONTAINER  CARD    MEMORY  GPU  MEMORY LIMIT  GPU LIMIT\n"
            "main       GPU-a0    40Gi  0.5          40Gi        0.5\n");
}

TEST(ExplainTest, ShowsTheNearestOfManyNodes) {
  Rig rig;
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(10 + i);
    rig.add_node("n" + number, {testing::card("GPU-" + number, i == 7 ? "T4" : "A100")});
  }
  rig.add_pod("p", {{"gpu-fraction", "0.25"}, {"gpu-model", "T4"}});
  const std::string text = explained(rig, "p");
  EXPECT_NE(text.find("\nn17: fits, would get GPU-17\n"), std::string::npos) << text;
  EXPECT_LT(text.find("n17: fits"), text.find("n10: ")) << "what fits comes first";
  EXPECT_NE(text.find("the nearest 8 of 20 nodes; all nodes and cards: -o wide"),
            std::string::npos);
  const std::string all = explained(rig, "p", true);
  EXPECT_NE(all.find("\nn29: "), std::string::npos);
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& each : words) EXPECT_NE(text.find(each), std::string::npos) << text;
}

TEST(ExplainTest, NamesTheModesInTheWay) {
  Rig rig;
  model::Card open = testing::card("GPU-a1");
  open.isolation = {model::Isolation::kMps, model::Isolation::kNone};
  rig.add_node("a", {testing::card("GPU-a0"), open});
  rig.add_bound("half", "0.5", "a", {testing::shared("GPU-a0", 40'960, 500)});
  rig.add_refused("p", {{"gpu-fraction", "0.25"}, {"gpu-isolation", "time-slice"}});
  expect_words(explained(rig, "p"),
               {"is in use with mps; the pod asks for time-slice\n",
                "offers mps, none; the pod asks for time-slice\n",
                "The pod asks for isolation time-slice; to ask for another, write annotation "
                "tangram.dev/gpu-isolation\n"});
}

TEST(ExplainTest, NamesTheMemoryLimitsInTheWay) {
  Rig rig;
  model::Card mps = testing::card("GPU-a0");
  mps.memory_limits = model::MemoryLimits::kMps;
  rig.add_node("a", {mps, testing::card("GPU-a1")});
  rig.add_refused(
      "p",
      {{"gpu-fraction", "0.25"}, {"gpu-isolation", "time-slice"}, {"gpu-memory-limits", "mps"}});
  expect_words(
      explained(rig, "p", true),
      {"1 x GPU cards do not enforce memory limits by the required means. The pod requires "
       "memory limits by mps at least, in annotation tangram.dev/gpu-memory-limits; under "
       "isolation time-slice these cards have weaker ones\n",
       "requests main 0.25; isolation time-slice, memory limits by mps at least, policy ",
       "enforces memory limits by mps in the mode mps; under time-slice the pod requires "
       "mps\n",
       "enforces memory limits by nothing; under time-slice the pod requires mps\n"});
}

TEST(ExplainTest, SaysByWhatMemoryIsLimited) {
  Rig rig;
  rig.add_node("a", {testing::card("GPU-a0"), testing::card("GPU-a1"), testing::card("GPU-a2")});
  model::GrantedCard limited = testing::shared("GPU-a0", 40'960, 500);
  limited.memory_limits = model::MemoryLimits::kLibrary;
  rig.add_bound("half", "0.5", "a", {limited});
  model::GrantedCard alone = testing::granted("GPU-a1", 81'920, 1000);
  alone.whole = true;
  rig.add_bound("alone", "1", "a", {alone});
  expect_words(explained(rig, "half"), {"isolation mps, memory limits: library, grant"});
  expect_words(explained(rig, "alone"), {"isolation mps, memory limits: whole card, grant"});
}

TEST(ExplainTest, LeavesOutMemoryLimitsThatAnOlderExtenderDoesNotTell) {
  const auto view = read_explain_view(R"({"namespace":"ml","name":"p","state":"bound","node":"a",
    "isolation":"mps","containers":[{"name":"main","cards":[{"uuid":"x"}]}]})");
  ASSERT_TRUE(view) << view.error().message;
  expect_words(draw_explain(file_screen(), *view, true), {"is bound to node a, isolation mps\n"});
}

TEST(ExplainTest, SaysHowFarAResizeIs) {
  const auto view = read_explain_view(R"({"namespace":"ml","name":"p","state":"bound","node":"a",
    "isolation":"mps","containers":[{"name":"main","cards":[{"uuid":"x"}]}],
    "resize":{"state":"Deferred","reason":"the card has no room now"}})");
  ASSERT_TRUE(view) << view.error().message;
  expect_words(draw_explain(file_screen(), *view, true),
               {"isolation mps\nresize Deferred: the card has no room now\n\nCONTAINER"});
}

TEST(ExplainTest, NamesTheModesAsAnOlderExtenderTellsThem) {
  const auto view = read_explain_view(R"({"namespace":"ml","name":"p","state":"pending",
    "request":{"isolation":"mps"},"nodes":[{"name":"a","fits":false,
    "why":"GPU cards do not support the requested isolation","cards":[{"uuid":"x","containers":[
      {"name":"main","why":"GPU cards do not support the requested isolation"}]},
      {"uuid":"y","containers":[
      {"name":"main","why":"GPU cards are in use with another isolation"}]}]}]})");
  ASSERT_TRUE(view) << view.error().message;
  expect_words(draw_explain(file_screen(), *view, true),
               {"does not offer mps, the isolation that the pod asks for\n",
                "is in use with another isolation; the pod asks for mps\n"});
}

TEST(ExplainTest, SaysThatTheNodesAgentIsGone) {
  Rig rig;
  for (const char* name : {"a", "b"}) {
    rig.add_node(name, {testing::card(std::string("GPU-") + name)}, "", "{}",
                 "tangram.dev/gpu-slot: \"0\"");
  }
  rig.add_refused("p", {{"gpu-fraction", "0.25"}});
  const std::string text = explained(rig, "p");
  expect_words(text, {"fits 2 of 2 nodes by their cards, but 2 x node offers no "
                      "tangram.dev/gpu-slot: its agent does not run, or is not registered with "
                      "kubelet. See `kubectl get pods --all-namespaces -l "
                      "app.kubernetes.io/name=tangram-node -o wide`\n",
                      "\na: fits by its cards, but node offers no tangram.dev/gpu-slot: "});
  EXPECT_EQ(text.find("describe"), std::string::npos) << "which sends back here: " << text;
}

TEST(ExplainTest, CountsTheNodesWithoutAFreeSlot) {
  Rig rig;
  rig.add_node("a", {testing::card("GPU-a")}, "", "{}", "tangram.dev/gpu-slot: \"1\"");
  rig.add_node("b", {testing::card("GPU-b")});
  rig.add_bound("half", "0.5", "a", {testing::shared("GPU-a", 40'960, 500)});
  rig.add_refused("p", {{"gpu-fraction", "0.25"}});
  expect_words(explained(rig, "p"),
               {"fits 2 of 2 nodes by their cards, but 1 x node has too few free "
                "tangram.dev/gpu-slot: other pods hold them. If it still waits, `kubectl describe "
                "pod` names what kube-scheduler lacks on the other 1\n",
                "\nb: fits, would get GPU-b\n",
                "\na: fits by its cards, but node has too few free tangram.dev/gpu-slot: "});
}

TEST(ExplainTest, SaysThatThePodHasNoSlot) {
  Rig rig;
  rig.fill();
  testing::PodText pod;
  pod.name = "p";
  pod.annotations = {{"tangram.dev/gpu-fraction", "0.25"}};
  rig.add_pod(pod);
  rig.refuse("p");
  const std::string text = explained(rig, "p");
  expect_words(text,
               {"ml/p is pending: the pod has no slot, so kube-scheduler does not ask Tangram "
                "about it: see the finding SlotMissing. It fits 2 of 2 nodes by their "
                "cards\n",
                "\nSlotMissing: container \"main\" requests a GPU and has no slot"});
  EXPECT_EQ(text.find("describe"), std::string::npos) << text;
}

TEST(ExplainTest, SaysThatNoSchedulerHasTriedThePod) {
  Rig rig;
  rig.fill();
  rig.add_pod("p", {{"gpu-fraction", "0.25"}}, "tangrm");
  expect_words(explained(rig, "p"),
               {"ml/p is pending: no scheduler has tried the pod yet; if that stays so, none "
                "serves its schedulerName \"tangrm\". It fits 2 of 2 nodes by their cards\n"});
  rig.refuse("p");
  EXPECT_EQ(explained(rig, "p").find("no scheduler"), std::string::npos);
}

TEST(ExplainTest, SaysThatSchedulingGatesKeepAPod) {
  Rig rig;
  rig.fill();
  testing::PodText pod;
  pod.name = "p";
  pod.annotations = {{"tangram.dev/gpu-fraction", "0.25"}};
  pod.limits = {{"tangram.dev/gpu-slot", "1"}};
  pod.gated = true;
  rig.add_pod(pod);
  expect_words(explained(rig, "p"),
               {"ml/p is pending: the pod has scheduling gates, so no scheduler tries it until "
                "spec.schedulingGates is empty. It fits 2 of 2 nodes by their cards\n"});
}

TEST(ExplainTest, SaysThatABoundPodsNodeHasNoAgent) {
  Rig rig;
  rig.add_node("a", {testing::card("GPU-a")}, "", "{}", "tangram.dev/gpu-slot: \"0\"");
  rig.add_bound("half", "0.5", "a", {testing::shared("GPU-a", 40'960, 500)});
  expect_words(explained(rig, "half"),
               {"ml/half is bound to node a, isolation mps, memory limits: nothing, grant not "
                "signed\n"
                "the pod has not started: node offers no tangram.dev/gpu-slot: its agent does not "
                "run, or is not registered with kubelet. See `kubectl get pods --all-namespaces"});
}

/// The signing key stays with the extender.
constexpr const char* kSigned = R"(
grants:
  signing_key: /etc/tangram-grant-key/grant.key
  public_keys: /etc/tangram-grant-keys
  required: )";

TEST(ExplainTest, AGrantThatNobodySignedIsNotHeld) {
  Rig rig;
  rig.fill();
  rig.install(std::string(kSigned) + "true\n");
  rig.install_key(SigningKey::generate());
  expect_words(explained(*rig.configured(), "half"),
               {"ml/half is bound to node a and has no GPU card\n",
                "GrantInvalid: annotation tangram.dev/gpu-grant is not signed, and here only "
                "signed grants count"});
  rig.sign_with(SigningKey::generate());
  rig.add_bound("forged", "0.5", "a", {testing::shared("GPU-a1", 40'960, 500)});
  expect_words(explained(*rig.configured(), "forged"),
               {"and has no GPU card\n", "is not signed by a key that counts here"});
}

TEST(ExplainTest, NamesTheKeyThatSignedTheGrant) {
  Rig rig;
  rig.add_node("a", {testing::card("GPU-a0"), testing::card("GPU-a1")});
  const SigningKey key = SigningKey::generate();
  rig.install(std::string(kSigned) + "false\n");
  rig.install_key(key);
  rig.add_bound("plain", "0.5", "a", {testing::shared("GPU-a0", 40'960, 500)});
  rig.sign_with(key);
  rig.add_bound("good", "0.5", "a", {testing::shared("GPU-a1", 40'960, 500)});
  expect_words(explained(*rig.configured(), "good"),
               {"isolation mps, memory limits: nothing, grant signed by key " +
                key.verifying_key().id() + "\n"});
  expect_words(explained(*rig.configured(), "plain"),
               {"memory limits: nothing, grant not signed\n"});
}

TEST(ExplainTest, SaysWhatIsWrongWithThePod) {
  Rig rig;
  rig.fill();
  rig.add_pod("wrong", {{"gpu-fraction", "0.3333"}});
  EXPECT_NE(explained(rig, "wrong").find("write 0.333"), std::string::npos);
  const std::string uid = rig.add_pod("differs", {{"gpu-fraction", "0.5"}});
  rig.bind("differs", uid, "b", {testing::granted("GPU-b0", 100, 100)});
  EXPECT_NE(explained(rig, "differs").find("resize Infeasible: "), std::string::npos);
  EXPECT_NE(explained(rig, "no-such-pod").find("no pod ml/no-such-pod waits"), std::string::npos);
}

TEST(ExplainTest, NoTextAddsALine) {
  const std::string odd = R"("x\n\u001b[2J\u202ey")";
  for (const std::string state : {R"("bound")", R"("pending")"}) {
    const auto drawn = [&](const std::string& text) {
      const std::string verdicts =
          R"([{"name":)" + text + R"(,"why":)" + text + R"(},{"name":"b"}])";
      const std::string cards = R"([{"uuid":)" + text + R"(,"model":)" + text + R"(,"offers":[)" +
                                text + R"(],"reason":)" + text + R"(,"containers":)" + verdicts +
                                "}]";
      const std::string findings = R"([{"finding":)" + text + R"(,"message":)" + text + "}]";
      const std::string containers =
          R"([{"name":)" + text + R"(,"cards":[{"uuid":)" + text + "}]}]";
      const auto view = read_explain_view(
          R"({"namespace":)" + text + R"(,"name":)" + text + R"(,"state":)" + state +
          R"(,"node":)" + text + R"(,"isolation":)" + text + R"(,"policy":)" + text +
          R"(,"grantKey":)" + text + R"(,"summary":)" + text + R"(,"note":)" + text +
          R"(,"findings":)" + findings + R"(,"request":{"models":[)" + text +
          R"(]},"containers":)" + containers + R"(,"nodes":[{"name":)" + text + R"(,"why":)" +
          text + R"(,"cards":)" + cards + R"(},{"name":)" + text + R"(,"fits":true,"blocked":)" +
          text + R"(},{"name":)" + text + R"(,"fits":true,"wouldGet":[)" + text + "]}]}");
      return view ? draw_explain(file_screen(), *view, true) : view.error().message;
    };
    const std::string text = drawn(odd);
    const std::string plain = drawn(R"("xyz")");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
              std::count(plain.begin(), plain.end(), '\n'))
        << text;
    EXPECT_NE(text.find("x??[2J?y/x??[2J?y is "), std::string::npos) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  }
}

TEST(ExplainTest, ReadsWhatItKnowsOfAPageAndPassesOverTheRest) {
  const auto view = read_explain_view(
      R"({"namespace":"ml","name":"p","state":"bound","node":"a","new":{"x":[1]},"containers":[]})");
  ASSERT_TRUE(view);
  EXPECT_EQ(draw_explain(file_screen(), *view, false),
            "ml/p is bound to node a and has no GPU card\n");
  EXPECT_EQ(read_explain_view(R"({"nodes":5})").error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace tangram::cli
