#pragma once

#include "model/node_state.hpp"
#include "tests/testing/builders.hpp"

#include <string>
#include <utility>
#include <vector>

/// Nodes and pods as the policy tests need them.
namespace tangram::testing {

/// What a card is used like: `milli` of it and as large a part of its memory, by `sharers`.
struct Load {
  std::int64_t milli = 0;
  int sharers = 1;
};

inline model::CardUse used(const model::Card& card, Load load) {
  model::CardUse use;
  if (load.milli == 0) return use;
  use.memory = Mebibytes(card.memory.count() * load.milli / 1000);
  use.compute = MilliGpu(load.milli);
  use.sharers[static_cast<std::size_t>(model::Isolation::kMps)] = load.sharers;
  return use;
}

/// A node of 80 GiB A100s, one per load, with this much CPU free.
inline model::NodeState loaded_node(const std::vector<Load>& loads,
                                    std::int64_t free_cpu = 64'000) {
  std::vector<model::Card> cards;
  for (std::size_t i = 0; i < loads.size(); ++i) cards.push_back(card("g" + std::to_string(i)));
  model::NodeInventory what = inventory("n", std::move(cards));
  model::NodeState state = node(std::move(what));
  for (std::size_t i = 0; i < loads.size(); ++i) state.use[i] = used(state.cards()[i], loads[i]);
  state.requested.cpu = MilliCpu(state.inventory->cpu.count() - free_cpu);
  return state;
}

inline model::PodDemand pod(model::GpuRequest gpu, std::int64_t cpu = 0, std::int64_t mib = 0) {
  return {.gpu = std::move(gpu), .footprint = {.cpu = MilliCpu(cpu), .memory = Mebibytes(mib)}};
}

inline model::PodDemand cpu_pod(std::int64_t cpu, std::int64_t mib = 0) {
  return pod({}, cpu, mib);
}

}  // namespace tangram::testing
