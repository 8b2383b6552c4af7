#pragma once

#include "cluster/moves.hpp"
#include "tests/testing/random.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// A small cluster in plain numbers, a checker of plans that uses nothing else, and the same
/// cluster as the planner takes it.
namespace tangram::testing {

/// Of each card: thousandths of its compute and MiB of its memory. A pod that asks for 1,000 of
/// both has the card to itself, however much memory that has.
struct PlainRequest {
  int containers = 1;  ///< alike; they may share a card, unless they ask for whole ones
  int cards = 1;       ///< of each container
  int milli = 0;
  int memory = 0;
  int cpu = 0;
  std::size_t mode = 0;  ///< sharers of a card are in one mode: 0 or 1
  [[nodiscard]] bool whole() const { return milli == 1000 && memory == 1000; }
  [[nodiscard]] std::size_t all_cards() const {
    return static_cast<std::size_t>(containers) * static_cast<std::size_t>(cards);
  }
};
struct PlainPod {
  PlainRequest request;
  std::size_t node = 0;
  std::vector<std::size_t> cards = {};  ///< of the first container, then of the second
  bool movable = true;
  bool terminating = false;
  bool reserved = false;
  int team = 0;                          ///< each has a disruption budget
  int site = 0;                          ///< the same
  std::vector<std::size_t> not_on = {};  ///< nodes that do not take its next pod
};
struct PlainNode {
  std::size_t cards = 1;
  int card_memory = 1000;  ///< of each: less in a part of a card, such as a MIG instance
  int max_sharers = 48;    ///< of each
  int cpu = 100;
  int slots = 0;  ///< 0 = not known
  bool closed = false;
  std::vector<std::size_t> broken = {};  ///< cards
};
struct PlainWanted {
  PlainRequest request;
  int weight = 1;
  std::vector<std::size_t> not_on = {};  ///< nodes that do not take it
  std::string controller = {};           ///< empty = none
};
struct PlainCluster {
  std::vector<PlainNode> nodes;
  std::vector<PlainPod> pods = {};
  std::vector<PlainWanted> wanted = {};
  std::map<int, int> allowed = {};     ///< disruptions by team; a team without one is not protected
  std::map<int, int> allowed_at = {};  ///< the same by site
  std::size_t most_moves = 10;
};

/// "pod-7", with leading zeros.
[[nodiscard]] std::string plain_name(const char* kind, std::size_t index);

/// What stands on the cards at one moment.
class PlainUse {
 public:
  explicit PlainUse(const PlainCluster& cluster);
  void add(const PlainRequest& request, std::size_t node, const std::vector<std::size_t>& cards,
           int sign = 1);
  /// Also looks at cards that are broken and nodes that are closed.
  [[nodiscard]] bool takes(const PlainRequest& request, std::size_t node,
                           const std::vector<std::size_t>& cards) const;
  [[nodiscard]] bool has_room(const PlainRequest& request, std::size_t node) const;
  /// On any node that takes it.
  [[nodiscard]] bool has_room(const PlainWanted& wanted) const;
  [[nodiscard]] bool card_takes(const PlainRequest& request, std::size_t node,
                                std::size_t card) const;

 private:
  struct Card {
    int milli = 0;
    int memory = 0;
    int whole = 0;
    std::array<int, 2> sharers{};  ///< by mode
  };
  struct Node {
    int cpu = 0;
    int slots = 0;
    std::vector<Card> cards;
  };
  [[nodiscard]] bool has_cpu(const PlainRequest& request, std::size_t node) const;
  void add_to_cards(const PlainRequest& request, std::size_t node,
                    const std::vector<std::size_t>& cards, int sign);
  /// For so many of the pod's containers.
  [[nodiscard]] bool has_cards(const PlainRequest& request, std::size_t node, int containers) const;

  const PlainCluster* cluster_;
  std::vector<Node> nodes_;
};

/// What is wrong with the plan; "" = nothing. Goes through it move by move.
[[nodiscard]] std::string mistake_in(const PlainCluster& cluster, const cluster::MovePlan& plan);

/// The planner's answer.
[[nodiscard]] cluster::MovePlan plan_for(const PlainCluster& cluster,
                                         const std::string& policy = "least-waste",
                                         std::optional<cluster::MoveLimits> limits = std::nullopt);

/// The fewest moves that let the first wanted pod run, of all there are.
/// @returns nothing if it fits without, or not by so many
[[nodiscard]] std::optional<std::size_t> fewest_moves(const PlainCluster& cluster,
                                                      std::size_t most);

[[nodiscard]] PlainCluster random_cluster(Random& random, std::size_t most_pods);

}  // namespace tangram::testing
