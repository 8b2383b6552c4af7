#include "tests/node/container/start_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace tangram::node {
namespace {

/// 40 pods of one node, some with two containers, admitted in random order and started all at once,
/// with the agent dying in between: every container must see its own grant, whatever slots it got.
class StartStormTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(StartStormTest, EveryContainerSeesItsOwnGrant) {
  constexpr int kPods = 40;
  StartRig rig(GetParam(), 64);
  std::mt19937_64 random(GetParam());
  std::vector<StartRig::Owner> owners;
  std::map<std::pair<std::string, std::string>, std::string> expected;
  for (int i = 0; i < kPods; ++i) {
    const std::string name = "p" + std::to_string(i);
    const bool two = i % 4 == 0;
    model::Grant grant{.pod_uid = "uid-" + name,
                       .node = "n1",
                       .issued_at = "2026-01-01T00:00:" + std::to_string(10 + i) + "Z",
                       .isolation = model::Isolation::kMps,
                       .containers = {},
                       .signature = {}};
    std::vector<model::ContainerInfo> infos;
    for (const char* container : {"main", "second"}) {
      if (!two && container != std::string("main")) continue;
      // At most 20 pods with 2 containers of 1/40th on each card.
      const std::string card = "GPU-" + std::to_string(1 + i % 2);
      grant.containers.push_back({container, {part(card, 1000 + i, 25)}});
      infos.push_back({.name = container, .slots = 1});
      owners.push_back({.uid = "uid-" + name, .pod = name, .container = container});
      expected[{name, container}] = card + " " + std::to_string(std::int64_t{1000 + i} << 20U);
    }
    rig.put_pod(name, encode(grant), infos);
  }
  std::shuffle(owners.begin(), owners.end(), random);
  for (const auto& owner : owners) ASSERT_EQ(rig.kubelet.admit(owner), "");
  if (GetParam() % 2 == 0) {
    rig.kill_agent();
    rig.boot_agent();
  }
  std::shuffle(owners.begin(), owners.end(), random);
  std::atomic<int> refused = 0;
  std::vector<std::thread> workers;
  for (const auto& owner : owners) {
    workers.emplace_back([&] {
      if (const auto error = rig.kubelet.start_container(owner); !error.empty()) {
        ++refused;
        ADD_FAILURE() << owner.pod << ": " << error;
      }
    });
  }
  for (auto& worker : workers) worker.join();
  ASSERT_EQ(refused, 0) << "seed " << GetParam();
  for (const auto& owner : owners) {
    EXPECT_EQ(rig.cards_of(owner) + " " + rig.env(owner, "TANGRAM_MEMORY_LIMIT_BYTES"),
              (expected[{owner.pod, owner.container}]))
        << owner.pod << " " << owner.container << ", seed " << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StartStormTest, ::testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace tangram::node
