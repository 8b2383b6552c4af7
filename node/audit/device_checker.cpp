#include "node/audit/device_checker.hpp"

#include "node/audit/device_check.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;

// Kubelet ends such a container of a deleted pod after about 3 s; two looks end it within half a
// second.
constexpr std::chrono::milliseconds kBetweenLooks = 250ms;
// Kubelet creates the container within seconds of the answer; the regular look finds a later one.
constexpr std::chrono::seconds kOften = 10s;
// By the monotonic clock. Kubelet prepares a start once the former container has ended; the runtime
// may list that one for some milliseconds more.
constexpr std::chrono::minutes kFormerEnds{1};
// Of one look: more than a node starts at once. The rest follow at the next look.
constexpr std::size_t kMostAsked = 64;
// Of one look, but for its last call: calls that time out must not keep new containers waiting.
constexpr std::chrono::seconds kLongestLook = 5s;
// The same of listing the pods one by one, which takes some milliseconds for each.
constexpr std::chrono::seconds kLongestListing = 5s;

}  // namespace

DeviceChecker::DeviceChecker(Parts parts, std::chrono::milliseconds interval)
    : parts_(std::move(parts)), interval_(interval), often_until_(parts_.clock.now()) {}

bool DeviceChecker::looks_often() const { return parts_.clock.now() < often_until_; }

void DeviceChecker::started() {
  {
    const std::lock_guard lock(mutex_);
    often_until_ = parts_.clock.now() + kOften;
  }
  woken_.notify_all();
}

void DeviceChecker::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    std::unique_lock lock(mutex_);
    if (!looks_often()) {
      woken_.wait_for(lock, stop, interval_, [this] { return looks_often(); });
      continue;
    }
    lock.unlock();
    parts_.sleeper(kBetweenLooks, stop);
  }
}

void DeviceChecker::look() {
  const auto running = list();
  if (!running) {
    if (answers_) spdlog::warn("containers are not checked: {}", running.error().message);
    return note(false);
  }
  // After the list: it has every container that the list has.
  const std::vector<JournalEntry> journal = parts_.journal.all();
  if (running->complete) forget_all_but(running->containers);
  ++look_;
  note_former(running->containers, journal);
  bool complete = running->complete;
  const TimePoint end = parts_.clock.now() + kLongestLook;
  for (const RuntimeContainer& container : waiting(running->containers, journal)) {
    if (parts_.clock.now() >= end) break;
    complete = judge(container, *due(container, journal)) && complete;
  }
  note(complete);
}

Result<DeviceChecker::Listing> DeviceChecker::list() {
  auto all = parts_.runtime.list();
  const bool too_large = !all && all.error().code == Errc::kConflict;
  if (too_large && !by_pod_) {
    spdlog::warn("the list of all containers is too large, so each pod with cards is listed alone");
  }
  by_pod_ = too_large;
  if (all) return Listing{.containers = std::move(*all)};
  if (!too_large) return all.error();
  return list_by_pod();
}

DeviceChecker::Listing DeviceChecker::list_by_pod() {
  std::map<std::string, Claim> pods;
  for (JournalEntry& entry : parts_.journal.all()) {
    if (entry.claim && !entry.claim->mark.empty()) {
      pods.emplace(entry.claim->pod_uid, std::move(*entry.claim));
    }
  }
  std::erase_if(unlisted_, [&](const std::string& uid) { return !pods.contains(uid); });
  Listing listing;
  const TimePoint end = parts_.clock.now() + kLongestListing;
  auto next = pods.upper_bound(last_listed_);  // those that the last look left out come first
  for (std::size_t i = 0; i < pods.size(); ++i, ++next) {
    if (next == pods.end()) next = pods.begin();
    if (parts_.clock.now() >= end) {
      listing.complete = false;
      break;
    }
    last_listed_ = next->first;
    auto of_pod = parts_.runtime.list_of(next->first);
    if (!of_pod) {
      listing.complete = cannot_list(next->second, of_pod.error()) && listing.complete;
      continue;
    }
    std::ranges::move(*of_pod, std::back_inserter(listing.containers));
  }
  return listing;
}

/// @returns false if another look may succeed
bool DeviceChecker::cannot_list(const Claim& of_pod, const Error& error) {
  const bool for_good = error.code == Errc::kConflict;
  const bool is_new = for_good ? unlisted_.insert(of_pod.pod_uid).second : answers_;
  if (is_new) {
    spdlog::warn("the containers of pod {}/{} are not checked for their device: {}", of_pod.ns,
                 of_pod.pod, error.message);
  }
  if (for_good && is_new) {
    const std::lock_guard lock(mutex_);
    ++counts_.unjudged;
  }
  return for_good;
}

void DeviceChecker::note_former(const std::vector<RuntimeContainer>& running,
                                const std::vector<JournalEntry>& journal) {
  for (const RuntimeContainer& one : running) {
    if (due_entry(one, journal) != nullptr) continue;
    if (due_entry(one, journal, Age::kUnknown) == nullptr) continue;
    former_.try_emplace(one.id, parts_.clock.now());
  }
}

const JournalEntry* DeviceChecker::due(const RuntimeContainer& container,
                                       const std::vector<JournalEntry>& journal) const {
  const auto former = former_.find(container.id);
  const bool has_stayed =
      former != former_.end() && parts_.clock.now() - former->second >= kFormerEnds;
  return due_entry(container, journal, has_stayed ? Age::kUnknown : Age::kAsCreated);
}

/// Those that are asked for now: first who was never asked for, then who was so the longest ago.
std::vector<RuntimeContainer> DeviceChecker::waiting(
    const std::vector<RuntimeContainer>& running, const std::vector<JournalEntry>& journal) const {
  std::vector<RuntimeContainer> waiting;
  std::ranges::copy_if(running, std::back_inserter(waiting), [&](const RuntimeContainer& one) {
    return !judged_.contains(one.id) && due(one, journal) != nullptr;
  });
  std::ranges::stable_sort(waiting, {}, [&](const RuntimeContainer& one) {
    const auto asked = asked_.find(one.id);
    return asked == asked_.end() ? std::uint64_t{0} : asked->second;
  });
  if (waiting.size() > kMostAsked) waiting.resize(kMostAsked);
  return waiting;
}

/// @returns false if the runtime or kubelet does not answer
bool DeviceChecker::judge(const RuntimeContainer& container, const JournalEntry& entry) {
  asked_[container.id] = look_;
  const auto environment = parts_.runtime.environment(container.id);
  if (!environment) return cannot_judge(container, environment.error());
  const auto has = has_device(container, entry, *environment);
  if (!has) return cannot_judge(container, has.error());
  if (!*has && !end(container)) return false;
  judged_.insert(container.id);
  return true;
}

Result<bool> DeviceChecker::has_device(const RuntimeContainer& container, const JournalEntry& entry,
                                       const std::vector<std::string>& environment) const {
  const Claim& claim = *entry.claim;
  if (shows(environment, claim.mark)) return true;
  if (claim.former_mark.empty() || !shows(environment, claim.former_mark)) return false;
  return has_slots(container, entry);
}

/// By both of kubelet's records, as ContainerStarter::confirm(): what kubelet takes from a pod is
/// gone from its list at once, and from its checkpoint at the next Allocate only; but the list has
/// no UIDs, and names a pod that was made anew as the former one. The list first: a slot that
/// another pod has by it, that pod soon has by the checkpoint, too.
Result<bool> DeviceChecker::has_slots(const RuntimeContainer& container,
                                      const JournalEntry& entry) const {
  const auto list = parts_.lister.list();
  if (!list) return list.error();
  const auto owners = parts_.slot_owners();
  if (!owners) return fail(Errc::kUnavailable, owners.error().message);
  const bool is_listed = std::ranges::any_of(*list, [&](const ListedContainer& listed) {
    return listed.ns == container.ns && listed.pod == container.pod &&
           listed.container == container.container && listed.slots == entry.slots;
  });
  return is_listed && std::ranges::any_of(*owners, [&](const SlotOwner& owner) {
           return owner.pod_uid == container.pod_uid && owner.container == container.container &&
                  owner.slots == entry.slots && owner.name == entry.name;
         });
}

/// @returns false if another look may succeed
bool DeviceChecker::cannot_judge(const RuntimeContainer& container, const Error& error) {
  if (error.code == Errc::kNotFound) return true;
  const bool for_good = error.code == Errc::kConflict || error.code == Errc::kInvalidArgument;
  if (for_good || answers_) {
    spdlog::warn("container {} of pod {}/{} is not checked for its device: {}", container.container,
                 container.ns, container.pod, error.message);
  }
  if (!for_good) return false;
  judged_.insert(container.id);
  const std::lock_guard lock(mutex_);
  ++counts_.unjudged;
  return true;
}

bool DeviceChecker::end(const RuntimeContainer& container) {
  const auto ended = parts_.runtime.end(container.id);
  {
    const std::lock_guard lock(mutex_);
    ++(ended ? counts_.ended : counts_.not_ended);
  }
  if (!ended) spdlog::error("{} cannot be ended: {}", container.id, ended.error().message);
  if (!reported_.insert(container.id).second) return ended.has_value();
  const std::string why =
      "container " + container.container +
      " started without its CDI device, so the agent ends it: its pod was deleted by force while "
      "it "
      "started, or CDI is off in the container runtime (deploy/node/README.md, \"Prerequisites\")";
  spdlog::warn("pod {}/{}: {}", container.ns, container.pod, why);
  parts_.report_event(kube::EventNote{.kind = "Pod",
                                      .ns = container.ns,
                                      .name = container.pod,
                                      .uid = container.pod_uid,
                                      .type = kube::EventNote::Type::kWarning,
                                      .reason = "DeviceMissing",
                                      .action = "Ending",
                                      .note = why});
  return ended.has_value();
}

void DeviceChecker::forget_all_but(const std::vector<RuntimeContainer>& running) {
  std::set<std::string> ids;
  for (const RuntimeContainer& container : running) ids.insert(container.id);
  const auto has_ended = [&](const std::string& id) { return !ids.contains(id); };
  std::erase_if(judged_, has_ended);
  std::erase_if(asked_, [&](const auto& asked) { return has_ended(asked.first); });
  std::erase_if(former_, [&](const auto& one) { return has_ended(one.first); });
  std::erase_if(reported_, has_ended);
}

void DeviceChecker::note(bool complete) {
  answers_ = complete;
  const std::lock_guard lock(mutex_);
  ++counts_.looks;
  if (!complete) ++counts_.failed;
}

DeviceChecker::Counts DeviceChecker::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace tangram::node
