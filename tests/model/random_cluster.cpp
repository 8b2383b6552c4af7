#include "tests/model/random_cluster.hpp"

#include "tests/testing/builders.hpp"

#include <algorithm>
#include <vector>

namespace tangram::model {

using testing::Dice;

namespace {

Share random_share(Dice& dice) {
  if (dice.chance(8)) return testing::whole();
  if (dice.chance(60)) {
    constexpr std::array<std::int64_t, 8> kUsual{1, 100, 125, 250, 333, 334, 500, 600};
    return testing::fraction(dice.chance(70) ? dice.one_of(kUsual) : dice.between(1, 1000));
  }
  const std::int64_t card = dice.one_of(kCardSizes);
  Share share = testing::memory(std::max(std::int64_t{1}, card / dice.between(1, 8)));
  if (dice.chance(40)) share.compute = MilliGpu(dice.chance(40) ? 0 : dice.between(1, 1000));
  return share;
}

Isolation random_mode(Dice& dice) {
  return dice.chance(90) ? Isolation::kMps : static_cast<Isolation>(dice.below(3));
}

/// One card of one node, one card of every node, or all but that; or two of those.
std::vector<std::string> random_card_ids(Dice& dice) {
  std::vector<std::string> globs;
  for (std::int64_t i = dice.between(1, 2); i > 0; --i) {
    const std::string node = dice.chance(50) ? "*" : dice.one_of(kNodeNames);
    globs.push_back((dice.chance(50) ? "!" : "") + card_id(node, dice.below(kMaxCards)));
  }
  return globs;
}

}  // namespace

std::string card_id(const std::string& node, std::int64_t i) {
  return node + "-card-" + std::to_string(i);
}

Card random_card(Dice& dice, const std::string& id) {
  Card card = testing::card(id, dice.one_of(kModels), Mebibytes(dice.one_of(kCardSizes)));
  card.healthy = !dice.chance(5);
  card.cordoned = dice.chance(5);
  if (dice.chance(15)) card.isolation = {static_cast<Isolation>(dice.below(3))};
  if (dice.chance(40)) card.max_sharers = static_cast<int>(dice.between(1, 4));
  return card;
}

NodeInventory random_inventory(Dice& dice, const std::string& name) {
  NodeInventory what = testing::inventory(name, {});
  what.cpu = MilliCpu(dice.between(0, 20'000));
  what.memory = Mebibytes(dice.between(0, 20'000));
  // Real nodes have equal cards mostly, and what looks alike is where a search may cut corners.
  const Card pattern = random_card(dice, "");
  const bool equal_cards = dice.chance(60);
  for (int i = 0; i < kMaxCards; ++i) {
    if (dice.chance(10)) continue;
    what.cards.push_back(equal_cards ? pattern : random_card(dice, ""));
    what.cards.back().id = card_id(name, i);
  }
  return what;
}

GpuRequest random_request(Dice& dice) {
  GpuRequest request;
  const std::int64_t containers = dice.chance(40) ? 1 : dice.between(2, 3);
  for (std::int64_t i = 0; i < containers; ++i) {
    const int count = dice.chance(80) ? 1 : static_cast<int>(dice.between(2, kMaxCards));
    request.containers.push_back({"c" + std::to_string(i), count, random_share(dice)});
  }
  if (dice.chance(15)) request.models = {(dice.chance(50) ? "!" : "") + dice.one_of(kModels)};
  if (dice.chance(15)) request.card_ids = random_card_ids(dice);
  request.isolation = random_mode(dice);
  return request;
}

Holding random_grant(Dice& dice, const std::string& uid) {
  const std::string& node = dice.one_of(kNodeNames);
  Holding pod = testing::holding(uid, node, {});
  pod.isolation = random_mode(dice);
  for (std::int64_t i = dice.below(3); i > 0; --i) {
    const std::string card = card_id(node, dice.below(kMaxCards + 1));
    const std::int64_t mib = dice.chance(20) ? dice.one_of(kCardSizes) : dice.between(0, 400);
    const std::int64_t milli = dice.chance(20) ? 1000 : dice.between(0, 400);
    pod.containers.push_back({"c" + std::to_string(i), {testing::granted(card, mib, milli)}});
  }
  return pod;
}

}  // namespace tangram::model
