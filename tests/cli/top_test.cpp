#include "cli/top.hpp"

#include "cli/pages.hpp"
#include "tests/cli/rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::cli {
namespace {

drawing::ClusterView view_of(const Cluster& cluster) {
  auto view = drawing::read_cluster_view(cluster_page(cluster));
  if (!view) throw std::runtime_error(view.error().message);
  keep_nodes(*view, {});
  return std::move(*view);
}

TEST(TopTest, ShowsSumsAndEveryCardAsBars) {
  Rig rig;
  rig.fill();
  EXPECT_EQ(draw_top(file_screen(), view_of(*rig.cluster())),
            "3 cards on 2 nodes; 1 pod on them, 1 pending\n"
            "memory 40.0 of 175.0 GiB (23%), compute 0.5 of 3 cards (17%) granted\n"
            "\n"
            "a         25%  granted, 1 pod, 7 of 8 CPUs free: 2 × A100\n"
            "  mem  [AAAAAAA.......] [..............]\n"
            "  gpu  [AAAAAAA.......] [..............]\n"
            "            #0 50%           #1 0%\n"
            "b         0%   granted, 0 pods, 8 of 8 CPUs free: 1 × T4\n"
            "  mem  [.......]\n"
            "  gpu  [.......]\n"
            "         #0 0%\n"
            "cards granted to A=ml 0.5\n");
}

TEST(TopTest, ShowsALineForEveryCard) {
  Rig rig;
  rig.fill();
  EXPECT_EQ(draw_top_wide(file_screen(), view_of(*rig.cluster())),
            "3 cards on 2 nodes; 1 pod on them, 1 pending\n"
            "memory 40.0 of 175.0 GiB (23%), compute 0.5 of 3 cards (17%) granted\n"
            "\n"
            "NODE  #  UUID    MODEL  MEMORY GiB  MEMORY        GPU  PODS  MODE  STATE\n"
            "a     0  GPU-a0  A100    40.0/80.0  [#####.....]  50%     1  mps   ok\n"
            "a     1  GPU-a1  A100     0.0/80.0  [..........]   0%     0  -     ok\n"
            "b     0  GPU-b0  T4       0.0/15.0  [..........]   0%     0  -     ok\n");
}

TEST(TopTest, SaysWhatIsWrongWithCards) {
  Rig rig;
  model::Card unhealthy = testing::card("GPU-s");
  unhealthy.healthy = false;
  unhealthy.unavailable_reason = "the driver does not answer";
  rig.add_node("a", {unhealthy, testing::card("GPU-o")});
  rig.add_bound("p", "1", "a", {testing::granted("GPU-o", 81'920, 1'000)});
  rig.add_bound("q", "0.5", "a", {testing::granted("GPU-o", 40'960, 500)});
  const drawing::ClusterView view = view_of(*rig.cluster());
  const std::string text = draw_top_wide(file_screen(), view);
  EXPECT_NE(text.find("2 cards (1 takes no new pods) on 1 node"), std::string::npos) << text;
  EXPECT_NE(text.find("the driver does not answer"), std::string::npos) << text;
  EXPECT_NE(text.find("1 card granted beyond capacity"), std::string::npos) << text;
  EXPECT_NE(text.find("150%"), std::string::npos) << text;
}

TEST(TopTest, AReasonAddsNoLine) {
  drawing::CardView card;
  card.uuid = "GPU-1";
  card.model = "A100";
  card.mem_mib = 81'920;
  drawing::ClusterView view;
  view.nodes.push_back({.name = "a", .cards = {card}});
  const auto lines = [&] {
    const std::string text = draw_top_wide(file_screen(), view);
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto before = lines();
  view.nodes[0].cards[0].reason = "XID 79\nb     0  GPU-b0  T4  ok";
  EXPECT_EQ(lines(), before);
}

TEST(TopTest, NoNameAddsALine) {
  const auto drawn = [](const std::string& name) {
    std::string page = R"({"nodes":[{"name":"NAME","cards":[{"uuid":"GPU-1","model":"NAME",)"
                       R"("memMiB":81920,"milli":1000,"pods":[{"namespace":"NAME","name":"NAME",)"
                       R"("memMiB":8192,"milli":100}]}]}],"pending":[]})";
    for (std::size_t at = 0; (at = page.find("NAME", at)) != std::string::npos;) {
      page.replace(at, 4, name);
    }
    const auto view = drawing::read_cluster_view(page);
    return view ? draw_top(file_screen(), *view) : view.error().message;
  };
  const std::string odd = drawn(R"(x\n\u001b[2J\u202e)");
  const std::string plain = drawn("x");
  EXPECT_EQ(std::count(odd.begin(), odd.end(), '\n'), std::count(plain.begin(), plain.end(), '\n'))
      << odd;
  EXPECT_NE(odd.find("\nx??[2J? "), std::string::npos) << odd;
  EXPECT_EQ(odd.find('\x1b'), std::string::npos);
}

TEST(TopTest, SaysWhereThereIsNothing) {
  Rig rig;
  const std::string nothing = "no node lists GPU cards; `kubectl tangram doctor` says why\n";
  EXPECT_EQ(draw_top(file_screen(), view_of(*rig.cluster())), nothing);
  rig.ask(testing::write_request(kube::Method::kPost, "/api/v1/nodes", testing::node_json("cpu")));
  EXPECT_EQ(draw_top(file_screen(), view_of(*rig.cluster())), nothing) << "no GPU node";
  EXPECT_EQ(draw_top_wide(file_screen(), view_of(*rig.cluster())), nothing);
}

TEST(TopTest, KeepsTheNamedNodes) {
  Rig rig;
  rig.fill();
  auto view = drawing::read_cluster_view(cluster_page(*rig.cluster()));
  ASSERT_TRUE(view);
  EXPECT_EQ(keep_nodes(*view, {"b", "zebra"}), std::vector<std::string>{"zebra"});
  ASSERT_EQ(view->nodes.size(), 1U);
  EXPECT_EQ(view->nodes[0].name, "b");
}

TEST(TopTest, DrawsTheFullestOfFiveThousandNodes) {
  drawing::ClusterView cluster;
  for (int i = 0; i < 5'000; ++i) {
    drawing::CardView card;
    card.uuid = "GPU-" + std::to_string(i);
    card.model = "A100";
    card.mem_mib = 81'920;
    card.milli = 1'000;
    card.granted_milli = i;  // the last ones are the fullest
    drawing::NodeView node;
    node.name = "n" + std::to_string(10'000 + i);
    node.cards = {card};
    cluster.nodes.push_back(node);
  }
  const std::string text = draw_top(file_screen(), cluster);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 200);
  EXPECT_NE(text.find("5000 cards on 5000 nodes"), std::string::npos) << text;
  EXPECT_NE(text.find("n14999"), std::string::npos);
  EXPECT_EQ(text.find("n10000"), std::string::npos);
  EXPECT_NE(text.find("the 40 fullest of 5000 nodes"), std::string::npos);
}

TEST(TopTest, ColoursOnlyWhereTheLookHasThem) {
  Rig rig;
  rig.fill();
  const drawing::ClusterView view = view_of(*rig.cluster());
  EXPECT_EQ(draw_top(file_screen(), view).find('\x1b'), std::string::npos);
  EXPECT_EQ(draw_top_wide(file_screen(), view).find('\x1b'), std::string::npos);
  const Screen coloured{{.colour = true, .width = 100}, true, 100};
  EXPECT_NE(draw_top(coloured, view).find('\x1b'), std::string::npos);
  EXPECT_NE(draw_top_wide(coloured, view).find('\x1b'), std::string::npos);
}

TEST(TopTest, DrawsFreeRoomInTheTerminalsOwnLight) {
  Rig rig;
  rig.fill();
  const drawing::ClusterView view = view_of(*rig.cluster());
  const Screen light{{.colour = true, .width = 100, .light = true}, true, 100};
  const Screen dark{{.colour = true, .width = 100}, true, 100};
  EXPECT_NE(draw_top(light, view).find("48;5;252"), std::string::npos);
  EXPECT_EQ(draw_top(light, view).find("48;5;237"), std::string::npos);
  EXPECT_NE(draw_top(dark, view).find("48;5;237"), std::string::npos);
}

TEST(TopTest, ShowsACardFullOnlyIfItIs) {
  drawing::ClusterView cluster;
  drawing::CardView card;
  card.uuid = "GPU-x";
  card.mem_mib = 81'920;
  card.granted_mem_mib = 81'000;
  cluster.nodes = {{.name = "n", .cards = {card}}};
  EXPECT_NE(draw_top_wide(file_screen(), cluster).find("[#########.]"), std::string::npos);
  cluster.nodes[0].cards[0].granted_mem_mib = 81'920;
  EXPECT_NE(draw_top_wide(file_screen(), cluster).find("[##########]"), std::string::npos);
  cluster.nodes[0].cards[0].granted_mem_mib = 1;
  EXPECT_NE(draw_top_wide(file_screen(), cluster).find("[#.........]"), std::string::npos);
}

TEST(TopTest, KeepsToANarrowTerminal) {
  Rig rig;
  rig.fill();
  const std::string text = draw_top(terminal(60), view_of(*rig.cluster()));
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(drawing::columns_of(text.substr(begin, end - begin)), 60U);
  }
}

}  // namespace
}  // namespace tangram::cli
