#include "model/fit.hpp"
#include "model/ledger.hpp"
#include "model/placement.hpp"
#include "tests/model/naive_ledger.hpp"
#include "tests/model/naive_values.hpp"
#include "tests/model/random_cluster.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Random histories of the Ledger beside the naive ledger: after every step both say the same.
///
/// TANGRAM_SEED=n begins with another seed (History1 runs n, History2 n + 1, ...), TANGRAM_STEPS=n
/// makes the histories longer or shorter. A failure prints what to set to see it again.
namespace tangram::model {
namespace {

constexpr std::int64_t kDefaultSeed = 1;
constexpr std::int64_t kDefaultSteps = 4'000;  // of each of the three: under four seconds with ASan

std::int64_t number_from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoll(text);
}

using testing::Random;

constexpr int kUids = 48;
constexpr std::size_t kCrowd = 28;  // from so many pods on, more end than come

std::string uid_of(std::int64_t i) { return "uid-" + std::to_string(i); }

// ---- two ledgers compared ----

std::vector<const NodeState*> nodes_of(const ClusterSnapshot& ledger) {
  return ledger.sorted_nodes();
}

void expect_same_node(const NodeState& a, const NodeState& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.present, b.present) << a.name;
  EXPECT_TRUE(*a.inventory == *b.inventory) << a.name;
  EXPECT_TRUE(a.use == b.use) << a.name;
  EXPECT_TRUE(a.requested == b.requested) << a.name;
  EXPECT_EQ(a.stray_grants, b.stray_grants) << a.name;
  ASSERT_EQ(a.allocations.size(), b.allocations.size()) << a.name;
  for (std::size_t i = 0; i < a.allocations.size(); ++i) {
    EXPECT_TRUE(*a.allocations[i] == *b.allocations[i])
        << a.name << ' ' << a.allocations[i]->pod_uid;
  }
}

void expect_same_ledger(const ClusterSnapshot& a, const ClusterSnapshot& b) {
  const auto in_a = nodes_of(a);
  const auto in_b = nodes_of(b);
  ASSERT_EQ(in_a.size(), in_b.size());
  for (std::size_t i = 0; i < in_a.size(); ++i) expect_same_node(*in_a[i], *in_b[i]);
}

// ---- the history ----

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {}

  /// Does one random thing to both ledger. @returns what it was
  const char* step() {
    using Deed = const char* (History::*)();
    static constexpr std::array<std::pair<std::int64_t, Deed>, 15> kPercent{
        {{44, &History::go_on},
         {1, &History::renew_reservation},
         {4, &History::submit_pending},
         {4, &History::assume_anything},
         {1, &History::release_reservation},
         {2, &History::lose_outcome},
         {2, &History::repeat},
         {5, &History::confirm},
         {7, &History::observe},
         {11, &History::release},
         {1, &History::retain},
         {5, &History::advance},
         {3, &History::overdue},
         {7, &History::put_node},
         {1, &History::remove_node}}};
    std::int64_t roll = random_.below(100);
    for (const auto& [percent, deed] : kPercent) {
      roll -= percent;
      if (roll < 0) return (this->*deed)();
    }
    return evict();
  }

  void check() {
    const auto ledger = ledger_.snapshot();
    for (const NodeState* node : nodes_of(*ledger)) check_node(*node);
    for (const auto& [name, node] : naive_.nodes) EXPECT_NE(ledger->find(name), nullptr) << name;
    std::size_t assumed = 0;
    std::size_t reserved = 0;
    std::set<std::string> unconfirmed;
    for (const auto& [uid, pod] : naive_.pods) {
      check_pod(uid, pod);
      if (pod.reserved) ++reserved;
      if (!pod.confirmed && !pod.reserved) ++assumed;
      if (!pod.confirmed) unconfirmed.insert(uid);
    }
    EXPECT_EQ(ledger_.reserved_count(), reserved);
    EXPECT_EQ(ledger_.assumed_count(), assumed);
    EXPECT_EQ(ledger_.pod_count(), naive_.pods.size() - reserved);
    std::set<std::string> said;
    for (const AllocationPtr& allocation : ledger_.unconfirmed()) said.insert(allocation->pod_uid);
    EXPECT_EQ(said, unconfirmed);
  }

  /// A restart: ledger made only from nodes and bound pods, in any order, equal the running ones.
  void check_restart() {
    for (const auto& [uid, pod] : naive_.pods) {
      if (pod.reserved) ledger_.release_reservation(uid);  // a restart knows nothing of those
    }
    std::erase_if(naive_.pods, [](const auto& entry) { return entry.second.reserved; });
    Ledger restarted(clock_);
    std::vector<std::pair<std::int64_t, const Allocation*>> events;
    for (const auto& [uid, allocation] : allocations_) {
      if (naive_.pods.contains(uid)) events.emplace_back(random_.below(1000), &allocation);
    }
    for (std::size_t i = 0; i < inventories_.size(); ++i) {
      events.emplace_back(random_.below(1000), nullptr);
    }
    std::sort(events.begin(), events.end());
    auto next_node = inventories_.begin();
    for (const auto& [order, allocation] : events) {
      if (allocation != nullptr) {
        restarted.observe(*allocation);
      } else {
        restarted.put_node((next_node++)->second);
      }
    }
    expect_same_ledger(*restarted.snapshot(), *ledger_.snapshot());
    EXPECT_EQ(restarted.assumed_count(), 0U);
    check_list();
  }

 private:
  // -- checks --

  /// The pods node by node, as a first list books them.
  void check_list() {
    std::map<std::string, std::vector<Ledger::Observed>> by_node;
    for (const auto& [uid, allocation] : allocations_) {
      if (!naive_.pods.contains(uid)) continue;
      by_node[allocation.node].push_back(
          {.allocation = std::make_shared<const Allocation>(allocation), .issued_at = uid});
    }
    Ledger listed(clock_);
    for (const auto& [name, inventory] : inventories_) listed.put_node(inventory);
    for (auto& [name, pods] : by_node) listed.observe_new(std::move(pods));
    expect_same_ledger(*listed.snapshot(), *ledger_.snapshot());
    EXPECT_EQ(listed.pod_count(), naive_.pods.size());
    for (const auto& [uid, pod] : naive_.pods) {
      const Ledger::Entry* entry = listed.find(uid);
      ASSERT_NE(entry, nullptr) << uid;
      EXPECT_TRUE(entry->observed && entry->phase == Phase::kConfirmed) << uid;
      EXPECT_EQ(entry->issued_at, uid);
    }
  }

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
    std::set<std::string> allocated;
    for (const AllocationPtr& allocation : node.allocations) allocated.insert(allocation->pod_uid);
    EXPECT_EQ(allocated, pods) << node.name;
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
      EXPECT_EQ(node.use[i].whole, load.alone) << card.id;
      const bool shared = load.alone == 0;
      const std::int64_t left = shared ? card.memory.count() - load.memory : 0;
      EXPECT_EQ(free_memory(card, node.use[i]).count(), left < 0 ? 0 : left) << card.id;
      const std::int64_t milli = shared ? 1000 - load.milli : 0;
      EXPECT_EQ(free_compute(card, node.use[i]).count(), milli < 0 ? 0 : milli) << card.id;
    }
  }

  void check_pod(const std::string& uid, const naive::Pod& pod) {
    const Ledger::Entry* entry = ledger_.find(uid);
    ASSERT_NE(entry, nullptr) << uid;
    EXPECT_TRUE(*entry->allocation == allocations_.at(uid)) << uid;
    EXPECT_EQ(entry->phase == Phase::kConfirmed, pod.confirmed) << uid;
    EXPECT_EQ(entry->phase == Phase::kReserved, pod.reserved) << uid;
    EXPECT_EQ(entry->phase == Phase::kUnknown, pod.unknown) << uid;
    EXPECT_EQ(entry->observed, pod.observed) << uid;
  }

  void check_place(const GpuRequest& request, const NodeState& node,
                   const std::optional<Placement>& placement) {
    naive::Request plain = naive_request(request);
    ASSERT_EQ(placement.has_value(), naive_.can_place(plain, node.name)) << node.name;
    if (placement) return;
    bool each_fits_alone = true;
    for (const naive::Ask& ask : plain.asks) {
      each_fits_alone =
          each_fits_alone &&
          naive_.can_place({{ask}, plain.mode, plain.models, plain.ids, plain.least_means},
                           node.name);
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

  const char* go_on() { return naive_.pods.size() >= kCrowd ? release() : schedule(); }

  const char* schedule() {
    const std::string& name = random_.one_of(kNodeNames);
    const auto ledger = ledger_.snapshot();
    const NodeState* node = ledger->find(name);
    if (node == nullptr) return "schedule on a node that is not there";
    const GpuRequest request = random_request(random_);
    const std::int64_t salt = random_.below(1000);
    const auto placement =
        place(request, *node, [&](const Slice& /*slice*/, std::uint32_t card, const CardUse& use) {
          return (std::int64_t{card} * 7 + salt + use.sharer_count()) % 3;  // with ties
        });
    check_place(request, *node, placement);
    if (!placement) return "schedule what does not fit";
    const std::string uid = uid_of(random_.below(kUids));
    Allocation pod = testing::allocation(uid, name, {});
    pod.isolation = request.isolation;
    pod.containers = grants_of(request, *node, *placement);
    if (random_.chance(20)) {
      pending_.push_back(pod);
      return "decide for later";
    }
    const auto expected_use = use_after(request, *node, *placement);
    const bool was_there = naive_.pods.contains(uid);
    if (allocate(pod, random_.chance(25))) {
      EXPECT_TRUE(was_there || ledger_.snapshot()->find(name)->use == expected_use) << name;
    } else {
      EXPECT_TRUE(was_there) << "a fresh decision was refused";
    }
    return "schedule";
  }

  /// Allocates what was decided on an older ledger: cards may be gone, full, unhealthy or in use.
  const char* submit_pending() {
    if (pending_.size() < 3) return "nothing decided";
    Allocation pod = pending_.front();
    pending_.pop_front();
    pod.priority = static_cast<int>(random_.below(3));
    allocate(pod, random_.chance(25), some_displaced_by(pod));
    return "submit an older decision";
  }

  const char* assume_anything() {
    Allocation pod = random_grant(random_, uid_of(random_.below(kUids)));
    pod.priority = static_cast<int>(random_.below(3));
    allocate(pod, random_.chance(25), some_displaced_by(pod));
    return "assume anything";
  }

  const char* release_reservation() {
    const std::string uid = uid_of(random_.below(kUids));
    ledger_.release_reservation(uid);
    const auto known = naive_.pods.find(uid);
    if (known != naive_.pods.end() && known->second.reserved) naive_.pods.erase(known);
    return "release a reservation";
  }

  const char* renew_reservation() {
    const std::string uid = uid_of(random_.below(kUids));
    const std::int64_t ttl = random_.between(1, 60);
    ledger_.renew_reservation(uid, std::chrono::milliseconds(ttl));
    const auto known = naive_.pods.find(uid);
    if (known != naive_.pods.end() && known->second.reserved) known->second.deadline = now_ + ttl;
    return "renew a reservation";
  }

  const char* lose_outcome() {
    const std::string uid = uid_of(random_.below(kUids));
    const std::int64_t ttl = random_.between(1, 60);
    ledger_.outcome_unknown(uid, clock_.now() + std::chrono::milliseconds(ttl));
    const auto known = naive_.pods.find(uid);
    if (known == naive_.pods.end()) return "lose no outcome";
    naive::Pod& pod = known->second;
    if (pod.reserved || pod.unknown || pod.confirmed) return "lose an outcome that is known";
    pod.unknown = true;
    pod.deadline = now_ + ttl;
    return "lose an outcome";
  }

  /// Sends the same again where the outcome is unknown.
  const char* repeat() {
    const std::string uid = uid_of(random_.below(kUids));
    const auto known = naive_.pods.find(uid);
    if (known == naive_.pods.end() || known->second.reserved) return "repeat nothing";
    naive::Pod& pod = known->second;
    const std::int64_t ttl = random_.between(1, 60);
    const auto answer = ledger_.assume(allocations_.at(uid), std::chrono::milliseconds(ttl));
    EXPECT_EQ(answer.has_value(), pod.unknown) << uid;
    if (!pod.unknown) return "repeat what is certain";
    pod.unknown = false;
    pod.ttl = ttl;
    pod.deadline = now_ + ttl;
    return "repeat";
  }

  /// Reserves, or assumes.
  bool allocate(Allocation pod, bool only_reserve, const std::set<std::string>& displaced = {}) {
    pod.pod_name = "train-" + std::to_string(random_.below(3));  // names recur, UIDs do not
    pod.footprint = {.cpu = MilliCpu(random_.below(5000)),
                     .memory = Mebibytes(random_.below(5000))};
    naive::Pod plain = naive_pod(pod);
    plain.ttl = random_.between(1, 60);
    plain.deadline = now_ + plain.ttl;
    plain.reserved = only_reserve;
    const Ledger::Uids yielding(displaced.begin(), displaced.end());
    const naive::Obstacle expected = naive_.obstacle_to(pod.pod_uid, plain, displaced);
    const auto before = ledger_.snapshot();
    const std::chrono::milliseconds ttl(plain.ttl);
    const auto answer =
        only_reserve ? ledger_.reserve(pod, ttl, yielding) : ledger_.assume(pod, ttl, yielding);
    EXPECT_EQ(answer.has_value(), expected == naive::Obstacle::kNone) << pod.pod_uid;
    if (!answer) {
      EXPECT_EQ(answer.error().code, code_of(expected));
      EXPECT_EQ(ledger_.snapshot(), before);
      return false;
    }
    for (const std::string& uid : displaced) naive_.pods.erase(uid);
    naive_.pods[pod.pod_uid] = plain;
    pod.tentative = only_reserve;
    allocations_[pod.pod_uid] = pod;
    expect_within_capacity(plain);
    return true;
  }

  /// Mostly those that yield.
  std::set<std::string> some_displaced_by(const Allocation& pod) {
    std::set<std::string> uids;
    for (const auto& [uid, other] : naive_.pods) {
      if (uid == pod.pod_uid || other.node != pod.node) continue;
      const bool yields = other.reserved && other.priority < pod.priority;
      if (random_.chance(yields ? 50 : 2)) uids.insert(uid);
    }
    return uids;
  }

  static Errc code_of(naive::Obstacle obstacle) {
    if (obstacle == naive::Obstacle::kNoNode) return Errc::kNotFound;
    return obstacle == naive::Obstacle::kAlreadyAllocated ? Errc::kConflict : Errc::kStale;
  }

  const char* confirm() {
    const std::string uid = uid_of(random_.below(kUids));
    const auto before = ledger_.snapshot();
    const auto known = naive_.pods.find(uid);
    if (known != naive_.pods.end() && known->second.reserved)
      return "confirm nothing";  // was not sent
    EXPECT_EQ(ledger_.confirm(uid).has_value(), known != naive_.pods.end()) << uid;
    EXPECT_EQ(ledger_.snapshot(), before);
    if (known != naive_.pods.end()) {
      known->second.confirmed = true;
      known->second.unknown = false;
    }
    return "confirm";
  }

  const char* observe() {
    std::string uid = uid_of(random_.below(kUids));
    const auto allocated = allocations_.find(uid);
    const bool assumed = naive_.pods.contains(uid) && !naive_.pods.at(uid).reserved;
    const bool as_allocated = assumed && !random_.chance(10);
    if (!assumed && random_.chance(60)) return "observe nothing";
    const Allocation pod = as_allocated ? allocated->second : random_grant(random_, uid);
    const auto before = ledger_.snapshot();
    ledger_.observe(pod);
    EXPECT_TRUE(!as_allocated || ledger_.snapshot() == before) << uid;
    naive::Pod& plain = naive_.pods[uid] = naive_pod(pod);
    plain.confirmed = plain.observed = true;
    allocations_[uid] = pod;
    return as_allocated ? "observe the allocation" : "observe something else";
  }

  const char* release() {
    const std::string uid = naive_.pods.empty() || random_.chance(20)
                                ? uid_of(random_.below(kUids))
                                : random_.one_of(naive_.pods).first;
    EXPECT_EQ(ledger_.release(uid), naive_.pods.erase(uid) == 1) << uid;
    allocations_.erase(uid);
    return "release";
  }

  const char* retain() {
    std::set<std::string, std::less<>> bound;
    std::set<std::string> expected;
    for (const auto& [uid, pod] : naive_.pods) {
      if (random_.chance(60)) {
        bound.insert(uid);
      } else if (pod.observed) {
        expected.insert(uid);
      } else if (pod.confirmed) {
        naive_.pods.at(uid).deadline = now_;
      }
    }
    std::set<std::string> ended;
    for (const AllocationPtr& allocation :
         ledger_.retain_observed([&](const std::string& uid) { return bound.contains(uid); }))
      ended.insert(allocation->pod_uid);
    EXPECT_EQ(ended, expected);
    for (const std::string& uid : expected) {
      naive_.pods.erase(uid);
      allocations_.erase(uid);
    }
    return "retain";
  }

  const char* advance() {
    const std::int64_t millis = random_.between(1, 40);
    clock_.advance(std::chrono::milliseconds(millis));
    now_ += millis;
    return "advance the clock";
  }

  const char* overdue() {
    std::multiset<std::string> late;  // a pod named twice is a mistake
    const auto before = ledger_.snapshot();
    for (const Ledger::Overdue& overdue : ledger_.overdue(kUids)) {
      late.insert(overdue.allocation->pod_uid);
      EXPECT_TRUE(ledger_.is_unchanged(overdue));
    }
    ledger_.expire_reservations();
    const std::size_t pods = naive_.pods.size();
    const auto expected = naive_.overdue(now_);
    EXPECT_EQ(late, std::multiset<std::string>(expected.begin(), expected.end()));
    EXPECT_EQ(ledger_.snapshot() == before, naive_.pods.size() == pods);
    return "overdue";
  }

  /// A new node, the same again, other cards, or one card changed.
  const char* put_node() {
    const std::string& name = random_.one_of(kNodeNames);
    const auto known = inventories_.find(name);
    NodeInventory what = random_inventory(random_, name);
    if (known != inventories_.end() && random_.chance(70)) {
      what = known->second;
      if (!what.cards.empty() && random_.chance(80)) {
        Card& changed = what.cards[static_cast<std::size_t>(
            random_.below(static_cast<std::int64_t>(what.cards.size())))];
        changed = random_card(random_, changed.id);
      }
    }
    ledger_.put_node(what);
    naive_.nodes[name] = naive_node(what);
    inventories_[name] = std::move(what);
    return "put a node";
  }

  const char* remove_node() {
    const std::string& name = random_.one_of(kNodeNames);
    ledger_.remove_node(name);
    naive_.nodes.erase(name);
    inventories_.erase(name);
    return "remove a node";
  }

  /// Only thinks about it: the node without some pods.
  const char* evict() {
    const std::string& name = random_.one_of(kNodeNames);
    const auto ledger = ledger_.snapshot();
    const NodeState* node = ledger->find(name);
    if (node == nullptr) return "evict from a node that is not there";
    std::set<std::string> evicted;
    for (const std::string& uid : naive_.pods_of(name)) {
      if (random_.chance(50)) evicted.insert(uid);
    }
    check_cards(without_pods(*node, {evicted.begin(), evicted.end()}), evicted);
    return "evict";
  }

  Random random_;
  testing::ManualClock clock_;
  std::int64_t now_ = 0;  ///< the oracle's own clock
  Ledger ledger_{clock_};
  naive::Ledger naive_;
  std::map<std::string, Allocation> allocations_;     ///< as the Ledger was given them
  std::map<std::string, NodeInventory> inventories_;  ///< of the nodes present
  std::deque<Allocation> pending_;                    ///< decided, not allocated yet
};

class LedgerPropertyTest : public ::testing::TestWithParam<int> {};

TEST_P(LedgerPropertyTest, AgreesWithTheReferenceModel) {
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
