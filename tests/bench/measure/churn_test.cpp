#include "bench/measure/verb_bench.hpp"
#include "bench/synthetic_api.hpp"
#include "kube/objects.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::bench {
namespace {

/// What a watch of pods shows until `count` events have come.
std::vector<std::string> frames_of(SyntheticApi& api, std::size_t count) {
  std::vector<std::string> frames;
  const auto take = [&](std::string frame) {
    frames.push_back(std::move(frame));
    return frames.size() < count;
  };
  EXPECT_TRUE(api.watch({.method = kube::Method::kGet, .path = "/api/v1/pods"}, take, {}));
  return frames;
}

kube::Pod pod_in(const std::string& frame) {
  constexpr std::string_view kObject = R"("object":)";
  const std::size_t begin = frame.find(kObject) + kObject.size();
  return kube::decode_pod(frame.substr(begin, frame.size() - begin - 1)).value();
}

TEST(ChurnTest, BeginsEachPodBeforeTheOneThatItReplacesEnds) {
  // Cards of five pods are full; the last of the four has room for both.
  SyntheticApi api({.nodes = 2, .cards_per_node = 2, .pods = 19, .pod_milli = 200});
  const Churn churn(api, 10'000);
  const auto frames = frames_of(api, 200);
  std::map<std::string, int> running;  // by UID
  for (int number = 0; number < 19; ++number) {
    ++running[kube::decode_pod(api.running_pod(number)).value().uid];
  }
  for (std::size_t i = 0; i + 1 < frames.size(); i += 2) {
    ASSERT_TRUE(frames[i].starts_with(R"({"type":"ADDED")")) << frames[i];
    ASSERT_TRUE(frames[i + 1].starts_with(R"({"type":"DELETED")")) << frames[i + 1];
    const kube::Pod begun = pod_in(frames[i]);
    const kube::Pod ended = pod_in(frames[i + 1]);
    ASSERT_EQ(++running[begun.uid], 1);
    ASSERT_NE(begun.name, ended.name);
    ASSERT_EQ(begun.node, ended.node);
    ASSERT_EQ(begun.node, "gpu-node-00001") << "the other cards are full";
    ASSERT_EQ(--running[ended.uid], 0);
  }
}

TEST(ChurnTest, NeedsACardWithRoomForBoth) {
  SyntheticApi full({.nodes = 1, .cards_per_node = 1, .pods = 5, .pod_milli = 200});
  EXPECT_THROW(Churn(full, 100), std::invalid_argument);
  EXPECT_NO_THROW(Churn(full, 0));
}

}  // namespace
}  // namespace tangram::bench
