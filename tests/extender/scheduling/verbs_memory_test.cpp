// The memory that the verbs take for pods of many labels.

#include "cluster/allocations.hpp"
#include "extender/scheduling/denials.hpp"
#include "extender/scheduling/promises.hpp"
#include "model/ledger.hpp"
#include "tests/testing/allocations.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tangram::extender {
namespace {

using testing::PeakAllocation;

/// A label of 63 characters takes about 200 bytes.
constexpr std::size_t kMostBytes = cluster::kMaxLabels * 400;

kube::Pod pod_with_labels(const std::string& uid, std::size_t labels) {
  kube::Pod pod;
  pod.uid = uid;
  for (std::size_t i = 0; i < labels; ++i) {
    pod.labels.emplace(std::to_string(i), std::string(63, 'x'));
  }
  return pod;
}

TEST(VerbsMemoryTest, PromisesOfManyNodesKeepNoLabels) {
  const testing::ManualClock clock;
  Promises promises(clock);
  const kube::Pod pod = pod_with_labels("p", cluster::kMaxLabels);
  std::map<std::string, Victims, std::less<>> nodes;
  for (int i = 0; i < 100; ++i) nodes[std::to_string(i)] = {.uids = {"victim"}};
  const PeakAllocation peak;
  promises.made(pod, nodes);
  EXPECT_EQ(promises.nominated().size(), 100U);
  EXPECT_LT(peak.bytes(), kMostBytes);
}

TEST(VerbsMemoryTest, DenialsOfManyPodsKeepNoLabels) {
  testing::ManualClock clock;
  model::Ledger ledger(clock);
  Denials denials(clock);
  kube::Pod pod = pod_with_labels("", cluster::kMaxLabels);
  const PeakAllocation peak;
  for (int i = 0; i < 100; ++i) {
    pod.uid = std::to_string(i);
    denials.denied(pod, {}, *ledger.snapshot(), false);
  }
  EXPECT_EQ(denials.all().size(), 100U);
  EXPECT_LT(peak.bytes(), kMostBytes);
}

/// A request of the verbs about a pod with this number of labels. One label names its group.
std::string request(std::size_t labels) {
  testing::PodText pod;
  for (std::size_t i = 1; i < labels; ++i) pod.labels.emplace(std::to_string(i), "");
  pod.labels.emplace("scheduling.x-k8s.io/pod-group", "g");
  return R"({"Pod":)" + testing::pod_json(pod) + R"(,"NodeNames":[],"NodeNameToMetaVictims":{}})";
}

TEST(VerbsMemoryTest, ReadNoMoreLabelsThanTheWatch) {
  Body few(request(cluster::kMaxLabels));
  EXPECT_EQ(decode_filter_args(few)->pod.labels.size(), cluster::kMaxLabels);
  Body many(request(cluster::kMaxLabels + 1));
  const auto filtered = decode_filter_args(many);
  EXPECT_TRUE(filtered->pod.labels.empty());
  EXPECT_TRUE(filtered->pod.binds_late) << "as one of the labels says";
  Body preempting(request(cluster::kMaxLabels + 1));
  EXPECT_TRUE(decode_preempt_args(preempting)->pod.labels.empty());
}

}  // namespace
}  // namespace tangram::extender
