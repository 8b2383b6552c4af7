#pragma once

#include "node/audit/memory_checker.hpp"
#include "tests/node/container/start_fakes.hpp"
#include "tests/testing/manual_clock.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tangram::node {

inline constexpr std::uint64_t kMiB = 1U << 20U;

/// The processes of cards, as a test sets them.
class FakeCards final : public CardSource {
 public:
  Result<Inventory> inventory() override { return Inventory{}; }
  Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds /*limit*/) override {
    return std::vector<Fault>{};
  }
  Result<CardActivity> activity(std::string_view card) override {
    asked.emplace_back(card);
    before_answer();
    if (silent.contains(std::string(card))) return fail(Errc::kUnavailable, "no answer");
    CardActivity activity;
    for (const auto& [pid, mib] : processes[std::string(card)]) {
      activity.processes.push_back({pid, mib * kMiB});
    }
    return activity;
  }
  Result<void> set_exclusive_process(std::string_view /*card*/, bool /*exclusive*/) override {
    return {};
  }

  std::map<std::string, std::map<std::int64_t, std::uint64_t>> processes;  ///< MiB by PID, by card
  std::set<std::string> silent;
  std::vector<std::string> asked;
  std::function<void()> before_answer = [] {};
};

/// A runtime that knows containers by id.
class FakeNames final : public ContainerRuntime {
 public:
  Result<std::vector<RuntimeContainer>> list() override { return std::vector<RuntimeContainer>{}; }
  Result<std::vector<RuntimeContainer>> list_of(const std::string& pod_uid) override {
    asked.push_back(pod_uid);
    if (error) return *error;
    std::vector<RuntimeContainer> list;
    for (const auto& [id, container] : containers) {
      if (container.first == pod_uid) {
        list.push_back({id, pod_uid, "ml", "", container.second, 0});
      }
    }
    return list;
  }
  Result<std::vector<std::string>> environment(const std::string& /*id*/) override {
    return std::vector<std::string>{};
  }
  Result<void> end(const std::string& /*id*/) override { return {}; }

  std::map<std::string, std::pair<std::string, std::string>> containers;  ///< pod UID, name; by id
  std::optional<Error> error;
  std::vector<std::string> asked;
};

/// A checker of the memory of pod "a" on GPU-1: container "one" may use 1,000 MiB and "two" 3,000.
struct MemoryRig {
  MemoryRig() {
    claims = {claim("a", "one", part("GPU-1", 1000, 100)),
              claim("a", "two", part("GPU-1", 3000, 100))};
    runtime.containers = {{"id-one", {"uid-a", "one"}}, {"id-two", {"uid-a", "two"}}};
  }
  static CardClaim claim(const std::string& pod, const std::string& container,
                         model::GrantedCard card) {
    CardClaim claim;
    claim.pod_uid = "uid-" + pod;
    claim.ns = "ml";
    claim.pod = pod;
    claim.admitted = true;
    claim.container = {container, {std::move(card)}};
    return claim;
  }
  /// A process of pod "a" uses so much of GPU-1.
  void use(std::int64_t pid, const std::string& container_id, std::uint64_t mib) {
    processes.by_pid[pid] = "uid-a";
    processes.container_ids[pid] = container_id;
    cards.processes["GPU-1"][pid] = mib;
  }
  MemoryChecker::Parts parts(ContainerRuntime* of, bool terminates = false) {
    return {.claims = [this] { return claims; },
            .source = cards,
            .processes = processes,
            .runtime = of,
            .note_use = [this](const MemoryUse& use) { uses.push_back(use); },
            .report_event = [this](const kube::EventNote& note) { events.push_back(note); },
            .terminates = terminates,
            .clock = clock};
  }

  testing::ManualClock clock;
  std::vector<CardClaim> claims;
  FakeCards cards;
  FakeProcesses processes;
  FakeNames runtime;
  std::vector<MemoryUse> uses;  ///< as they were noted
  std::vector<kube::EventNote> events;
};

}  // namespace tangram::node
