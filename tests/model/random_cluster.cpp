#include "tests/model/random_cluster.hpp"

#include "tests/testing/builders.hpp"

#include <algorithm>
#include <vector>

namespace tangram::model {

using testing::Random;

namespace {

Share random_share(Random& random) {
  if (random.chance(8)) return testing::whole();
  if (random.chance(60)) {
    constexpr std::array<std::int64_t, 8> kUsual{1, 100, 125, 250, 333, 334, 500, 600};
    return testing::fraction(random.chance(70) ? random.one_of(kUsual) : random.between(1, 1000));
  }
  const std::int64_t card = random.one_of(kCardSizes);
  Share share = testing::memory(std::max(std::int64_t{1}, card / random.between(1, 8)));
  if (random.chance(40)) share.compute = MilliGpu(random.chance(40) ? 0 : random.between(1, 1000));
  return share;
}

Isolation random_mode(Random& random) {
  return random.chance(90) ? Isolation::kMps : static_cast<Isolation>(random.below(3));
}

/// Mostly alike, so that most requests have a place.
MemoryLimits random_means(Random& random, MemoryLimits usual) {
  return random.chance(80) ? usual : static_cast<MemoryLimits>(random.below(4));
}

/// One card of one node, one card of every node, or all but that; or two of those.
std::vector<std::string> random_card_ids(Random& random) {
  std::vector<std::string> globs;
  for (std::int64_t i = random.between(1, 2); i > 0; --i) {
    const std::string node = random.chance(50) ? "*" : random.one_of(kNodeNames);
    globs.push_back((random.chance(50) ? "!" : "") + card_id(node, random.below(kMaxCards)));
  }
  return globs;
}

}  // namespace

std::string card_id(const std::string& node, std::int64_t i) {
  return node + "-card-" + std::to_string(i);
}

Card random_card(Random& random, const std::string& id) {
  Card card = testing::card(id, random.one_of(kModels), Mebibytes(random.one_of(kCardSizes)));
  card.healthy = !random.chance(5);
  card.cordoned = random.chance(5);
  if (random.chance(15)) card.isolation = {static_cast<Isolation>(random.below(3))};
  card.memory_limits = random_means(random, MemoryLimits::kMps);
  if (random.chance(40)) card.max_sharers = static_cast<int>(random.between(1, 4));
  if (random.chance(20)) card.compute_chunks = static_cast<int>(random.between(1, 27));
  return card;
}

NodeInventory random_inventory(Random& random, const std::string& name) {
  NodeInventory what = testing::inventory(name, {});
  what.cpu = MilliCpu(random.between(0, 20'000));
  what.memory = Mebibytes(random.between(0, 20'000));
  // Real nodes have equal cards mostly, and what looks alike is where a search may cut corners.
  const Card pattern = random_card(random, "");
  const bool equal_cards = random.chance(60);
  for (int i = 0; i < kMaxCards; ++i) {
    if (random.chance(10)) continue;
    what.cards.push_back(equal_cards ? pattern : random_card(random, ""));
    what.cards.back().id = card_id(name, i);
  }
  return what;
}

GpuRequest random_request(Random& random) {
  GpuRequest request;
  const std::int64_t containers = random.chance(40) ? 1 : random.between(2, 3);
  for (std::int64_t i = 0; i < containers; ++i) {
    const int count = random.chance(80) ? 1 : static_cast<int>(random.between(2, kMaxCards));
    request.containers.push_back({"c" + std::to_string(i), count, random_share(random)});
  }
  if (random.chance(15)) request.models = {(random.chance(50) ? "!" : "") + random.one_of(kModels)};
  if (random.chance(15)) request.card_ids = random_card_ids(random);
  request.isolation = random_mode(random);
  for (ContainerRequest& each : request.containers) {
    each.share.by_mps = request.isolation == Isolation::kMps;
  }
  request.memory_limits = random_means(random, MemoryLimits::kNone);
  return request;
}

Allocation random_grant(Random& random, const std::string& uid) {
  const std::string& node = random.one_of(kNodeNames);
  Allocation pod = testing::allocation(uid, node, {});
  pod.isolation = random_mode(random);
  for (std::int64_t i = random.below(3); i > 0; --i) {
    const std::string card = card_id(node, random.below(kMaxCards + 1));
    const std::int64_t mib = random.chance(20) ? random.one_of(kCardSizes) : random.between(0, 400);
    const std::int64_t milli = random.chance(20) ? 1000 : random.between(0, 400);
    pod.containers.push_back({"c" + std::to_string(i), {testing::granted(card, mib, milli)}});
    pod.containers.back().cards[0].memory_limits = random_means(random, MemoryLimits::kNone);
  }
  return pod;
}

}  // namespace tangram::model
