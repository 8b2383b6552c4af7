#include "node/audit/memory_meter.hpp"

#include <utility>

namespace tangram::node {
namespace {

std::vector<PlacedProcess> placed(const CardActivity& activity, const Processes& processes) {
  std::vector<PlacedProcess> placed;
  placed.reserve(activity.processes.size());
  for (const CardProcess& process : activity.processes) {
    placed.push_back({process.pid, processes.place_of(process.pid), process.memory_bytes});
  }
  return placed;
}

}  // namespace

std::map<std::string, std::vector<MemoryUse>> MemoryMeter::read(
    const std::set<std::string>& cards, const std::vector<CardClaim>& claims) {
  std::set<std::string> pods;
  for (const CardClaim& claim : claims) pods.insert(claim.pod_uid);
  std::map<std::string, std::vector<PlacedProcess>> answered;
  std::set<ProcessPlace> places;
  for (const std::string& card : cards) {
    const auto activity = source_.activity(card);
    if (!activity) continue;
    auto processes = placed(*activity, processes_);
    for (const PlacedProcess& process : processes) {
      if (pods.contains(process.place.pod_uid)) places.insert(process.place);
    }
    answered.emplace(card, std::move(processes));
  }
  names_.update(places);
  std::map<std::string, std::vector<MemoryUse>> uses;
  for (const auto& [card, processes] : answered) {
    uses.emplace(card, memory_uses(card, processes, claims, names_.known()));
  }
  return uses;
}

}  // namespace tangram::node
