#include "cluster/allocations.hpp"

#include "tests/extender/rig.hpp"

#include <gtest/gtest.h>

namespace tangram::cluster {
namespace {

/// A bound pod of two containers, of which "main" holds a slot.
kube::Pod bound(std::int64_t milli, const std::string& signature = "") {
  kube::Pod pod;
  pod.uid = "u";
  pod.ns = "ml";
  pod.name = "p";
  pod.node = "n1";
  pod.containers = {{.name = "main", .slots = 1}, {.name = "side"}};
  pod.annotations["gpu-grant"] =
      model::encode({.pod_uid = "u",
                     .node = "n1",
                     .issued_at = "2026-01-01T00:00:00Z",
                     .isolation = model::Isolation::kMps,
                     .containers = {{"main", {testing::granted("n1-0", 4'096, milli)}}},
                     .signature = signature});
  return pod;
}

/// Only "good" is a signature that counts.
model::SignatureVerdict judge(std::string_view text) {
  const auto parts = model::split_signature(text);
  if (parts && parts->signature == "good") return {.key = "3fa9c201", .problem = {}};
  return {.key = "unknown", .problem = "is not signed by a key that counts here"};
}

TEST(RecordedAllocationTest, WithoutACheckEveryGrantOfItsOwnCounts) {
  const Recorded recorded = recorded_allocation(bound(500), {});
  EXPECT_EQ(recorded.allocation.containers.size(), 1U);
  EXPECT_EQ(recorded.grant_key, "unsigned");
  EXPECT_EQ(recorded.issued_at, "2026-01-01T00:00:00Z");
  EXPECT_FALSE(recorded.allocation.by_start);
}

TEST(RecordedAllocationTest, WithOneTheSignatureDecides) {
  const Recorded good = recorded_allocation(bound(500, "good"), judge);
  EXPECT_EQ(good.allocation.containers.size(), 1U);
  EXPECT_EQ(good.grant_key, "3fa9c201");
  const Recorded bad = recorded_allocation(bound(500, "bad"), judge);
  EXPECT_TRUE(bad.allocation.containers.empty());
  EXPECT_EQ(bad.grant_problem, "is not signed by a key that counts here");
  EXPECT_EQ(bad.grant_key, "unknown");
  EXPECT_EQ(bad.issued_at, "");
}

TEST(RecordedAllocationTest, WhatTheAgentHasStartedCountsWhoeverSignedIt) {
  kube::Pod pod = bound(500, "of-a-retired-key");
  pod.started = true;
  pod.ran = {"side"};
  EXPECT_TRUE(recorded_allocation(pod, judge).allocation.containers.empty())
      << "a container without a slot asks no agent";
  pod.ran = {"side", "main"};
  const Recorded recorded = recorded_allocation(pod, judge);
  EXPECT_EQ(recorded.allocation.containers.size(), 1U);
  EXPECT_EQ(recorded.grant_problem, "");
  EXPECT_EQ(recorded.grant_key, "unknown") << "people wait for the last of them to end";
  EXPECT_TRUE(recorded.allocation.by_start);
  pod.uid = "another";
  EXPECT_TRUE(recorded_allocation(pod, judge).allocation.containers.empty()) << "it is not its own";
}

}  // namespace
}  // namespace tangram::cluster
