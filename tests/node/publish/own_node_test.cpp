#include "node/publish/own_node.hpp"

#include "kube/local/api.hpp"
#include "tests/testing/fault_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/odd_fields.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using std::chrono::seconds;

TEST(OwnNodeTest, ReadsWhatTheRecordIsMadeOf) {
  const auto node = decode_own_node(
      R"({"metadata":{"name":"gpu-1","uid":"u-1","resourceVersion":"42","labels":{"a":"b",)"
      R"("nvidia.com/device-plugin.config":"quarter","tangram.dev/agent.config":"wide",)"
      R"("tangram.dev/gpu":"true","tangram.dev/gpu-model":"A100"},"annotations":{"x":"y",)"
      R"("tangram.dev/cards":"{}","tangram.dev/resizes":"{1}","tangram.dev/cordon":"GPU-1"}},"spec":{"podCIDR":"10.0.0.0/24"},)"
      R"("status":{"capacity":{"cpu":"8","tangram.dev/gpu-milli":"4k","tangram.dev/gpu-mem-mib":)"
      R"("81920","nvidia.com/gpu":"0","nvidia.com/mig-1g.10gb":"7"},)"
      R"("allocatable":{"nvidia.com/gpu":"4"},"nodeInfo":{"kubeletVersion":"v1.36.3",)"
      R"("osImage":"x","containerRuntimeVersion":"containerd://2.1.9"}}})");
  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(node->name, "gpu-1");
  EXPECT_EQ(node->uid, "u-1");
  EXPECT_EQ(node->version, "42");
  EXPECT_EQ(node->cards, "{}");
  EXPECT_EQ(node->resizes, "{1}");
  EXPECT_EQ(node->cordon, "GPU-1");
  EXPECT_EQ(node->gpu_label, "true");
  EXPECT_EQ(node->model_label, "A100");
  EXPECT_EQ(node->sharing_choice, "quarter");
  EXPECT_EQ(node->pool, "wide");
  EXPECT_EQ(node->labels, (NodeLabels{{"a", "b"}}));
  EXPECT_EQ(node->milli, KubeQuantity::parse("4000").value());
  EXPECT_EQ(node->memory, KubeQuantity::parse("81920").value());
  EXPECT_EQ(node->foreign, std::set<std::string>{"nvidia.com/mig-1g.10gb"});
  EXPECT_EQ(node->software.kubelet, "v1.36.3");
  EXPECT_EQ(node->software.runtime, "containerd://2.1.9");
}

TEST(OwnNodeTest, BareNodeHasNothingOfOurs) {
  const auto node = decode_own_node(R"({"metadata":{"name":"gpu-1","uid":"u-1"}})");
  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_FALSE(node->cards || node->gpu_label || node->model_label || node->milli || node->memory);
  EXPECT_TRUE(node->foreign.empty());
}

TEST(OwnNodeTest, ReadsOthersLabelsAndWhoWroteThem) {
  const auto node = decode_own_node(
      R"({"metadata":{"name":"gpu-1","uid":"u-1","labels":{"nvidia.com/gpu.count":"2","zone":"z1",)"
      R"("tangram.dev/gpu":"true"},"annotations":{"tangram.dev/written-labels":"a=b","x":{"y":[]},)"
      R"("nfd.node.kubernetes.io/feature-labels":"cpu-x,nvidia.com/gpu.count",)"
      R"("net.nfd.node.kubernetes.io/feature-labels":"nvidia.com/gpu.mode"}}})");
  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(node->labels, (NodeLabels{{"nvidia.com/gpu.count", "2"}, {"zone", "z1"}}));
  EXPECT_EQ(node->written_labels, "a=b");
  EXPECT_EQ(node->discovered, (std::set<std::string, std::less<>>{"cpu-x", "nvidia.com/gpu.count",
                                                                  "nvidia.com/gpu.mode"}));
}

TEST(OwnNodeTest, PassesOverManagedFields) {
  const auto node = decode_own_node(testing::with_odd_fields(
      R"({"metadata":{"name":"gpu-1","uid":"u-1","annotations":{"tangram.dev/cards":"{}"}}})"));
  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(node->cards, "{}");
}

TEST(OwnNodeTest, RefusesWhatIsNoNode) {
  constexpr const char* kNoNumber =
      R"({"metadata":{"name":"gpu-1","uid":"u"},"status":{"capacity":)"
      R"({"tangram.dev/gpu-milli":"many"}}})";
  for (const char* text : {"", "[]", "{}", R"({"metadata":{"name":"gpu-1"}})", kNoNumber}) {
    const auto node = decode_own_node(text);
    ASSERT_FALSE(node.has_value()) << text;
    EXPECT_EQ(node.error().code, Errc::kInvalidArgument);
  }
}

TEST(OwnNodeTest, IsReadFromTheApiServer) {
  const testing::ManualClock clock;
  kube::LocalApi api(clock);
  testing::FaultApi faulty(api);
  EXPECT_EQ(read_own_node(faulty, "gpu-1", seconds(1)).error().code, Errc::kNotFound);
  ASSERT_EQ(api.call(testing::write_request(kube::Method::kPost, "/api/v1/nodes",
                                            testing::node_json("gpu-1")))
                ->status,
            201);
  const auto node = read_own_node(faulty, "gpu-1", seconds(1));
  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(node->name, "gpu-1");
  faulty.will_answer({kube::Method::kGet, "/gpu-1"}, 503);
  EXPECT_EQ(read_own_node(faulty, "gpu-1", seconds(1)).error().code, Errc::kUnavailable);
  faulty.will({kube::Method::kGet, "/gpu-1"}, testing::Fault::Kind::kLoseBefore);
  EXPECT_EQ(read_own_node(faulty, "gpu-1", seconds(1)).error().code, Errc::kUnavailable);
}

TEST(OwnNodeTest, VersionsAreNumbersOfAnyLength) {
  EXPECT_TRUE(is_newer("10", "9"));
  EXPECT_TRUE(is_newer("43", "42"));
  EXPECT_TRUE(is_newer("1", ""));
  EXPECT_FALSE(is_newer("42", "42"));
  EXPECT_FALSE(is_newer("9", "10"));
}

}  // namespace
}  // namespace tangram::node
