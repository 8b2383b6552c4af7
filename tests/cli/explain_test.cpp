#include "cli/explain.hpp"

#include "cli/pages.hpp"
#include "tests/cli/rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::cli {
namespace {

std::string explained(Rig& rig, const std::string& pod, bool all = false) {
  auto page = explain_page(*rig.cluster(), "ml", pod);
  if (!page) return page.error().message;
  const auto view = read_explain_view(std::move(*page));
  if (!view) return view.error().message;
  return draw_explain(file_screen(), *view, all);
}

TEST(ExplainTest, SaysWithTheNumbersWhyAPodWaits) {
  Rig rig;
  rig.fill();
  rig.add_pod("pair", {{"gpu-count", "2"}, {"gpu-mem", "60Gi"}, {"gpu-isolation", "none"}});
  EXPECT_EQ(
      explained(rig, "pair"),
      "ml/pair is pending: fits none of 2 nodes: 1 x node has fewer GPU cards than the pod asks "
      "for; 1 x GPU cards are in use with another isolation\n"
      "requests main 2 × 60Gi; isolation none, policy binpack\n"
      "\n"
      "a: GPU cards are in use with another isolation\n"
      "  CARD    MODEL       FREE      NEEDED  SHARERS  MODE  THIS CARD\n"
      "  GPU-a0  A100   40Gi, 0.5  60Gi, 0.75     1/48  mps   is in use with another "
      "isolation\n"
      "  GPU-a1  A100     80Gi, 1  60Gi, 0.75     0/48  -     fits\n"
      "\n"
      "b: node has fewer GPU cards than the pod asks for\n"
      "\n"
      "note: kube-scheduler also looks at CPU, memory, taints, affinity and volumes; and it "
      "evicts pods for a higher priority only where slots or aggregates are short, not for "
      "room on one card\n");
}

TEST(ExplainTest, ShowsWhatItWouldGetWhereItFits) {
  Rig rig;
  rig.fill();
  rig.add_pod("small", {{"gpu-fraction", "0.25"}});
  EXPECT_EQ(
      explained(rig, "small"),
      "ml/small is pending: fits 2 of 2 nodes by their cards; if it still waits, `kubectl describe "
      "pod` names what else kube-scheduler lacks\n"
      "requests main 0.25; isolation mps, policy binpack\n"
      "\n"
      "a: fits, would get GPU-a0\n"
      "b: fits, would get GPU-b0\n"
      "\n"
      "note: kube-scheduler also looks at CPU, memory, taints, affinity and volumes; and it "
      "evicts pods for a higher priority only where slots or aggregates are short, not for "
      "room on one card\n");
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
            "ml/half is bound to node a, isolation mps\n"
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

TEST(ExplainTest, SaysWhatIsWrongWithThePod) {
  Rig rig;
  rig.fill();
  rig.add_pod("wrong", {{"gpu-fraction", "0.3333"}});
  EXPECT_NE(explained(rig, "wrong").find("write 0.333"), std::string::npos);
  const std::string uid = rig.add_pod("differs", {{"gpu-fraction", "0.5"}});
  rig.bind("differs", uid, "b", {testing::granted("GPU-b0", 100, 100)});
  EXPECT_NE(explained(rig, "differs").find("GrantDiffers: the grant is not what"),
            std::string::npos);
  EXPECT_NE(explained(rig, "no-such-pod").find("no pod ml/no-such-pod waits"), std::string::npos);
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
