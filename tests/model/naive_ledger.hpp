#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// The ledger kept in the simplest way that can be right: a list of pods, from which every
/// answer is added up anew. The oracle of the Ledger's and the placement's property tests, so it
/// shares nothing with model/: own types, plain 64-bit MiB and thousandths, own rule of what fits.
namespace tangram::testing::naive {

struct Card {
  std::string id;
  std::string model;
  std::int64_t memory = 0;
  bool usable = true;
  std::set<int> modes;
  int means = 0;  ///< of memory limits: 0 none, 1 MPS, 2 the library, 3 the driver
  int max_sharers = 48;
  std::int64_t chunks = 0;  ///< in which it gives compute to mode 0; 0 = in thousandths
};

struct Node {
  std::vector<Card> cards;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
};

/// What one container of a pod has of one card.
struct Part {
  std::string card;
  std::int64_t memory = 0;
  std::int64_t milli = 0;
  std::optional<bool> alone = {};  ///< shares the card with nobody; not said: by its size
  int means = 0;                   ///< of memory limits, as promised
};

struct Pod {
  std::string node;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  int mode = 0;
  std::vector<Part> parts;
  bool reserved = false;  ///< room set aside, no more
  int priority = 0;
  bool unknown = false;  ///< sent, outcome unknown
  bool confirmed = false;
  bool observed = false;
  std::int64_t deadline = 0;
  std::int64_t ttl = 0;
};

/// What is on a card: the sum of its parts.
struct Load {
  std::int64_t memory = 0;
  std::int64_t milli = 0;
  std::map<int, int> sharers;  ///< by mode
  int alone = 0;               ///< of them, those that are to share with nobody

  int sharer_count() const {
    int all = 0;
    for (const auto& [mode, count] : sharers) all += count;
    return all;
  }
};

/// One container's request: `whole`, or `fraction` thousandths, or `memory` MiB with `milli`.
struct Ask {
  int count = 1;
  bool whole = false;
  std::optional<std::int64_t> fraction;
  std::int64_t memory = 0;
  std::optional<std::int64_t> milli;
};

/// A part that is not on its card yet.
struct Need {
  std::int64_t memory = 0;
  std::int64_t milli = 0;
  bool alone = false;
  int least_means = 0;
  bool below_a_chunk = false;
};

struct Request {
  std::vector<Ask> asks;
  int mode = 0;
  std::set<std::string> models;  ///< that may be taken
  std::set<std::string> ids;     ///< of cards that may be taken
  int least_means = 0;           ///< for parts of a card
};

/// The largest whole number whose `by`-fold is at most `of`.
inline std::int64_t how_often(std::int64_t by, std::int64_t of) { return (of - of % by) / by; }

inline Need need_of(const Ask& ask, const Card& card, int mode) {
  if (ask.whole || ask.fraction == 1000) return {card.memory, 1000, true};
  Need need{ask.memory, 0, false};
  if (ask.fraction) {
    need.memory = how_often(1000, *ask.fraction * card.memory);
    need.milli = *ask.fraction;
  } else {
    need.milli = ask.milli ? *ask.milli : how_often(card.memory, 1000 * ask.memory);
  }
  if (card.chunks == 0 || mode != 0) return need;
  std::int64_t chunks = 0;
  while ((chunks + 1) * 1000 <= need.milli * card.chunks) ++chunks;
  need.milli = how_often(card.chunks, chunks * 1000);
  need.below_a_chunk = chunks == 0;
  return need;
}

/// MPS limits the memory of those who share by MPS, which is mode 0.
inline int means_in(int mode, const Card& card) {
  return card.means == 1 && mode != 0 ? 0 : card.means;
}

/// In the mode, whatever is there.
inline bool offers(const Card& card, const Need& need, int mode) {
  return (need.alone || card.modes.contains(mode)) && need.least_means <= means_in(mode, card) &&
         !need.below_a_chunk;
}

inline bool only_in(int mode, const Load& load) {
  return std::all_of(load.sharers.begin(), load.sharers.end(), [&](const auto& in_mode) {
    return in_mode.second == 0 || in_mode.first == mode;
  });
}

/// Can all of `added` be on the card at once, beside what is there? In whatever order they come.
inline bool takes(const Card& card, const Load& there, const std::vector<Need>& added, int mode) {
  if (added.empty()) return true;
  if (!card.usable || there.alone > 0) return false;
  Need sum;
  for (const Need& need : added) {
    if (need.alone && (there.sharer_count() > 0 || added.size() > 1)) return false;
    if (!offers(card, need, mode)) return false;
    sum.memory += need.memory;
    sum.milli += need.milli;
  }
  const auto all = there.sharer_count() + static_cast<int>(added.size());
  const bool alone = added.front().alone;
  return only_in(mode, there) && (alone || all <= card.max_sharers) &&
         (sum.memory == 0 || there.memory + sum.memory <= card.memory) &&
         (sum.milli == 0 || there.milli + sum.milli <= 1000);
}

enum class Obstacle { kNone, kNoNode, kAlreadyAllocated, kNoRoom };

class Ledger {
 public:
  std::map<std::string, Node> nodes;  ///< those present
  std::map<std::string, Pod> pods;    ///< by UID

  /// What is on each card that pods of the node name, listed by the node or not.
  std::map<std::string, Load> loads(const std::string& node,
                                    const std::set<std::string>& without = {}) const {
    std::map<std::string, Load> by_card;
    for (const auto& [uid, pod] : pods) {
      if (pod.node != node || without.contains(uid)) continue;
      for (const Part& part : pod.parts) {
        Load& load = by_card[part.card];
        load.memory += part.memory;
        load.milli += part.milli;
        ++load.sharers[pod.mode];
        const Card* card = card_of(node, part.card);
        if (card != nullptr && is_alone(part, *card)) ++load.alone;
      }
    }
    return by_card;
  }

  /// Parts on cards that the node does not list.
  int stray_parts(const std::string& node, const std::map<std::string, Load>& loads) const {
    int strays = 0;
    for (const auto& [card, load] : loads) {
      if (card_of(node, card) == nullptr) strays += load.sharer_count();
    }
    return strays;
  }

  std::set<std::string> pods_of(const std::string& node) const {
    std::set<std::string> uids;
    for (const auto& [uid, pod] : pods) {
      if (pod.node == node) uids.insert(uid);
    }
    return uids;
  }

  /// Why this pod can be neither reserved nor assumed now. Its own reservation does not count, nor
  /// do those that end for it, if they do.
  Obstacle obstacle_to(const std::string& uid, const Pod& pod,
                       const std::set<std::string>& displaced) const {
    const auto known = pods.find(uid);
    if (known != pods.end() && !known->second.reserved) return Obstacle::kAlreadyAllocated;
    if (!nodes.contains(pod.node)) return Obstacle::kNoNode;
    std::set<std::string> leaving{uid};
    for (const std::string& other : displaced) {
      const auto found = pods.find(other);
      const bool yields = found != pods.end() && found->second.reserved &&
                          found->second.node == pod.node && found->second.priority < pod.priority;
      if (!yields) return Obstacle::kNoRoom;
      leaving.insert(other);
    }
    const auto there = loads(pod.node, leaving);
    std::map<std::string, std::vector<Need>> wanted;
    for (const Part& part : pod.parts) {
      const Card* card = card_of(pod.node, part.card);
      if (card == nullptr) return Obstacle::kNoRoom;
      wanted[part.card].push_back({part.memory, part.milli, is_alone(part, *card), part.means});
    }
    for (const auto& [id, needs] : wanted) {
      const auto load = there.find(id);
      const Load on_it = load == there.end() ? Load{} : load->second;
      if (!takes(*card_of(pod.node, id), on_it, needs, pod.mode)) return Obstacle::kNoRoom;
    }
    return Obstacle::kNone;
  }

  /// Is there any way to put the request on the node? Tries all of them.
  bool can_place(const Request& request, const std::string& node) const {
    const auto found = nodes.find(node);
    if (found == nodes.end()) return false;
    const auto there = loads(node);
    std::vector<Tried> cards;
    for (const Card& card : found->second.cards) {
      const auto load = there.find(card.id);
      cards.push_back({&card, load == there.end() ? Load{} : load->second, {}});
    }
    return can_place_from(request, 0, cards);
  }

  /// Expires reservations; names the others whose deadline passed, and gives each
  /// another ttl.
  std::set<std::string> overdue(std::int64_t now) {
    std::erase_if(pods, [&](const auto& entry) {
      return entry.second.reserved && entry.second.deadline <= now;
    });
    std::set<std::string> late;
    for (auto& [uid, pod] : pods) {
      if (pod.observed || pod.deadline > now) continue;
      late.insert(uid);
      pod.deadline = now + pod.ttl;
    }
    return late;
  }

  const Card* card_of(const std::string& node, const std::string& id) const {
    const auto found = nodes.find(node);
    if (found == nodes.end()) return nullptr;
    for (const Card& card : found->second.cards) {
      if (card.id == id) return &card;
    }
    return nullptr;
  }

  static bool is_alone(const Part& part, const Card& card) {
    return part.alone ? *part.alone : part.memory >= card.memory && part.milli >= 1000;
  }

 private:
  struct Tried {
    const Card* card;
    Load there;
    std::vector<Need> added;
  };

  static bool can_place_from(const Request& request, std::size_t next, std::vector<Tried>& cards) {
    if (next == request.asks.size()) return true;
    for (unsigned chosen = 0; chosen < (1U << cards.size()); ++chosen) {
      if (__builtin_popcount(chosen) != request.asks[next].count) continue;
      if (can_place_on(request, next, chosen, cards)) return true;
    }
    return false;
  }

  static bool can_place_on(const Request& request, std::size_t next, unsigned chosen,
                           std::vector<Tried>& cards) {
    const auto is_chosen = [&](std::size_t i) { return ((chosen >> i) & 1U) != 0; };
    bool all_fit = true;
    for (std::size_t i = 0; i < cards.size(); ++i) {
      if (!is_chosen(i)) continue;
      Tried& tried = cards[i];
      Need need = need_of(request.asks[next], *tried.card, request.mode);
      need.least_means = need.alone ? 0 : request.least_means;
      tried.added.push_back(need);
      all_fit = all_fit && request.models.contains(tried.card->model) &&
                request.ids.contains(tried.card->id) &&
                takes(*tried.card, tried.there, tried.added, request.mode);
    }
    const bool placed = all_fit && can_place_from(request, next + 1, cards);
    for (std::size_t i = 0; i < cards.size(); ++i) {
      if (is_chosen(i)) cards[i].added.pop_back();
    }
    return placed;
  }
};

}  // namespace tangram::testing::naive
