#pragma once

#include "model/node_state.hpp"
#include "model/placement.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

/// Short ways to say what a test is about.
namespace tangram::testing {

/// An 80 GiB card.
inline model::Card card(std::string id, std::string model = "A100",
                        Mebibytes memory = Mebibytes(81'920)) {
  model::Card c;
  c.id = std::move(id);
  c.model = std::move(model);
  c.memory = memory;
  return c;
}

/// A node with 64 cores and 512 GiB.
inline model::NodeInventory inventory(std::string name, std::vector<model::Card> cards) {
  return {.name = std::move(name),
          .cards = std::move(cards),
          .cpu = MilliCpu(64'000),
          .memory = Mebibytes(524'288)};
}

/// A present node on which nothing runs.
inline model::NodeState node(model::NodeInventory what) {
  model::NodeState state;
  state.name = what.name;
  state.present = true;
  state.use.resize(what.cards.size());
  state.equip(std::move(what));
  return state;
}

/// One container "main" that requests `share` of each of `count` cards.
inline model::GpuRequest request(model::Share share, int count = 1) {
  model::GpuRequest r;
  r.containers.push_back({.container = "main", .count = count, .share = share});
  r.isolation = model::Isolation::kMps;
  return r;
}

inline model::Share fraction(std::int64_t milli) {
  model::Share share;
  share.form = model::ShareForm::kFraction;
  share.fraction = MilliGpu(milli);
  return share;
}

inline model::Share memory(std::int64_t mib) {
  model::Share share;
  share.form = model::ShareForm::kMemory;
  share.memory = Mebibytes(mib);
  return share;
}

inline model::Share whole() { return {}; }

/// What a pod would hold if it got these cards, named by their ids.
inline model::Allocation allocation(std::string uid, std::string node_name,
                                    std::vector<model::GrantedCard> cards) {
  model::Allocation h;
  h.pod_uid = uid;
  h.pod_namespace = "ml";
  h.pod_name = std::move(uid);
  h.node = std::move(node_name);
  h.isolation = model::Isolation::kMps;
  if (!cards.empty()) h.containers.push_back({.container = "main", .cards = std::move(cards)});
  return h;
}

inline model::Slice slice(std::int64_t mib, std::int64_t milli) {
  model::Slice part;
  part.memory = Mebibytes(mib);
  part.compute = MilliGpu(milli);
  return part;
}

inline model::GrantedCard granted(std::string uuid, std::int64_t mib, std::int64_t milli) {
  return {.uuid = std::move(uuid),
          .memory = Mebibytes(mib),
          .compute = MilliGpu(milli),
          .memory_limit = Mebibytes(mib),
          .compute_limit = MilliGpu(milli)};
}
/// As it is granted to one of several on a card.
inline model::GrantedCard shared(std::string uuid, std::int64_t mib, std::int64_t milli) {
  model::GrantedCard part = granted(std::move(uuid), mib, milli);
  part.whole = false;
  return part;
}

}  // namespace tangram::testing
