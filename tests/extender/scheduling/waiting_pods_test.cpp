#include "extender/scheduling/waiting_pods.hpp"

#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

namespace tangram::extender {
namespace {

using Counts = std::map<Wait, std::size_t>;

kube::Pod pod(const std::string& uid, const std::string& node = "") {
  kube::Pod pod;
  pod.uid = uid;
  pod.node = node;
  return pod;
}

Result<cluster::PodPlan> asks(bool gpu) {
  cluster::PodPlan plan;
  if (gpu) plan.demand.gpu.containers.emplace_back();
  return plan;
}

/// Those that are not zero.
Counts seen(const WaitingPods& waiting) {
  Counts counts = waiting.counts();
  EXPECT_EQ(counts.size(), kWaits) << "every reason has its series";
  std::erase_if(counts, [](const auto& entry) { return entry.second == 0; });
  return counts;
}

TEST(WaitingPodsTest, FollowsAPodFromItsCreationToItsNode) {
  WaitingPods waiting;
  waiting.seen(pod("a"), asks(true));
  EXPECT_EQ(seen(waiting), (Counts{{Wait::kNotAsked, 1}}));
  waiting.answered("a", Wait::kRoom);
  waiting.seen(pod("a"), asks(true));  // kube-scheduler writes its condition
  EXPECT_EQ(seen(waiting), (Counts{{Wait::kRoom, 1}}));
  waiting.answered("a", Wait::kOffered);
  EXPECT_EQ(seen(waiting), (Counts{{Wait::kOffered, 1}}));
  waiting.seen(pod("a", "n1"), asks(true));
  EXPECT_EQ(seen(waiting), Counts{});
}

TEST(WaitingPodsTest, CountsPodsThatAskForAGpuAlone) {
  WaitingPods waiting;
  waiting.seen(pod("cpu"), asks(false));
  waiting.seen(pod("bound", "n1"), asks(true));
  EXPECT_EQ(seen(waiting), Counts{});
}

TEST(WaitingPodsTest, KeepsWhatWasToldBeforeTheWatchShowsThePod) {
  WaitingPods waiting;
  waiting.answered("a", Wait::kRoom);
  waiting.seen(pod("a"), asks(true));
  EXPECT_EQ(seen(waiting), (Counts{{Wait::kRoom, 1}}));
}

TEST(WaitingPodsTest, DropsWhatIsToldOfPodsThatAreNotThere) {
  WaitingPods waiting;
  waiting.seen(pod("a"), asks(true));
  waiting.answered("never shown", Wait::kRoom);
  waiting.forget_unseen();
  EXPECT_EQ(seen(waiting), (Counts{{Wait::kNotAsked, 1}}));
}

TEST(WaitingPodsTest, ForgetsWhatEnds) {
  WaitingPods waiting;
  waiting.seen(pod("a"), asks(true));
  waiting.seen(pod("b"), asks(true));
  waiting.forget("a");
  waiting.forget("a");
  EXPECT_EQ(seen(waiting), (Counts{{Wait::kNotAsked, 1}}));
}

TEST(WaitingPodsTest, AMistakeOfThePodCountsUntilItIsMended) {
  WaitingPods waiting;
  waiting.seen(pod("a"), fail(Errc::kInvalidArgument, "write 0.333"));
  EXPECT_EQ(seen(waiting), (Counts{{Wait::kInvalid, 1}}));
  waiting.seen(pod("a"), asks(true));
  EXPECT_EQ(seen(waiting), (Counts{{Wait::kNotAsked, 1}}));
}

TEST(WaitingPodsTest, ShowsEveryReasonAsAMetric) {
  WaitingPods waiting;
  for (const char* uid : {"a", "b"}) waiting.answered(uid, Wait::kRoom);
  const auto families = waiting.Collect();
  ASSERT_EQ(families.size(), 1U);
  EXPECT_EQ(families[0].name, "tangram_waiting_pods");
  std::map<std::string, double> shown;
  for (const auto& metric : families[0].metric) {
    ASSERT_EQ(metric.label.size(), 1U);
    EXPECT_EQ(metric.label[0].name, "reason");
    shown[metric.label[0].value] = metric.gauge.value;
  }
  EXPECT_EQ(shown.size(), kWaits);
  EXPECT_EQ(shown["room"], 2);
  EXPECT_EQ(shown["offered"], 0);
}

TEST(WaitingPodsTest, NamesEveryReasonOnce) {
  std::map<std::string_view, int> names;
  for (const Wait wait : kAllWaits) ++names[to_string(wait)];
  EXPECT_EQ(names.size(), kWaits);
}

TEST(WaitingPodsTest, TellsFullCardsFromThoseThatWillNeverDo) {
  using model::Misfit;
  for (const Misfit never : {Misfit::kUnknownNode, Misfit::kNoCards, Misfit::kModel,
                             Misfit::kCardId, Misfit::kIsolationUnsupported, Misfit::kTooLarge}) {
    EXPECT_EQ(wait_for(never), Wait::kNoSuchCard);
  }
  EXPECT_EQ(wait_for(Misfit::kUnavailable), Wait::kUnavailable);
  EXPECT_EQ(wait_for(Misfit::kIsolationBusy), Wait::kIsolationBusy);
  EXPECT_EQ(wait_for(Misfit::kSharers), Wait::kSharers);
  EXPECT_EQ(wait_for(Misfit::kRoom), Wait::kRoom);
  EXPECT_EQ(wait_for(Misfit::kTogether), Wait::kRoom);
}

}  // namespace
}  // namespace tangram::extender
