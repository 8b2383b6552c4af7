#pragma once

#include "node/cards/card_source.hpp"
#include "node/container/memory_limiter.hpp"
#include "node/container/processes.hpp"
#include "node/isolation/enforcer.hpp"
#include "node/pods/local_pods.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// What a container's start asks, as a test sets it.
namespace tangram::node {

/// Pods as a test sets them; the API server answers, or does not. Threads: safe.
class FakePods final : public PodSource {
 public:
  [[nodiscard]] LocalPodPtr find(std::string_view uid) const override {
    const std::lock_guard lock(mutex_);
    if (!watched_) return nullptr;
    const auto found = pods_.find(uid);
    return found == pods_.end() || lagging_.contains(uid) ? nullptr : as_watched(found->second);
  }
  [[nodiscard]] std::vector<LocalPodPtr> all() const override {
    const std::lock_guard lock(mutex_);
    std::vector<LocalPodPtr> all;
    if (!watched_) return all;
    for (const auto& [uid, pod] : pods_) {
      if (!lagging_.contains(uid)) all.push_back(as_watched(pod));
    }
    return all;
  }
  [[nodiscard]] bool synced() const override {
    const std::lock_guard lock(mutex_);
    return watched_;
  }
  Result<LocalPodPtr> fetch(std::string_view ns, std::string_view name) override {
    const std::lock_guard lock(mutex_);
    if (!answers_) return fail(Errc::kUnavailable, "connection refused");
    for (const auto& [uid, pod] : pods_) {
      if (pod->pod.ns == ns && pod->pod.name == name) return pod;
    }
    return fail(Errc::kNotFound, "it does not exist any more");
  }

  void put(LocalPod pod) {
    const std::lock_guard lock(mutex_);
    std::string uid = pod.pod.uid;
    pods_.insert_or_assign(std::move(uid), std::make_shared<const LocalPod>(std::move(pod)));
  }
  void erase(const std::string& uid) {
    const std::lock_guard lock(mutex_);
    pods_.erase(uid);
  }
  /// The watch does not have the pod yet.
  void lag(const std::string& uid) {
    const std::lock_guard lock(mutex_);
    lagging_.insert(uid);
  }
  void catch_up() {
    const std::lock_guard lock(mutex_);
    lagging_.clear();
  }
  /// Of the pod the watch keeps an outline.
  void leave_out(const std::string& uid) {
    const std::lock_guard lock(mutex_);
    left_out_.insert(uid);
  }
  /// @param watched  the watch has delivered; @param answers  so does a GET
  void reachable(bool watched, bool answers) {
    const std::lock_guard lock(mutex_);
    watched_ = watched;
    answers_ = answers;
  }

 private:
  [[nodiscard]] LocalPodPtr as_watched(const LocalPodPtr& pod) const {
    if (!left_out_.contains(pod->pod.uid)) return pod;
    return std::make_shared<const LocalPod>(outline_of(*pod));
  }

  mutable std::mutex mutex_;
  std::map<std::string, LocalPodPtr, std::less<>> pods_;
  std::set<std::string> left_out_;
  std::set<std::string, std::less<>> lagging_;
  bool watched_ = true;
  bool answers_ = true;
};

class FakeSource final : public CardSource {
 public:
  Result<Inventory> inventory() override { return Inventory{}; }
  Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds /*limit*/) override {
    return std::vector<Fault>{};
  }
  Result<CardActivity> activity(std::string_view card) override {
    if (!answers) return fail(Errc::kUnavailable, "the driver does not answer");
    CardActivity activity;
    const auto found = processes.find(std::string(card));
    if (found != processes.end()) activity.processes = found->second;
    return activity;
  }
  Result<void> set_exclusive_process(std::string_view /*card*/, bool /*exclusive*/) override {
    return {};
  }
  bool answers = true;
  std::map<std::string, std::vector<CardProcess>> processes;  ///< read only while calls are made
};

class FakeProcesses final : public Processes {
 public:
  [[nodiscard]] ProcessPlace place_of(std::int64_t pid) const override {
    const auto pod = by_pid.find(pid);
    if (pod == by_pid.end()) return {};
    const auto container = container_ids.find(pid);
    return {pod->second, container == container_ids.end() ? "" : container->second};
  }
  [[nodiscard]] std::map<std::string, std::int64_t> pods() const override {
    std::map<std::string, std::int64_t> pods;
    for (const auto& [pid, uid] : by_pid) pods.emplace(uid, pid);
    return pods;
  }
  std::map<std::int64_t, std::string> by_pid;         ///< UIDs
  std::map<std::int64_t, std::string> container_ids;  ///< of those that can be told
};

/// Adds a variable with the limits of the cards that it is given, and one to the vendor's.
class FakeLimiter final : public MemoryLimiter {
 public:
  Result<ContainerEdits> limit(std::string_view allocation,
                               const std::vector<model::GrantedCard>& cards,
                               CdiEdits& vendor) override {
    if (!verdict) return verdict.error();
    std::string text;
    for (const model::GrantedCard& card : cards) {
      text += card.uuid + ":" + std::to_string(card.memory_limit.count()) + " ";
    }
    vendor.lists["env"].push_back(R"("FAKE_VENDOR=1")");
    ++starts;
    return ContainerEdits{.env = {"FAKE_LIMITS=" + text + std::string(allocation)}, .mounts = {}};
  }
  Result<void> change(std::string_view allocation,
                      const std::vector<model::GrantedCard>& cards) override {
    before_change();
    if (!verdict) return verdict.error();
    for (const model::GrantedCard& card : cards) {
      const std::string name = std::string(allocation) + " " + card.uuid;
      if (!limits.contains(name) || lost.contains(name)) {
        return fail(Errc::kNotFound, name + " has no limits");
      }
      limits[name] = card.memory_limit.count();
      changes.push_back(name + " " + std::to_string(card.memory_limit.count()));
    }
    return {};
  }
  Result<std::uint64_t> in_use(std::string_view allocation, std::string_view card) override {
    if (!count_verdict) return count_verdict.error();
    const auto found = counted.find(std::string(allocation) + " " + std::string(card));
    if (found != counted.end()) return found->second;
    return fail(Errc::kNotFound, "it is not counted");
  }
  void note_use(std::string_view allocation, const MemoryByCard& used) override {
    uses[std::string(allocation)] = used;
  }
  void keep(const std::set<std::string, std::less<>>& allocations) override { kept = allocations; }

  int starts = 0;  ///< that were limited
  std::function<void()> before_change = [] {};
  Result<void> verdict = {};
  Result<void> count_verdict = {};  ///< of in_use()
  std::map<std::string, std::int64_t>
      limits;                        ///< MiB of running containers, by allocation and card
  std::set<std::string> lost;        ///< of these limits: it is not known which they are
  std::vector<std::string> changes;  ///< of those limits
  std::map<std::string, std::uint64_t> counted;  ///< in_use() in bytes, by the same
  std::map<std::string, MemoryByCard> uses;
  std::set<std::string, std::less<>> kept;
};

class FakeEnforcer final : public Enforcer {
 public:
  [[nodiscard]] Result<void> accept(const std::vector<model::GrantedCard>& cards) const override {
    if (cards.size() > 1) return fail(Errc::kInvalidArgument, "one card at a time");
    return {};
  }
  Result<void> prepare(const std::string& card, const CardSharers& sharers) override {
    const std::lock_guard lock(mutex);
    prepared[card] = sharers;
    return verdict;
  }
  [[nodiscard]] Result<ContainerEdits> edits(
      std::string_view /*allocation*/,
      const std::vector<model::GrantedCard>& cards) const override {
    return ContainerEdits{.env = {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=" +
                                  std::to_string(cards.front().memory_limit.count()) + "M"},
                          .mounts = {}};
  }
  void keep(const CardsInMode& /*cards*/) override {}
  Result<void> release(const std::string& card) override {
    const std::lock_guard lock(mutex);
    released.insert(card);
    return {};
  }
  void maintain() override {}
  [[nodiscard]] Enforcement enforcement(const model::GrantedCard& /*part*/) const override {
    return {};
  }
  std::mutex mutex;
  CardsInMode prepared;
  std::set<std::string> released;
  Result<void> verdict;
};

inline model::GrantedCard part(const std::string& card, std::int64_t mib, std::int64_t milli) {
  return {card, Mebibytes(mib), MilliGpu(milli), Mebibytes(mib), MilliGpu(milli)};
}

}  // namespace tangram::node
