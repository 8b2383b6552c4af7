#include "cluster/pod_table.hpp"

#include "cluster/pod_groups.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace tangram::cluster {

namespace {

const std::vector<Note>& notes_of(const NotedPod* noted) {
  static const std::vector<Note> kNone;
  return noted == nullptr ? kNone : noted->notes;
}

const NotedPod* find_noted(const NotedPods& pods, std::string_view uid) {
  const auto found = pods.find(uid);
  return found == pods.end() ? nullptr : &found->second;
}

/// What there is now and was not before.
NotedPod new_notes(const NotedPod& now, const NotedPod* before) {
  NotedPod fresh{now.pod, {}};
  const std::vector<Note>& known = notes_of(before);
  std::ranges::copy_if(now.notes, std::back_inserter(fresh.notes), [&](const Note& note) {
    return std::ranges::find(known, note) == known.end();
  });
  return fresh;
}

bool is_nominated(const PodRecord& record) {
  return record.pending && !record.pending->nominated_node.empty();
}

/// An answer counts until the watch shows that the annotations have become valid or invalid.
std::optional<Wait> current_wait(std::optional<Wait> shown, std::optional<Wait> before) {
  const bool answered = before && *before != Wait::kInvalid;
  return shown == Wait::kNotAsked && answered ? before : shown;
}

}  // namespace

PodPtr waiting_pod(kube::Pod pod) {
  pod.labels.clear();
  return std::make_shared<const kube::Pod>(std::move(pod));
}

PodRecord record_of(kube::Pod pod, const Result<PodPlan>& plan, const Recorded& recorded,
                    const model::NodeState* node) {
  PodRecord record;
  record.grant_key = recorded.grant_key;
  if (std::string key = group_key(pod); !key.empty()) {
    record.group = std::make_shared<const std::string>(std::move(key));
  }
  if (auto notes = examine(pod, plan, recorded); !notes.empty()) {
    record.noted =
        std::make_shared<NotedPod>(NotedPod{{pod.uid, pod.ns, pod.name}, std::move(notes)});
  }
  if (auto waits = unstarted(pod, recorded)) {
    record.unstarted = std::make_shared<UnstartedPod>(*std::move(waits));
  }
  if (!pod.node.empty()) {
    record.resizable = resizable(pod, plan, recorded, node);
    return record;
  }
  if (!plan) {
    record.wait = Wait::kInvalid;
  } else if (plan->demand.gpu.asks_gpu()) {
    record.wait = Wait::kNotAsked;
  }
  record.pending = waiting_pod(std::move(pod));
  return record;
}

bool PodTable::add(std::string_view uid) {
  const std::scoped_lock lock(mutex_);
  const Found found = entry_of(uid);
  return unseen_.erase(&found.entry) > 0 || found.is_new;
}

void PodTable::put(std::string_view uid, PodRecord record) {
  NotedPod fresh;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entry_of(uid).entry;
    unseen_.erase(&entry);
    record.put = true;
    if (record.noted) fresh = new_notes(*record.noted, entry.second.noted.get());
    record.wait = current_wait(record.wait, entry.second.wait);
    replace(entry, std::move(record));
  }
  notify_of(fresh);
}

void PodTable::erase(std::string_view uid) {
  const std::scoped_lock lock(mutex_);
  if (const auto entry = records_.find(uid); entry != records_.end()) erase(entry);
}

void PodTable::erase(Records::iterator entry) {
  replace(*entry, {});
  unseen_.erase(&*entry);
  if (const auto noted = card_notes_.find(entry->first); noted != card_notes_.end()) {
    card_notes_.erase(noted);
  }
  refused_resizes_.erase(entry->first);
  records_.erase(entry);
}

std::vector<std::string> PodTable::retain(const Keep& keep) {
  // Verbs wait for about this many of a large cluster's pods. std::mutex is not fair: without a
  // pause this thread would lock it again before a waiting one wakes up.
  constexpr std::size_t kAtOnce = 1'000;
  constexpr std::chrono::microseconds kPause{50};
  std::vector<std::string> gone;
  std::size_t buckets = 0;
  for (std::size_t bucket = 0;; std::this_thread::sleep_for(kPause)) {
    const std::scoped_lock lock(mutex_);
    const std::size_t buckets_now = records_.bucket_count();
    if (buckets != buckets_now) bucket = 0;  // the table has grown, and pods have changed places
    buckets = buckets_now;
    if (bucket == buckets) break;
    const std::size_t end = std::min(bucket + kAtOnce, buckets);
    for (; bucket < end; ++bucket) retain_in(bucket, keep, gone);
  }
  std::ranges::sort(gone);
  // A pod may have come back, and gone again.
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  return gone;
}

void PodTable::retain_in(std::size_t bucket, const Keep& keep, std::vector<std::string>& gone) {
  const std::size_t before = gone.size();
  std::for_each(records_.cbegin(bucket), records_.cend(bucket), [&](const Entry& entry) {
    if (!keep(entry.first) && !unseen_.contains(&entry)) gone.push_back(entry.first);
  });
  for (std::size_t i = before; i < gone.size(); ++i) erase(records_.find(gone[i]));
}

bool PodTable::contains(std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto entry = records_.find(uid);
  return entry != records_.end() && !unseen_.contains(&*entry);
}

void PodTable::answered(std::string_view uid, Wait wait) {
  const std::scoped_lock lock(mutex_);
  const auto [entry, is_new] = entry_of(uid);
  if (is_new) unseen_.insert(&entry);
  PodRecord& record = entry.second;
  // It has a node by now, or requests no GPU.
  if (!record.wait && record.put) return;
  count(record, -1);
  record.wait = wait;
  count(record, 1);
}

std::optional<Wait> PodTable::last_answer(std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = records_.find(uid);
  return found == records_.end() ? std::nullopt : found->second.wait;
}

void PodTable::forget_unseen() {
  const std::scoped_lock lock(mutex_);
  while (!unseen_.empty()) erase(records_.find((*unseen_.begin())->first));
}

void PodTable::set_card_notes(NotedPods pods) {
  std::vector<NotedPod> fresh;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [uid, noted] : pods) {
      fresh.push_back(new_notes(noted, find_noted(card_notes_, uid)));
    }
    card_notes_ = std::move(pods);
  }
  for (const NotedPod& noted : fresh) notify_of(noted);
}

void PodTable::notify_again() const {
  std::vector<NotedPod> all;
  {
    const std::scoped_lock lock(mutex_);
    for (const Entry* entry : noted_) all.push_back(*entry->second.noted);
    for (const auto& [uid, noted] : card_notes_) all.push_back(noted);
  }
  for (const NotedPod& noted : all) notify_of(noted);
}

PodPtr PodTable::find(std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = records_.find(uid);
  return found == records_.end() ? nullptr : found->second.pending;
}

PodPtr PodTable::find(std::string_view ns, std::string_view name) const {
  const std::string full = std::string(ns).append("/").append(name);
  const std::scoped_lock lock(mutex_);
  const auto found = by_name_.find(full);
  return found == by_name_.end() ? nullptr : found->second->second.pending;
}

std::vector<PodPtr> PodTable::pending() const {
  const std::scoped_lock lock(mutex_);
  std::vector<PodPtr> pods;
  pods.reserve(pending_.size());
  for (const Entry* entry : pending_) pods.push_back(entry->second.pending);
  return pods;
}

std::size_t PodTable::pending_count() const {
  const std::scoped_lock lock(mutex_);
  return pending_.size();
}

std::vector<PodPtr> PodTable::nominated() const {
  const std::scoped_lock lock(mutex_);
  std::vector<PodPtr> pods;
  for (const Entry* entry : nominated_) pods.push_back(entry->second.pending);
  return pods;
}

GroupMembers PodTable::group(std::string_view key) const {
  GroupMembers members;
  const std::scoped_lock lock(mutex_);
  const auto found = groups_.find(key);
  if (found == groups_.end()) return members;
  members.bound = found->second.bound;
  for (const Entry* entry : found->second.pending) members.pending.push_back(entry->second.pending);
  return members;
}

std::vector<std::string> PodTable::waiting_groups() const {
  std::vector<std::string> keys;
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, group] : groups_) {
    if (!group.pending.empty()) keys.push_back(key);
  }
  return keys;
}

std::vector<UnstartedPod> PodTable::unstarted() const {
  std::vector<std::shared_ptr<const UnstartedPod>> shared;  // copied without the lock
  {
    const std::scoped_lock lock(mutex_);
    shared.reserve(unstarted_.size());
    for (const Entry* entry : unstarted_) shared.push_back(entry->second.unstarted);
  }
  std::vector<UnstartedPod> pods;
  pods.reserve(shared.size());
  for (const auto& pod : shared) pods.push_back(*pod);
  return pods;
}

void PodTable::forget_resizable(const ResizablePodPtr& pod) {
  const std::scoped_lock lock(mutex_);
  const auto entry = records_.find(pod->pod.uid);
  if (entry == records_.end() || entry->second.resizable != pod) return;
  entry->second.resizable = nullptr;
  resizable_.erase(&*entry);
}

void PodTable::set_refused_resize(std::string_view uid, std::string_view why) {
  const std::scoped_lock lock(mutex_);
  if (why.empty()) {
    refused_resizes_.erase(std::string(uid));
  } else if (records_.contains(uid)) {
    refused_resizes_.insert_or_assign(std::string(uid), why);
  }
}

std::string_view PodTable::refused_resize(std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = refused_resizes_.find(uid);
  return found == refused_resizes_.end() ? std::string_view() : found->second;
}

std::vector<ResizablePodPtr> PodTable::resizable() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ResizablePodPtr> pods;
  pods.reserve(resizable_.size());
  for (const Entry* entry : resizable_) pods.push_back(entry->second.resizable);
  return pods;
}

ResizablePodPtr PodTable::find_resizable(std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = records_.find(uid);
  return found == records_.end() ? nullptr : found->second.resizable;
}

bool PodTable::was_asked(std::string_view uid) const {
  const auto wait = last_answer(uid);
  return wait && *wait != Wait::kNotAsked && *wait != Wait::kInvalid;
}

bool PodTable::is_unstarted(std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto entry = records_.find(uid);
  return entry != records_.end() && entry->second.unstarted != nullptr;
}

std::string PodTable::grant_key(std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto entry = records_.find(uid);
  return entry == records_.end() ? "" : entry->second.grant_key;
}

std::vector<Note> PodTable::notes(std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto entry = records_.find(uid);
  std::vector<Note> notes = notes_of(entry == records_.end() ? nullptr : entry->second.noted.get());
  std::ranges::copy(notes_of(find_noted(card_notes_, uid)), std::back_inserter(notes));
  return notes;
}

std::map<Finding, std::int64_t> PodTable::findings() const {
  std::map<Finding, std::int64_t> counts;
  for (const Finding finding : kAllFindings) counts[finding] = 0;
  const std::scoped_lock lock(mutex_);
  for (const Entry* entry : noted_) {
    for (const Note& note : entry->second.noted->notes) ++counts[note.finding];
  }
  for (const auto& [uid, noted] : card_notes_) {
    for (const Note& note : noted.notes) ++counts[note.finding];
  }
  return counts;
}

std::map<Wait, std::int64_t> PodTable::waits() const {
  std::map<Wait, std::int64_t> counts;
  for (const Wait wait : kAllWaits) counts[wait] = 0;
  const std::scoped_lock lock(mutex_);
  for (const auto& [wait, pods] : waits_) counts[wait] = pods;
  return counts;
}

std::map<std::string, std::int64_t> PodTable::grant_keys() const {
  const std::scoped_lock lock(mutex_);
  return grant_keys_;
}

void PodTable::notify_of(const NotedPod& noted) const {
  for (const Note& note : noted.notes) {
    notify([&](PodObserver& observer) { observer.noted(noted.pod, note); });
  }
}

PodTable::Found PodTable::entry_of(std::string_view uid) {
  if (const auto known = records_.find(uid); known != records_.end()) return {*known, false};
  return {*records_.try_emplace(std::string(uid)).first, true};
}

void PodTable::place(Index& index, const Entry& entry, bool was_member, bool is_member) {
  if (was_member == is_member) return;
  if (is_member) {
    index.insert(&entry);
  } else {
    index.erase(&entry);
  }
}

void PodTable::replace(Entry& entry, PodRecord record) {
  count(entry.second, -1);
  forget_name(entry);
  leave_group(entry);
  const PodRecord before = std::exchange(entry.second, std::move(record));
  const PodRecord& now = entry.second;
  count(now, 1);
  join_group(entry);
  if (now.pending) by_name_[now.pending->full_name()] = &entry;
  place(pending_, entry, before.pending != nullptr, now.pending != nullptr);
  place(nominated_, entry, is_nominated(before), is_nominated(now));
  place(noted_, entry, before.noted != nullptr, now.noted != nullptr);
  place(unstarted_, entry, before.unstarted != nullptr, now.unstarted != nullptr);
  place(resizable_, entry, before.resizable != nullptr, now.resizable != nullptr);
}

void PodTable::leave_group(const Entry& entry) {
  if (!entry.second.group) return;
  const auto group = groups_.find(*entry.second.group);
  if (entry.second.pending) {
    group->second.pending.erase(&entry);
  } else {
    --group->second.bound;
  }
  if (group->second.pending.empty() && group->second.bound == 0) groups_.erase(group);
}

void PodTable::join_group(const Entry& entry) {
  if (!entry.second.group) return;
  Group& group = groups_[*entry.second.group];
  if (entry.second.pending) {
    group.pending.insert(&entry);
  } else {
    ++group.bound;
  }
}

/// A pod of the same name that was created since keeps it.
void PodTable::forget_name(const Entry& entry) {
  if (!entry.second.pending) return;
  const auto name = by_name_.find(entry.second.pending->full_name());
  if (name != by_name_.end() && name->second == &entry) by_name_.erase(name);
}

void PodTable::count(const PodRecord& record, int step) {
  if (record.wait) waits_[*record.wait] += step;
  if (record.grant_key.empty()) return;
  const auto pods = grant_keys_.try_emplace(record.grant_key).first;
  pods->second += step;
  if (pods->second == 0) grant_keys_.erase(pods);
}

}  // namespace tangram::cluster
