#include "bench/demo/report.hpp"

#include "bench/demo/refusals.hpp"
#include "model/fit.hpp"
#include "tests/drawing/builders.hpp"

#include <gtest/gtest.h>

namespace tangram::bench::demo {
namespace {

constexpr drawing::Style kPlainStyle{.colour = false, .width = 100};

TEST(ClusterViewTest, ReadsWhatTheExtenderShows) {
  const auto view = drawing::read_cluster_view(
      R"({"version":7,"nodes":[{"name":"n","present":true,"cpuMilli":4000,"freeCpuMilli":1000,)"
      R"("memMiB":5,"pods":2,"cards":[{"uuid":"GPU-0","kind":"physical","model":"T4",)"
      R"("healthy":false,"cordoned":true,"reason":"why","memMiB":100,"milli":1000,)"
      R"("grantedMemMiB":30,"grantedMilli":400,"isolation":null,"pods":[{"namespace":"a",)"
      R"("name":"p","uid":"u","container":"c","memMiB":30,"milli":400}]}]}],)"
      R"("pending":[{"namespace":"a","name":"q","uid":"v"}]})");
  ASSERT_TRUE(view) << view.error().message;
  ASSERT_EQ(view->nodes.size(), 1U);
  EXPECT_EQ(view->nodes[0].free_cpu_milli, 1000);
  ASSERT_EQ(view->card_count(), 1U);
  const drawing::CardView& card = view->nodes[0].cards[0];
  EXPECT_FALSE(card.healthy);
  EXPECT_TRUE(card.cordoned);
  EXPECT_EQ(card.reason, "why");
  EXPECT_EQ(card.mode, "");
  EXPECT_EQ(card.granted_mem_mib, 30);
  ASSERT_EQ(card.shares.size(), 1U);
  EXPECT_EQ(card.shares[0].milli, 400);
  EXPECT_EQ(view->pending, std::vector<std::string>{"a/q"});
  EXPECT_EQ(view->namespaces(), std::vector<std::string>{"a"});
}

TEST(ClusterViewTest, KnowsThePodsOfOneFamily) {
  EXPECT_EQ(drawing::family_of("serve-7b-6rbbb"), "serve-7b");
  EXPECT_EQ(drawing::family_of("hello-pair"), "hello-pair");
  EXPECT_EQ(drawing::family_of("hello-third"), "hello-third");  // five letters, but a word
  EXPECT_EQ(drawing::family_of("-bbbbb"), "-bbbbb");
  EXPECT_EQ(drawing::family_of(""), "");
}

TEST(ClusterViewTest, RefusesWhatIsNotSuchAText) {
  EXPECT_FALSE(drawing::read_cluster_view("[1]"));
  EXPECT_FALSE(drawing::read_cluster_view(R"({"nodes":[{"name":3}]})"));
}

TEST(SeriesTest, FindsTheSeriesThatIsWrittenExactlySo) {
  constexpr std::string_view kPage =
      "# HELP a Some.\n# TYPE a gauge\nab 3\na 0.25\nb{verb=\"bind\"} 7\nb{verb=\"filter\"} 1e3\n";
  EXPECT_EQ(series_value(kPage, "a"), 0.25);
  EXPECT_EQ(series_value(kPage, "b{verb=\"filter\"}"), 1000);
  EXPECT_EQ(series_value(kPage, "b"), std::nullopt);
  EXPECT_EQ(series_value("", "a"), std::nullopt);
}

TEST(RefusalsTest, TheNearestNodesSentenceComesFirst) {
  ExtenderClient::Filtered answer;
  EXPECT_EQ(first_sentence(answer), "");
  const std::string model(model::reason(model::Misfit::kModel));
  const std::string isolation(model::reason(model::Misfit::kIsolationUnsupported));
  const std::string room(model::reason(model::Misfit::kRoom));
  answer.unresolvable = {{"n1", model}, {"n2", isolation}, {"n3", model}};
  EXPECT_EQ(first_sentence(answer), isolation);
  answer.failed = {{"n4", room}};
  EXPECT_EQ(first_sentence(answer), room);
  answer.error = "write 0.5";
  EXPECT_EQ(first_sentence(answer), "write 0.5");
}

TEST(RefusalsTest, GroupsBySentenceTheCommonestFirst) {
  Refusals refusals;
  refusals.add("too large", "a/x", "gpu-mem=96Gi");
  refusals.add("no room", "b/y", "gpu-fraction=1");
  refusals.add("no room", "b/z", "");
  const auto groups = refusals.groups();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].sentence, "no room");
  EXPECT_EQ(groups[0].pods, 2U);
  EXPECT_EQ(groups[0].example, "b/y");
  EXPECT_EQ(
      refusals.draw(kPlainStyle),
      "  2  no room\n     e.g. b/y: gpu-fraction=1\n  1  too large\n     e.g. a/x: gpu-mem=96Gi\n");
}

TEST(ReportTest, TellsWhatAPodGot) {
  EXPECT_EQ(
      draw_highlight(kPlainStyle,
                     {.pod = "llm/a", .request = "gpu-count=2", .node = "n1", .outcome = " #0 #1"}),
      "✔ llm/a                     gpu-count=2                                → n1 #0 #1\n");
  const auto lines = drawing::lines_of(draw_highlight(
      kPlainStyle, {.pod = "x/bad", .request = "gpu-mem=8", .node = "", .outcome = "write 8Gi"}));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "✘ x/bad                     gpu-mem=8");
  EXPECT_EQ(lines[1], std::string(28, ' ') + "→ write 8Gi");
}

TEST(ReportTest, ProgressFitsTheLook) {
  const drawing::Style narrow{.colour = false, .width = drawing::kMinWidth};
  const Driver::Counts counts{.arrived = 180, .running = 100, .waiting = 20, .ended = 60};
  const std::string line = draw_progress(narrow, counts, 360, 0.5);
  EXPECT_EQ(line.substr(0, 22), "[##########          ]");
  EXPECT_LE(drawing::columns_of(line), static_cast<std::size_t>(drawing::kMinWidth));
}

TEST(ReportTest, ShowsEveryBrokenRule) {
  Audit audit;
  EXPECT_NE(draw_checks(kPlainStyle, audit).find("✔"), std::string::npos);
  audit.bound_without_grant("a/b");
  const std::string drawn = draw_checks(kPlainStyle, audit);
  EXPECT_NE(drawn.find("✘ 1 of 1 checks failed"), std::string::npos);
  EXPECT_NE(drawn.find("pod a/b requests a card"), std::string::npos);
}

TEST(ReportTest, NumbersComeFromTheMetricsPage) {
  const std::string drawn =
      draw_numbers(kPlainStyle,
                   "tangram_fragmentation_ratio 0.25\ntangram_stranded_memory_bytes 2147483648\n"
                   "tangram_extender_request_duration_seconds_count{verb=\"filter\"} 4\n"
                   "tangram_extender_request_duration_seconds_sum{verb=\"filter\"} 0.002\n",
                   {}, {0.0, 1.0});
  EXPECT_NE(drawn.find("25.0 % of the idle GPU"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("2.0 GiB free"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("4 requests, 500 µs"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("not available"), std::string::npos) << drawn;  // binds are not on this page
}

TEST(ReportTest, NextStepsLeaveOutPodsThatAreNotThere) {
  const std::string with = draw_next_steps(kPlainStyle, "127.0.0.1:1", "a/run", "b/wait");
  EXPECT_NE(with.find("explain?namespace=b&pod=wait"), std::string::npos);
  EXPECT_NE(with.find("explain?namespace=a&pod=run"), std::string::npos);
  EXPECT_EQ(draw_next_steps(kPlainStyle, "127.0.0.1:1", "", "").find("explain"), std::string::npos);
}

}  // namespace
}  // namespace tangram::bench::demo
