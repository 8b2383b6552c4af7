#include "kube/local/store.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace tangram::kube {

namespace {

// Keys looked at and events handed out under one lock: some 100 us, so that writers hardly wait.
constexpr std::size_t kScanStep = 1'000;
constexpr std::size_t kEventStep = 256;

std::string key_of(const Fields& fields) { return object_key(fields.ns, fields.name); }

}  // namespace

std::uint64_t LocalStore::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

std::uint64_t LocalStore::epoch() const {
  const std::lock_guard lock(mutex_);
  return epoch_;
}

ObjectPtr LocalStore::latest(const Collection& collection, const std::string& key) {
  const auto found = collection.objects.find(key);
  return found == collection.objects.end() ? nullptr : found->second.back().object;
}

ObjectPtr LocalStore::seen_at(const Revisions& revisions, std::uint64_t version) {
  const auto newer = std::find_if(revisions.rbegin(), revisions.rend(),
                                  [&](const Revision& r) { return r.version <= version; });
  return newer == revisions.rend() ? nullptr : newer->object;
}

ObjectPtr LocalStore::get(ResourceKind kind, const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return latest(of(kind), key);
}

void LocalStore::forget_oldest(Collection& collection) {
  const StoreEvent event = std::move(collection.events.front());
  collection.events.pop_front();
  collection.forgotten = event.version;
  const auto found = collection.objects.find(key_of(event.fields()));
  if (found == collection.objects.end()) return;
  Revisions& revisions = found->second;
  // Reads at this version and later still need the event's own revision, unless it is a deletion.
  const auto keep = std::find_if(revisions.begin(), revisions.end(), [&](const Revision& r) {
    return r.version > event.version || (r.version == event.version && r.object != nullptr);
  });
  revisions.erase(revisions.begin(), keep);
  if (revisions.empty()) collection.objects.erase(found);
}

void LocalStore::record(Collection& collection, StoreEvent event) {
  collection.objects[key_of(event.fields())].push_back({event.version, event.after});
  collection.events.push_back(std::move(event));
  if (collection.events.size() > history_) forget_oldest(collection);
  changed_.notify_all();
}

ObjectPtr LocalStore::store(ResourceKind kind, const ObjectPtr& before, Content content) {
  const std::uint64_t version = ++version_;
  auto object = std::make_shared<const StoredObject>(StoredObject{std::move(content), version});
  record(of(kind), {version, before, object});
  return object;
}

LocalStore::Created LocalStore::create(std::vector<Creation> creations) {
  Created created;
  const std::lock_guard lock(mutex_);
  std::set<std::pair<ResourceKind, std::string>> names;
  for (std::size_t i = 0; i < creations.size(); ++i) {
    const ResourceKind kind = creations[i].kind;
    std::string key = key_of(creations[i].content.fields);
    const bool taken = latest(of(kind), key) != nullptr;
    if (taken || !names.emplace(kind, std::move(key)).second) {
      created.exists = i;
      return created;
    }
  }
  for (Creation& creation : creations) {
    created.objects.push_back(store(creation.kind, nullptr, std::move(creation.content)));
  }
  return created;
}

ObjectPtr LocalStore::replace(ResourceKind kind, const ObjectPtr& before, Content content) {
  const std::lock_guard lock(mutex_);
  if (latest(of(kind), key_of(before->fields())) != before) return nullptr;
  return store(kind, before, std::move(content));
}

std::uint64_t LocalStore::remove(ResourceKind kind, const ObjectPtr& before) {
  const std::lock_guard lock(mutex_);
  if (latest(of(kind), key_of(before->fields())) != before) return 0;
  const std::uint64_t version = ++version_;
  record(of(kind), {version, before, nullptr});
  return version;
}

bool LocalStore::scan(const Range& range, std::string& after, std::size_t limit, Page& page) const {
  const auto& objects = of(range.kind).objects;
  auto at = after.empty() ? objects.lower_bound(range.prefix) : objects.upper_bound(after);
  for (std::size_t seen = 0; at != objects.end() && at->first.starts_with(range.prefix); ++at) {
    if (limit != 0 && page.objects.size() == limit) {
      page.more = true;
      return true;
    }
    if (seen++ == kScanStep) return false;
    after = at->first;
    const ObjectPtr object = seen_at(at->second, range.at);
    if (object != nullptr && range.selector.matches(object->fields())) {
      page.objects.push_back(object);
    }
  }
  return true;
}

std::optional<LocalStore::Page> LocalStore::page(const Range& range, std::string after,
                                                 std::size_t limit) const {
  Page page;
  for (bool complete = false; !complete;) {
    const std::lock_guard lock(mutex_);
    if (range.at < of(range.kind).forgotten) return std::nullopt;
    complete = scan(range, after, limit, page);
  }
  page.last_key = std::move(after);
  return page;
}

LocalStore::Batch LocalStore::events_after(ResourceKind kind, std::uint64_t position,
                                           std::uint64_t epoch) const {
  Batch batch;
  batch.position = position;
  const std::lock_guard lock(mutex_);
  const Collection& collection = of(kind);
  batch.expired = position < collection.forgotten || epoch != epoch_;
  if (batch.expired) return batch;
  const auto& events = collection.events;
  const auto first = std::upper_bound(
      events.begin(), events.end(), position,
      [](std::uint64_t version, const StoreEvent& event) { return version < event.version; });
  const auto left = static_cast<std::size_t>(events.end() - first);
  const auto last = first + static_cast<std::ptrdiff_t>(std::min(left, kEventStep));
  batch.events.assign(first, last);
  batch.drained = last == events.end();
  batch.position = batch.drained ? version_ : batch.events.back().version;
  return batch;
}

bool LocalStore::wait(ResourceKind kind, std::uint64_t position, std::uint64_t epoch,
                      std::chrono::steady_clock::time_point deadline, std::stop_token stop) const {
  std::unique_lock lock(mutex_);
  const Collection& collection = of(kind);
  return changed_.wait_until(lock, std::move(stop), deadline, [&] {
    return epoch != epoch_ || collection.forgotten > position ||
           (!collection.events.empty() && collection.events.back().version > position);
  });
}

void LocalStore::compact() {
  const std::lock_guard lock(mutex_);
  for (Collection& collection : collections_) {
    while (!collection.events.empty()) forget_oldest(collection);
    collection.forgotten = version_;
  }
  ++epoch_;
  changed_.notify_all();
}

}  // namespace tangram::kube
