#include "cli/fit.hpp"

#include "tests/cli/rig.hpp"

#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

class FitTest : public ::testing::Test {
 protected:
  FitResult fit(const FitRequest& request) {
    const auto cluster = rig_.cluster();
    auto result = compute_fit(*cluster, request);
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
  }
  Error refusal(const FitRequest& request) {
    const auto cluster = rig_.cluster();
    const auto result = compute_fit(*cluster, request);
    EXPECT_FALSE(result);
    return result ? Error{} : result.error();
  }
  static FitRequest half() { return {.annotations = {{"gpu-fraction", "0.5"}}}; }

  Rig rig_;
};

TEST_F(FitTest, CountsWhatFitsBesidesWhatIsThere) {
  rig_.fill();  // a: one half and one whole card are free; b: a whole one
  const FitResult found = fit(half());
  EXPECT_TRUE(found.fits());
  EXPECT_EQ(found.capacity.pods, 5U);
  EXPECT_FALSE(found.capacity.more);
  ASSERT_EQ(found.capacity.nodes.size(), 2U);
  EXPECT_EQ(found.capacity.nodes[0].first, "a");
  EXPECT_EQ(found.capacity.nodes[0].second.size(), 3U);
  EXPECT_EQ(found.capacity.nodes[1].second.size(), 2U);
}

TEST_F(FitTest, DrawsWhereTheyWouldGo) {
  rig_.fill();
  EXPECT_EQ(draw_fit(file_screen(), fit({.annotations = {{"gpu-mem", "30Gi"}}}), false),
            "3 more pods of 30Gi fit (isolation mps, policy binpack)\n"
            "\n"
            "NODE  PODS  CARDS\n"
            "a        3  GPU-a0, GPU-a1 ×2\n"
            "\n"
            "nodes without room:\n"
            "  1 × request is larger than the node's GPU cards\n");
}

TEST_F(FitTest, SaysWhetherTheRequestedNumberFits) {
  rig_.fill();
  FitRequest request = half();
  request.count = 2;
  const FitResult good = fit(request);
  EXPECT_TRUE(good.fits());
  ASSERT_EQ(good.places.size(), 2U);
  EXPECT_EQ(good.places[0].containers.at(0).cards.at(0).uuid, "GPU-a0") << "the card in use first";
  request.count = 6;
  const FitResult bad = fit(request);
  EXPECT_FALSE(bad.fits());
  EXPECT_EQ(bad.places.size(), 5U);
  EXPECT_EQ(draw_fit(file_screen(), bad, false).substr(0, 50),
            "6 more pods of 0.5 do not fit, 5 would (isolation ");
  EXPECT_EQ(draw_fit(file_screen(), good, false).substr(0, 54),
            "2 more pods of 0.5 fit, and up to 5 would (isolation m");
}

TEST_F(FitTest, RespectsSlotsCpuAndCordonedNodes) {
  rig_.add_node("a", {testing::card("GPU-a0")}, "", "{unschedulable: true}");
  rig_.add_node("b", {testing::card("GPU-b0")});
  FitRequest request{.annotations = {{"gpu-fraction", "0.01"}}};
  const FitResult slots = fit(request);
  EXPECT_EQ(slots.capacity.pods, 16U) << "b has 16 slots";
  EXPECT_EQ(slots.capacity.none.reasons,
            (std::map<std::string, std::size_t>{{"node is cordoned (kubectl uncordon)", 1}}));
  request.cpu = "3";
  EXPECT_EQ(fit(request).capacity.pods, 2U) << "8 cores";
  request.cpu = "";
  request.memory = "33Gi";
  EXPECT_EQ(fit(request).capacity.none.reasons.at("node has too little free memory"), 1U);
}

TEST_F(FitTest, SaysThatThereIsNothing) {
  EXPECT_FALSE(fit(half()).fits());
  EXPECT_EQ(draw_fit(file_screen(), fit(half()), false),
            "0 more pods of 0.5 fit (isolation mps, policy binpack)\n");
}

TEST_F(FitTest, ShowsTheFirstOfManyNodes) {
  for (int i = 0; i < 25; ++i) {
    const std::string number = std::to_string(100 + i);
    rig_.add_node("n" + number, {testing::card("GPU-" + number)});
  }
  const FitResult found = fit(half());
  const std::string few = draw_fit(file_screen(), found, false);
  EXPECT_NE(few.find("and 5 more nodes; all: -o wide"), std::string::npos) << few;
  EXPECT_EQ(few.find("n124"), std::string::npos);
  EXPECT_NE(draw_fit(file_screen(), found, true).find("n124"), std::string::npos);
}

TEST_F(FitTest, WritesJson) {
  rig_.fill();
  FitRequest request{.annotations = {{"gpu-count", "2"}}, .count = 1};
  EXPECT_EQ(fit_json(fit(request)),
            R"({"request":"2 cards","policy":"binpack","isolation":"mps","fits":false,"pods":0,)"
            R"("atLeast":false,"nodes":[],"reasons":{)"
            R"("no GPU card has enough free memory and compute":1,)"
            R"("node has fewer GPU cards than the pod asks for":1},"places":[]})");
}

TEST_F(FitTest, RefusesAsTheAnnotationsParserDoes) {
  rig_.fill();
  EXPECT_EQ(refusal({}).code, Errc::kInvalidArgument);
  EXPECT_NE(refusal({}).message.find("--gpu-fraction 0.5"), std::string::npos);
  EXPECT_NE(refusal({.annotations = {{"gpu-fraction", "0.3333"}}}).message.find("0.333"),
            std::string::npos);
  EXPECT_NE(refusal({.annotations = {{"gpu-count", "1"}}, .cpu = "x"}).message.find("--cpu: "),
            std::string::npos);
}

}  // namespace
}  // namespace tangram::cli
