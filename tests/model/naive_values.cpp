#include "tests/model/naive_values.hpp"

#include "tests/model/random_cluster.hpp"

#include <string>
#include <vector>

namespace tangram::model {
namespace {

naive::Card naive_card(const Card& card) {
  naive::Card plain{.id = card.id,
                    .model = card.model,
                    .memory = card.memory.count(),
                    .usable = card.healthy && !card.cordoned,
                    .modes = {},
                    .means = static_cast<int>(card.memory_limits),
                    .max_sharers = card.max_sharers,
                    .chunks = card.compute_chunks};
  for (int mode = 0; mode < static_cast<int>(kIsolationModes); ++mode) {
    if (card.isolation.has(static_cast<Isolation>(mode))) plain.modes.insert(mode);
  }
  return plain;
}

/// Knows the globs that random_request() makes, and no others.
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

naive::Ask naive_ask(const ContainerRequest& container) {
  naive::Ask ask{.count = container.count,
                 .whole = container.share.form == ShareForm::kWhole,
                 .fraction = {},
                 .memory = container.share.memory.count(),
                 .milli = {}};
  if (container.share.form == ShareForm::kFraction) ask.fraction = container.share.fraction.count();
  if (container.share.compute) ask.milli = container.share.compute->count();
  return ask;
}

/// @param asked  none, one model, or all but one
bool may_be(const std::vector<std::string>& asked, const std::string& model) {
  if (asked.empty()) return true;
  const std::string& one = asked.front();
  return one.front() == '!' ? one != "!" + model : one == model;
}

}  // namespace

naive::Node naive_node(const NodeInventory& what) {
  naive::Node plain{.cards = {}, .cpu = what.cpu.count(), .memory = what.memory.count()};
  for (const Card& card : what.cards) plain.cards.push_back(naive_card(card));
  return plain;
}

naive::Pod naive_pod(const Allocation& allocation) {
  naive::Pod plain{.node = allocation.node,
                   .cpu = allocation.footprint.cpu.count(),
                   .memory = allocation.footprint.memory.count(),
                   .mode = static_cast<int>(allocation.isolation),
                   .parts = {}};
  plain.priority = allocation.priority;
  for (const ContainerGrant& container : allocation.containers) {
    for (const GrantedCard& card : container.cards) {
      plain.parts.push_back({card.uuid, card.memory.count(), card.compute.count(), card.whole,
                             static_cast<int>(card.memory_limits)});
    }
  }
  return plain;
}

naive::Request naive_request(const GpuRequest& request) {
  naive::Request plain{
      .asks = {}, .mode = static_cast<int>(request.isolation), .models = {}, .ids = {}};
  for (const ContainerRequest& container : request.containers) {
    plain.asks.push_back(naive_ask(container));
  }
  for (const std::string& model : kModels) {
    if (may_be(request.models, model)) plain.models.insert(model);
  }
  for (const std::string& node : kNodeNames) {
    for (int i = 0; i < kMaxCards; ++i) {
      const std::string id = card_id(node, i);
      if (may_take(request.card_ids, id)) plain.ids.insert(id);
    }
  }
  plain.least_means = static_cast<int>(request.memory_limits);
  return plain;
}

}  // namespace tangram::model
