#include "model/fit.hpp"
#include "model/ledger.hpp"
#include "model/placement.hpp"
#include "tests/model/naive_books.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Random histories of the Ledger beside the naive books: after every step both say the same.
///
/// TANGRAM_SEED=n begins with another seed (History1 runs n, History2 n + 1, ...), TANGRAM_STEPS=n
/// makes the histories longer or shorter. A failure prints what to set to see it again.
namespace tangram::model {
namespace {

constexpr std::int64_t kDefaultSeed = 1;
constexpr std::int64_t kDefaultSteps = 4'000;  // of each of the three: under four seconds with ASan

std::int64_t number_from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no other thread runs
  return text == nullptr ? otherwise : std::stoll(text);
}

/// The same numbers on every platform: the standard's distributions are not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class Container>
  const auto& one_of(const Container& all) {
    return *std::next(all.begin(), below(static_cast<std::int64_t>(all.size())));
  }

 private:
  std::mt19937_64 engine_;
};

const std::array<std::string, 4> kNodeNames{"n0", "n1", "n2", "n3"};
const std::array<std::string, 2> kModels{"A100", "T4"};
constexpr std::array<std::int64_t, 6> kCardSizes{7, 997, 1000, 1024, 16'384, 81'559};
constexpr int kMaxCards = 4;  // what brute force can try in every way
constexpr int kUids = 48;
constexpr std::size_t kCrowd = 28;  // from so many pods on, more end than come

std::string card_id(const std::string& node, std::int64_t i) {
  return node + "-card-" + std::to_string(i);
}

std::string uid_of(std::int64_t i) { return "uid-" + std::to_string(i); }

// ---- the model's values as the oracle's ----

namespace naive = testing::naive;

naive::Card naive_card(const Card& card) {
  naive::Card plain{.id = card.id,
                    .model = card.model,
                    .memory = card.memory.count(),
                    .usable = card.healthy && !card.cordoned,
                    .modes = {},
                    .max_sharers = card.max_sharers};
  for (int mode = 0; mode < static_cast<int>(kIsolationModes); ++mode) {
    if (card.isolation.has(static_cast<Isolation>(mode))) plain.modes.insert(mode);
  }
  return plain;
}

naive::Node naive_node(const NodeInventory& what) {
  naive::Node plain{.cards = {}, .cpu = what.cpu.count(), .memory = what.memory.count()};
  for (const Card& card : what.cards) plain.cards.push_back(naive_card(card));
  return plain;
}

naive::Pod naive_pod(const Holding& holding) {
  naive::Pod plain{.node = holding.node,
                   .cpu = holding.footprint.cpu.count(),
                   .memory = holding.footprint.memory.count(),
                   .mode = static_cast<int>(holding.isolation),
                   .parts = {}};
  for (const ContainerGrant& container : holding.containers) {
    for (const GrantedCard& card : container.cards) {
      plain.parts.push_back({card.uuid, card.memory.count(), card.compute.count()});
    }
  }
  return plain;
}

/// Knows the globs that random_card_ids() makes, and no others.
bool may_take(const std::vector<std::string>& globs, const std::string& id) {
  bool none_included = true;
  bool included = false;
  for (std::string glob : globs) {
    const bool excludes = glob.front() == '!';
    if (excludes) glob.erase(0, 1);
    const bool hit = glob.front() == '*' ? id.ends_with(glob.substr(1)) : id == glob;
    if (excludes && hit) return false;
    none_included = none_included && excludes;
    included = included || (!excludes && hit);
  }
  return included || none_included;
}

naive::Request naive_request(const GpuRequest& request) {
  naive::Request plain{
      .asks = {}, .mode = static_cast<int>(request.isolation), .models = {}, .ids = {}};
  for (const ContainerRequest& container : request.containers) {
    naive::Ask ask{.count = container.count,
                   .whole = container.share.form == ShareForm::kWhole,
                   .fraction = {},
                   .memory = container.share.memory.count(),
                   .milli = {}};
    if (container.share.form == ShareForm::kFraction)
      ask.fraction = container.share.fraction.count();
    if (container.share.compute) ask.milli = container.share.compute->count();
    plain.asks.push_back(ask);
  }
  for (const std::string& model : kModels) {
    const bool any = request.models.empty();
    const bool excluded = !any && request.models.front() == "!" + model;
    const bool other_included =
        !any && request.models.front().front() != '!' && request.models.front() != model;
    if (!excluded && !other_included) plain.models.insert(model);
  }
  for (const std::string& node : kNodeNames) {
    for (int i = 0; i < kMaxCards; ++i) {
      const std::string id = card_id(node, i);
      if (may_take(request.card_ids, id)) plain.ids.insert(id);
    }
  }
  return plain;
}

// ---- random values ----

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

/// What another writer might have granted: any amount of any card, also of none that there is.
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

// ---- two sets of books compared ----

std::vector<const NodeState*> nodes_of(const ClusterSnapshot& books) {
  return books.sorted_nodes();
}

void expect_same_node(const NodeState& a, const NodeState& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.present, b.present) << a.name;
  EXPECT_TRUE(*a.inventory == *b.inventory) << a.name;
  EXPECT_TRUE(a.use == b.use) << a.name;
  EXPECT_TRUE(a.requested == b.requested) << a.name;
  EXPECT_EQ(a.stray_grants, b.stray_grants) << a.name;
  ASSERT_EQ(a.holdings.size(), b.holdings.size()) << a.name;
  for (std::size_t i = 0; i < a.holdings.size(); ++i) {
    EXPECT_TRUE(*a.holdings[i] == *b.holdings[i]) << a.name << ' ' << a.holdings[i]->pod_uid;
  }
}

void expect_same_books(const ClusterSnapshot& a, const ClusterSnapshot& b) {
  const auto in_a = nodes_of(a);
  const auto in_b = nodes_of(b);
  ASSERT_EQ(in_a.size(), in_b.size());
  for (std::size_t i = 0; i < in_a.size(); ++i) expect_same_node(*in_a[i], *in_b[i]);
}

// ---- the history ----

class History {
 public:
  explicit History(std::uint64_t seed) : dice_(seed) {}

  /// Does one random thing to both books. @returns what it was
  const char* step() {
    const bool crowded = naive_.pods.size() >= kCrowd;
    const std::int64_t roll = dice_.below(100);
    if (roll < 45) return crowded ? release() : schedule();
    if (roll < 49) return submit_pending();
    if (roll < 53) return assume_anything();
    if (roll < 54) return drop_hold();
    if (roll < 56) return doubt();
    if (roll < 58) return repeat();
    if (roll < 63) return confirm();
    if (roll < 70) return observe();
    if (roll < 81) return release();
    if (roll < 82) return retain();
    if (roll < 87) return advance();
    if (roll < 90) return overdue();
    if (roll < 97) return put_node();
    if (roll < 98) return remove_node();
    return evict();
  }

  void check() {
    const auto books = ledger_.snapshot();
    for (const NodeState* node : nodes_of(*books)) check_node(*node);
    for (const auto& [name, node] : naive_.nodes) EXPECT_NE(books->find(name), nullptr) << name;
    std::size_t assumed = 0;
    std::size_t held = 0;
    std::set<std::string> unsettled;
    for (const auto& [uid, pod] : naive_.pods) {
      check_pod(uid, pod);
      if (pod.held) ++held;
      if (!pod.confirmed && !pod.held) ++assumed;
      if (!pod.confirmed) unsettled.insert(uid);
    }
    EXPECT_EQ(ledger_.held_count(), held);
    EXPECT_EQ(ledger_.assumed_count(), assumed);
    EXPECT_EQ(ledger_.pod_count(), naive_.pods.size() - held);
    std::set<std::string> said;
    for (const HoldingPtr& holding : ledger_.unsettled()) said.insert(holding->pod_uid);
    EXPECT_EQ(said, unsettled);
  }

  /// A restart: books made only from nodes and bound pods, in any order, equal the running ones.
  void check_restart() {
    for (const auto& [uid, pod] : naive_.pods) {
      if (pod.held) ledger_.drop_hold(uid);  // a restart knows nothing of those
    }
    std::erase_if(naive_.pods, [](const auto& entry) { return entry.second.held; });
    Ledger restarted(clock_);
    std::vector<std::pair<std::int64_t, const Holding*>> events;
    for (const auto& [uid, holding] : held_) {
      if (naive_.pods.contains(uid)) events.emplace_back(dice_.below(1000), &holding);
    }
    for (std::size_t i = 0; i < inventories_.size(); ++i) {
      events.emplace_back(dice_.below(1000), nullptr);
    }
    std::sort(events.begin(), events.end());
    auto next_node = inventories_.begin();
    for (const auto& [order, holding] : events) {
      if (holding != nullptr) {
        restarted.observe(*holding);
      } else {
        restarted.put_node((next_node++)->second);
      }
    }
    expect_same_books(*restarted.snapshot(), *ledger_.snapshot());
    EXPECT_EQ(restarted.assumed_count(), 0U);
  }

 private:
  // -- checks --

  void check_node(const NodeState& node) {
    const auto known = naive_.nodes.find(node.name);
    const auto pods = naive_.pods_of(node.name);
    ASSERT_EQ(node.present, known != naive_.nodes.end()) << node.name;
    EXPECT_TRUE(node.present || !pods.empty()) << node.name << " is kept for nothing";
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    for (const std::string& uid : pods) {
      cpu += naive_.pods.at(uid).cpu;
      memory += naive_.pods.at(uid).memory;
    }
    EXPECT_EQ(node.requested.cpu.count(), cpu) << node.name;
    EXPECT_EQ(node.requested.memory.count(), memory) << node.name;
    if (node.present) {
      EXPECT_EQ(node.free_cpu().count(), std::max(known->second.cpu - cpu, std::int64_t{0}));
      EXPECT_EQ(node.free_memory().count(),
                std::max(known->second.memory - memory, std::int64_t{0}));
    }
    std::set<std::string> held;
    for (const HoldingPtr& holding : node.holdings) held.insert(holding->pod_uid);
    EXPECT_EQ(held, pods) << node.name;
    check_cards(node, {});
  }

  void check_cards(const NodeState& node, const std::set<std::string>& without) {
    auto loads = naive_.loads(node.name, without);
    EXPECT_EQ(node.stray_grants, naive_.stray_parts(node.name, loads)) << node.name;
    ASSERT_EQ(node.use.size(), node.cards().size()) << node.name;
    for (std::size_t i = 0; i < node.use.size(); ++i) {
      const Card& card = node.cards()[i];
      const naive::Load& load = loads[card.id];
      EXPECT_EQ(node.use[i].memory.count(), load.memory) << card.id;
      EXPECT_EQ(node.use[i].compute.count(), load.milli) << card.id;
      EXPECT_EQ(node.use[i].sharer_count(), load.sharer_count()) << card.id;
      for (const auto& [mode, count] : load.sharers) {
        EXPECT_EQ(node.use[i].sharers.at(static_cast<std::size_t>(mode)), count) << card.id;
      }
      const std::int64_t left = card.memory.count() - load.memory;
      EXPECT_EQ(free_memory(card, node.use[i]).count(), left < 0 ? 0 : left) << card.id;
      EXPECT_EQ(free_compute(card, node.use[i]).count(), load.milli > 1000 ? 0 : 1000 - load.milli);
    }
  }

  void check_pod(const std::string& uid, const naive::Pod& pod) {
    const Ledger::Entry* entry = ledger_.find(uid);
    ASSERT_NE(entry, nullptr) << uid;
    EXPECT_TRUE(*entry->holding == held_.at(uid)) << uid;
    EXPECT_EQ(entry->phase == Phase::kConfirmed, pod.confirmed) << uid;
    EXPECT_EQ(entry->phase == Phase::kHeld, pod.held) << uid;
    EXPECT_EQ(entry->phase == Phase::kUnsure, pod.unsure) << uid;
    EXPECT_EQ(entry->observed, pod.observed) << uid;
  }

  void check_place(const GpuRequest& request, const NodeState& node,
                   const std::optional<Placement>& placement) {
    naive::Request plain = naive_request(request);
    ASSERT_EQ(placement.has_value(), naive_.can_place(plain, node.name)) << node.name;
    if (placement) return;
    bool each_fits_alone = true;
    for (const naive::Ask& ask : plain.asks) {
      each_fits_alone = each_fits_alone &&
                        naive_.can_place({{ask}, plain.mode, plain.models, plain.ids}, node.name);
    }
    EXPECT_EQ(why_not(request, node) == Misfit::kTogether, each_fits_alone) << node.name;
  }

  void expect_within_capacity(const naive::Pod& pod) {
    const auto loads = naive_.loads(pod.node);
    for (const naive::Part& part : pod.parts) {
      const naive::Card* card = naive_.card_of(pod.node, part.card);
      ASSERT_NE(card, nullptr) << part.card;
      const naive::Load& load = loads.at(part.card);
      EXPECT_TRUE(part.memory == 0 || load.memory <= card->memory) << part.card;
      EXPECT_TRUE(part.milli == 0 || load.milli <= 1000) << part.card;
    }
  }

  // -- steps --

  const char* schedule() {
    const std::string& name = dice_.one_of(kNodeNames);
    const auto books = ledger_.snapshot();
    const NodeState* node = books->find(name);
    if (node == nullptr) return "schedule on a node that is not there";
    const GpuRequest request = random_request(dice_);
    const std::int64_t salt = dice_.below(1000);
    const auto placement =
        place(request, *node, [&](const Slice& /*slice*/, std::uint32_t card, const CardUse& use) {
          return (card * 7 + salt + use.sharer_count()) % 3;  // with ties
        });
    check_place(request, *node, placement);
    if (!placement) return "schedule what does not fit";
    const std::string uid = uid_of(dice_.below(kUids));
    Holding pod = testing::holding(uid, name, {});
    pod.isolation = request.isolation;
    pod.containers = grants_of(request, *node, *placement);
    if (dice_.chance(20)) {
      pending_.push_back(pod);
      return "decide for later";
    }
    const auto expected_use = use_after(request, *node, *placement);
    const bool was_there = naive_.pods.contains(uid);
    if (book(pod, dice_.chance(25))) {
      EXPECT_TRUE(was_there || ledger_.snapshot()->find(name)->use == expected_use) << name;
    } else {
      EXPECT_TRUE(was_there) << "a fresh decision was refused";
    }
    return "schedule";
  }

  /// Books what was decided on older books: the cards may be gone, full, sick or in another mode.
  const char* submit_pending() {
    if (pending_.size() < 3) return "nothing decided";
    const Holding pod = pending_.front();
    pending_.pop_front();
    book(pod, dice_.chance(25));
    return "submit an older decision";
  }

  const char* assume_anything() {
    book(random_grant(dice_, uid_of(dice_.below(kUids))), dice_.chance(25));
    return "assume anything";
  }

  const char* drop_hold() {
    const std::string uid = uid_of(dice_.below(kUids));
    ledger_.drop_hold(uid);
    const auto known = naive_.pods.find(uid);
    if (known != naive_.pods.end() && known->second.held) naive_.pods.erase(known);
    return "drop a hold";
  }

  const char* doubt() {
    const std::string uid = uid_of(dice_.below(kUids));
    const std::int64_t ttl = dice_.between(1, 60);
    ledger_.doubt(uid, clock_.now() + std::chrono::milliseconds(ttl));
    const auto known = naive_.pods.find(uid);
    if (known == naive_.pods.end()) return "doubt nothing";
    naive::Pod& pod = known->second;
    if (pod.held || pod.unsure || pod.confirmed) return "doubt what is certain";
    pod.unsure = true;
    pod.deadline = now_ + ttl;
    return "doubt";
  }

  /// Sends the same again where the outcome is unsure.
  const char* repeat() {
    const std::string uid = uid_of(dice_.below(kUids));
    const auto known = naive_.pods.find(uid);
    if (known == naive_.pods.end() || known->second.held) return "repeat nothing";
    naive::Pod& pod = known->second;
    const std::int64_t ttl = dice_.between(1, 60);
    const auto answer = ledger_.assume(held_.at(uid), std::chrono::milliseconds(ttl));
    EXPECT_EQ(answer.has_value(), pod.unsure) << uid;
    if (!pod.unsure) return "repeat what is certain";
    pod.unsure = false;
    pod.ttl = ttl;
    pod.deadline = now_ + ttl;
    return "repeat";
  }

  /// Holds room, or books.
  bool book(Holding pod, bool only_hold) {
    pod.pod_name = "train-" + std::to_string(dice_.below(3));  // names recur, UIDs do not
    pod.footprint = {.cpu = MilliCpu(dice_.below(5000)), .memory = Mebibytes(dice_.below(5000))};
    naive::Pod plain = naive_pod(pod);
    plain.ttl = dice_.between(1, 60);
    plain.deadline = now_ + plain.ttl;
    plain.held = only_hold;
    const naive::Answer expected = naive_.may_book(pod.pod_uid, plain);
    const auto before = ledger_.snapshot();
    const std::chrono::milliseconds ttl(plain.ttl);
    const auto answer = only_hold ? ledger_.hold(pod, ttl) : ledger_.assume(pod, ttl);
    EXPECT_EQ(answer.has_value(), expected == naive::Answer::kYes) << pod.pod_uid;
    if (!answer) {
      EXPECT_EQ(answer.error().code, code_of(expected));
      EXPECT_EQ(ledger_.snapshot(), before);
      return false;
    }
    naive_.pods[pod.pod_uid] = plain;
    pod.tentative = only_hold;
    held_[pod.pod_uid] = pod;
    expect_within_capacity(plain);
    return true;
  }

  static Errc code_of(naive::Answer answer) {
    if (answer == naive::Answer::kNoNode) return Errc::kNotFound;
    return answer == naive::Answer::kHeldAlready ? Errc::kConflict : Errc::kStale;
  }

  const char* confirm() {
    const std::string uid = uid_of(dice_.below(kUids));
    const auto before = ledger_.snapshot();
    const auto held = naive_.pods.find(uid);
    if (held != naive_.pods.end() && held->second.held) return "confirm nothing";  // was not sent
    EXPECT_EQ(ledger_.confirm(uid).has_value(), held != naive_.pods.end()) << uid;
    EXPECT_EQ(ledger_.snapshot(), before);
    if (held != naive_.pods.end()) {
      held->second.confirmed = true;
      held->second.unsure = false;
    }
    return "confirm";
  }

  const char* observe() {
    std::string uid = uid_of(dice_.below(kUids));
    const auto held = held_.find(uid);
    const bool booked = naive_.pods.contains(uid) && !naive_.pods.at(uid).held;
    const bool as_held = booked && !dice_.chance(10);
    if (!booked && dice_.chance(60)) return "observe nothing";
    const Holding pod = as_held ? held->second : random_grant(dice_, uid);
    const auto before = ledger_.snapshot();
    ledger_.observe(pod);
    EXPECT_TRUE(!as_held || ledger_.snapshot() == before) << uid;
    naive::Pod& plain = naive_.pods[uid] = naive_pod(pod);
    plain.confirmed = plain.observed = true;
    held_[uid] = pod;
    return as_held ? "observe what is held" : "observe something else";
  }

  const char* release() {
    const std::string uid = naive_.pods.empty() || dice_.chance(20)
                                ? uid_of(dice_.below(kUids))
                                : dice_.one_of(naive_.pods).first;
    EXPECT_EQ(ledger_.release(uid), naive_.pods.erase(uid) == 1) << uid;
    held_.erase(uid);
    return "release";
  }

  const char* retain() {
    std::set<std::string, std::less<>> bound;
    std::set<std::string> expected;
    for (const auto& [uid, pod] : naive_.pods) {
      if (dice_.chance(60)) {
        bound.insert(uid);
      } else if (pod.observed) {
        expected.insert(uid);
      } else if (pod.confirmed) {
        naive_.pods.at(uid).deadline = now_;
      }
    }
    std::set<std::string> ended;
    for (const HoldingPtr& holding :
         ledger_.retain_observed([&](const std::string& uid) { return bound.contains(uid); }))
      ended.insert(holding->pod_uid);
    EXPECT_EQ(ended, expected);
    for (const std::string& uid : expected) {
      naive_.pods.erase(uid);
      held_.erase(uid);
    }
    return "retain";
  }

  const char* advance() {
    const std::int64_t millis = dice_.between(1, 40);
    clock_.advance(std::chrono::milliseconds(millis));
    now_ += millis;
    return "advance the clock";
  }

  const char* overdue() {
    std::multiset<std::string> late;  // a pod named twice is a mistake
    const auto before = ledger_.snapshot();
    for (const Ledger::Late& booking : ledger_.overdue(kUids)) {
      late.insert(booking.holding->pod_uid);
      EXPECT_TRUE(ledger_.still(booking));
    }
    ledger_.expire_holds();
    const std::size_t pods = naive_.pods.size();
    const auto expected = naive_.overdue(now_);
    EXPECT_EQ(late, std::multiset<std::string>(expected.begin(), expected.end()));
    EXPECT_EQ(ledger_.snapshot() == before, naive_.pods.size() == pods);
    return "overdue";
  }

  /// A new node, the same again, other cards, or one card changed.
  const char* put_node() {
    const std::string& name = dice_.one_of(kNodeNames);
    const auto known = inventories_.find(name);
    NodeInventory what = random_inventory(dice_, name);
    if (known != inventories_.end() && dice_.chance(70)) {
      what = known->second;
      if (!what.cards.empty() && dice_.chance(80)) {
        Card& changed = what.cards[static_cast<std::size_t>(
            dice_.below(static_cast<std::int64_t>(what.cards.size())))];
        changed = random_card(dice_, changed.id);
      }
    }
    ledger_.put_node(what);
    naive_.nodes[name] = naive_node(what);
    inventories_[name] = std::move(what);
    return "put a node";
  }

  const char* remove_node() {
    const std::string& name = dice_.one_of(kNodeNames);
    ledger_.remove_node(name);
    naive_.nodes.erase(name);
    inventories_.erase(name);
    return "remove a node";
  }

  /// Only thinks about it: the node without some pods.
  const char* evict() {
    const std::string& name = dice_.one_of(kNodeNames);
    const auto books = ledger_.snapshot();
    const NodeState* node = books->find(name);
    if (node == nullptr) return "evict from a node that is not there";
    std::set<std::string> evicted;
    for (const std::string& uid : naive_.pods_of(name)) {
      if (dice_.chance(50)) evicted.insert(uid);
    }
    check_cards(without_pods(*node, {evicted.begin(), evicted.end()}), evicted);
    return "evict";
  }

  Dice dice_;
  testing::ManualClock clock_;
  std::int64_t now_ = 0;  ///< the oracle's own clock
  Ledger ledger_{clock_};
  naive::Books naive_;
  std::map<std::string, Holding> held_;               ///< as the Ledger was given them
  std::map<std::string, NodeInventory> inventories_;  ///< of the nodes present
  std::deque<Holding> pending_;                       ///< decided, not booked yet
};

class LedgerPropertyTest : public ::testing::TestWithParam<int> {};

TEST_P(LedgerPropertyTest, AgreesWithTheNaiveBooks) {
  const std::int64_t seed = number_from_environment("TANGRAM_SEED", kDefaultSeed) + GetParam() - 1;
  const std::int64_t steps = number_from_environment("TANGRAM_STEPS", kDefaultSteps);
  History history(static_cast<std::uint64_t>(seed));
  for (std::int64_t step = 1; step <= steps; ++step) {
    const char* what = history.step();
    history.check();
    if (step % 50 == 0 || step == steps) history.check_restart();
    ASSERT_FALSE(HasFailure()) << "step " << step << " (" << what << "); to see it again:"
                               << " TANGRAM_SEED=" << seed << " TANGRAM_STEPS=" << step
                               << " ledger_property_test --gtest_filter='*History1'";
  }
}

INSTANTIATE_TEST_SUITE_P(Random, LedgerPropertyTest, ::testing::Values(1, 2, 3),
                         [](const auto& row) { return "History" + std::to_string(row.param); });

}  // namespace
}  // namespace tangram::model
