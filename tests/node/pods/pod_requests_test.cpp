#include "node/pods/pod_requests.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

std::string requests(const std::string& map) { return R"("resources":{"requests":{)" + map + "}}"; }
std::string milli(int count) {
  return requests(R"("tangram.dev/gpu-milli":")" + std::to_string(count) + "\"");
}
std::string pod(const std::string& spec) {
  return R"({"metadata":{"name":"train-0"},"spec":{)" + spec + "}}";
}
Result<CardRequests> read_card_requests(std::string text) {
  json::Reader in(text);
  const auto pod = kube::read_manifest(in);
  if (auto done = in.finish(); !done) return done.error();
  return card_requests(pod);
}
CardRequests read(const std::string& text) {
  const auto read = read_card_requests(text);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return read ? *read : CardRequests{};
}

TEST(CardRequestsTest, ContainersAddUp) {
  const CardRequests got =
      read(pod(R"("containers":[{"name":"a",)" +
               requests(R"("tangram.dev/gpu-milli":"500","tangram.dev/gpu-mem-mib":"8k")") +
               R"(},{"name":"b",)" + requests(R"("tangram.dev/gpu-mem-mib":192,"cpu":"1")") +
               R"(},{"name":"c"}])"));
  EXPECT_EQ(got, (CardRequests{.milli = MilliGpu(500), .memory = Mebibytes(8'192)}));
}

TEST(CardRequestsTest, MissingRequestIsTheLimit) {
  const CardRequests got =
      read(pod(R"("containers":[{"resources":{"requests":{"tangram.dev/gpu-milli":"100"},)"
               R"("limits":{"tangram.dev/gpu-milli":"300","tangram.dev/gpu-mem-mib":"7"}}}])"));
  EXPECT_EQ(got, (CardRequests{.milli = MilliGpu(100), .memory = Mebibytes(7)}));
}

TEST(CardRequestsTest, SidecarsStayAndOrdinaryInitContainersRunAloneBesideThem) {
  const std::string sidecar = R"({"restartPolicy":"Always",)" + milli(100) + "}";
  const std::string inits =
      R"("initContainers":[{)" + milli(600) + "}," + sidecar + ",{" + milli(700) + "}]";
  // Starting: 600, then 100 + 700. Running: 100 + 500.
  EXPECT_EQ(read(pod(inits + R"(,"containers":[{)" + milli(500) + "}]")).milli, MilliGpu(800));
  // Running: 100 + 900; whatever comes first in the text.
  EXPECT_EQ(read(pod(R"("containers":[{)" + milli(900) + "}]," + inits)).milli, MilliGpu(1'000));
}

TEST(CardRequestsTest, PodWithoutAnyIsNothing) {
  EXPECT_EQ(read(pod("")), CardRequests{});
  EXPECT_EQ(read(pod(R"("containers":null,"initContainers":null)")), CardRequests{});
}

TEST(CardRequestsTest, RefusesWhatNoNodeHas) {
  const auto refused = read_card_requests(
      pod(R"("containers":[{)" + requests(R"("tangram.dev/gpu-milli":"1M")") + "}]"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("1000000 is more than any node has"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(read_card_requests("[]").has_value());
  EXPECT_FALSE(read_card_requests("{").has_value());
}

}  // namespace
}  // namespace tangram::node
