#include "cluster/cluster_feed.hpp"

#include "base/quote.hpp"
#include "base/split.hpp"
#include "cluster/weight.hpp"
#include "kube/object_scan.hpp"
#include "model/card_names.hpp"
#include "model/cards.hpp"

#include <boost/algorithm/string/trim.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace tangram::cluster {

namespace {

/// Ids of the node's cards, as in the annotation tangram.dev/cordon: blanks around them, and
/// reasons behind them, mean nothing. The annotation may still name a card that was replaced.
std::vector<std::string> draining_cards(const kube::Node& node,
                                        const std::vector<model::Card>& cards) {
  const auto annotation = node.annotations.find(model::key_of(model::kDrainAnnotation));
  if (annotation == node.annotations.end()) return {};
  std::vector<std::string> ids = split(annotation->second, ',');
  for (std::string& id : ids) id = boost::trim_copy(id.substr(0, id.find('=')));
  std::erase_if(ids, [&](const std::string& id) {
    return !model::is_card_id(id) || std::ranges::none_of(cards, [&](const model::Card& card) {
      return card.id == id || card.parent == id;
    });
  });
  return ids;
}

}  // namespace

std::optional<model::NodeInventory> NodeFeed::read(std::string_view object) {
  auto node = kube::decode_node(std::string(object));
  if (!node) {
    ++counters_.bad_objects;
    spdlog::warn("a node could not be read and is left as it was: {}", node.error().message);
    return std::nullopt;
  }
  model::NodeInventory inventory{.name = node->name,
                                 .cards = {},
                                 .cpu = node->cpu,
                                 .memory = node->memory,
                                 .slots = node->slots};
  inventory.resizes = read_resizes(*node);
  const auto annotation = node->annotations.find(model::key_of(model::kCardsAnnotation));
  if (annotation == node->annotations.end()) return inventory;
  auto cards = model::decode_cards(annotation->second);
  if (cards) {
    inventory.cards = std::move(*cards);
    inventory.draining = draining_cards(*node, inventory.cards);
  } else {
    // Without a readable list no card can be granted.
    ++counters_.bad_cards;
    spdlog::warn(
        "node {}: annotation tangram.dev/cards is not valid, so its cards take no pods: {}",
        quote_if_needed(node->name), cards.error().message);
  }
  return inventory;
}

/// What cannot be read changes nothing.
model::ResizeAnswers NodeFeed::read_resizes(const kube::Node& node) {
  const auto annotation = node.annotations.find(model::key_of(model::kResizesAnnotation));
  if (annotation == node.annotations.end()) return {};
  auto resizes = model::decode_resizes(annotation->second);
  if (resizes) return std::move(*resizes);
  ++counters_.bad_cards;
  spdlog::warn("node {}: annotation {} is not valid, so what it said before counts: {}",
               quote_if_needed(node.name), model::kResizesAnnotation, resizes.error().message);
  const auto cluster = ledger_.snapshot();
  const model::NodeState* const known = cluster->find(node.name);
  return known == nullptr ? model::ResizeAnswers() : known->inventory->resizes;
}

void NodeFeed::begin_list() {
  listed_.clear();
  kept_ = 0;
}

void NodeFeed::listed(std::string_view object) {
  if (auto node = read(object)) {
    std::string name = node->name;
    keep(std::move(name), std::move(*node));
  } else if (auto name = kube::scan_id(object).name;
             known_.contains(name) && !listed_.contains(name)) {
    keep(std::move(name), std::nullopt);
  }
}

void NodeFeed::unlisted(std::string_view object) { drop(kube::scan_id(object).name); }

void NodeFeed::keep(std::string name, ListedNode node) {
  drop(name);
  kept_ += weight_of(name) + (node ? weight_of(*node) : 0);
  listed_.emplace(std::move(name), std::move(node));
}

void NodeFeed::drop(const std::string& name) {
  const auto found = listed_.find(name);
  if (found == listed_.end()) return;
  kept_ -= weight_of(name) + (found->second ? weight_of(*found->second) : 0);
  listed_.erase(found);
}

void NodeFeed::end_list() {
  ledger_.apply([&](model::Ledger& ledger) {
    for (const std::string& name : known_) {
      if (!listed_.contains(name)) ledger.remove_node(name);
    }
    for (auto& [name, node] : listed_) {
      if (node) ledger.put_node(std::move(*node));
    }
  });
  known_.clear();
  for (const auto& [name, node] : listed_) known_.insert(name);
  listed_.clear();
  kept_ = 0;
}

void NodeFeed::change(kube::EventType type, std::string_view object) {
  if (type == kube::EventType::kDeleted) {
    const std::string name = kube::scan_id(object).name;
    known_.erase(name);
    ledger_.apply([&](model::Ledger& ledger) { ledger.remove_node(name); });
    return;
  }
  auto node = read(object);
  if (!node) return;
  known_.insert(node->name);
  ledger_.apply([&](model::Ledger& ledger) { ledger.put_node(std::move(*node)); });
}

PodFeed::PodFeed(SharedLedger& ledger, PodTable& pods, const PolicySource& policies,
                 FeedCounters& counters, model::SignatureCheck check, std::size_t helpers)
    : ledger_(ledger),
      pods_(pods),
      counters_(counters),
      reader_(policies, counters.bad_objects, std::move(check)) {
  if (helpers > 0) batch_.emplace(reader_, helpers);
}

void PodFeed::begin_list() {
  listed_.clear();
  kept_ = 0;
  if (batch_) batch_->clear();
  pods_.notify([](PodObserver& observer) { observer.listing(true); });
}

void PodFeed::listed(std::string_view object) {
  if (!batch_) return take(reader_.read(object));
  batch_->add(object);
  if (batch_->is_full()) take_batch();
}

void PodFeed::take_batch() {
  if (!batch_) return;
  for (auto& reading : batch_->read()) take(std::move(reading));
}

void PodFeed::take(std::optional<PodReading>&& reading) {
  if (!reading) return;
  std::string uid = reading->pod.uid;
  if (reading->pod.finished) return drop(uid);
  if (reading->readable) return keep(std::move(uid), seen(*std::move(reading)));
  ShownPod pod = scanned(*std::move(reading));
  const auto before = listed_.find(uid);  // delivered again
  const bool is_listed = before != listed_.end();
  const bool is_new =
      pod.bound ? !(is_listed && before->second.bound) : !is_listed && pods_.contains(uid);
  if (is_new) keep(std::move(uid), std::move(pod));
}

void PodFeed::unlisted(std::string_view object) {
  take_batch();  // it may be one of them
  drop(kube::scan_id(object).uid);
}

std::size_t PodFeed::weight(const std::string& uid, const ShownPod& pod) {
  return weight_of(uid) + sizeof(pod) + weight_of(pod.record) +
         (pod.bound ? weight_of(pod.bound->allocation) + weight_of(pod.bound->issued_at) : 0);
}

void PodFeed::keep(std::string uid, ShownPod pod) {
  const auto [place, is_new] = listed_.try_emplace(std::move(uid));
  auto& [key, kept] = *place;
  if (!is_new) kept_ -= weight(key, kept);
  kept_ += weight(key, pod);
  kept = std::move(pod);
}

void PodFeed::drop(const std::string& uid) {
  const auto found = listed_.find(uid);
  if (found == listed_.end()) return;
  kept_ -= weight(uid, found->second);
  listed_.erase(found);
}

void PodFeed::end_list() {
  take_batch();
  batch_.reset();
  const auto gone = pods_.retain([&](const std::string& uid) { return listed_.contains(uid); });
  ledger_.apply([&](model::Ledger& ledger) {
    book_listed(ledger);
    ledger.retain_observed([&](const std::string& uid) {
      const auto found = listed_.find(uid);
      return found != listed_.end() && (found->second.bound || !found->second.readable);
    });
    for (const std::string& uid : gone) ledger.expedite(uid);
  });
  for (auto& [uid, pod] : listed_) put(uid, std::move(pod));
  listed_ = decltype(listed_)();  // the memory, too
  kept_ = 0;
  pods_.notify([](PodObserver& observer) { observer.listing(false); });
}

/// Most pods of the first list are new, and come several to a node.
void PodFeed::book_listed(model::Ledger& ledger) {
  std::unordered_map<std::string_view, std::vector<model::Ledger::Observed>> by_node;
  for (const auto& [uid, pod] : listed_) {
    if (!pod.bound) continue;
    if (ledger.find(uid) != nullptr) {
      book(ledger, pod);
      continue;
    }
    by_node[pod.bound->allocation->node].push_back({.allocation = pod.bound->allocation,
                                                    .is_signed = pod.bound->is_signed,
                                                    .issued_at = pod.bound->issued_at});
  }
  for (auto& [node, pods] : by_node) ledger.observe_new(std::move(pods));
}

void PodFeed::change(kube::EventType type, std::string_view object) {
  if (type == kube::EventType::kDeleted) return ended(kube::scan_id(object).uid);
  auto reading = reader_.read(object);
  if (!reading) return;
  const std::string uid = reading->pod.uid;
  if (reading->pod.finished) return ended(uid);
  ShownPod now = reading->readable ? seen(*std::move(reading)) : scanned(*std::move(reading));
  // The ledger first: a pod that is bound is never in neither.
  if (now.bound) {
    ledger_.apply([&](model::Ledger& ledger) { book(ledger, now); });
  } else if (was_refused(uid, now)) {
    ledger_.apply([&](model::Ledger& ledger) { ledger.renew_reservation(uid, kLeftAfterFailure); });
  }
  put(uid, std::move(now));
}

/// Does it say of an attempt to place it that this one has failed? Perhaps it says so late, while
/// the next one waits for the pod's volumes.
bool PodFeed::was_refused(const std::string& uid, const ShownPod& now) const {
  if (!now.record.pending || now.record.pending->refusal == 0) return false;
  const bool waits_for_others =
      now.record.pending->group.kind == kube::GroupOfPod::Kind::kCoscheduling;
  if (now.record.pending->binds_late && !waits_for_others) return false;
  const PodPtr before = pods_.find(uid);
  return before && before->refusal != now.record.pending->refusal;
}

/// Of a pod that cannot be read the record says only that it has a node.
void PodFeed::put(const std::string& uid, ShownPod pod) {
  if (!pod.readable && !pod.bound) return;
  if (!pod.readable && pods_.contains(uid) && pods_.find(uid) == nullptr) return;  // it has one
  pods_.put(uid, std::move(pod.record));
}

void PodFeed::ended(const std::string& uid) {
  pods_.erase(uid);
  ledger_.apply([&](model::Ledger& ledger) { ledger.release(uid); });
}

PodFeed::ShownPod PodFeed::seen(PodReading&& reading) {
  kube::Pod& pod = reading.pod;
  Recorded& recorded = reading.recorded;
  const Result<PodPlan>& plan = *reading.plan;
  if (pods_.add(pod.uid)) {
    pods_.notify([&](PodObserver& observer) { observer.arrived(pod, plan); });
  }
  pods_.notify([&](PodObserver& observer) { observer.seen(pod, plan, recorded); });
  count_problem(pod, recorded);
  const bool is_bound = !pod.node.empty();
  const auto cluster = ledger_.snapshot();
  const model::NodeState* const node = is_bound ? cluster->find(pod.node) : nullptr;
  ShownPod now{
      .readable = true, .bound = {}, .record = record_of(std::move(pod), plan, recorded, node)};
  if (is_bound) now.bound = shown(std::move(recorded));
  return now;
}

PodFeed::ShownPod PodFeed::scanned(PodReading&& reading) {
  ShownPod now;
  if (reading.pod.node.empty()) return now;
  count_problem(reading.pod, reading.recorded);
  now.record.grant_key = reading.recorded.grant_key;
  now.bound = shown(std::move(reading.recorded));
  return now;
}

void PodFeed::count_problem(const kube::Pod& pod, const Recorded& recorded) {
  if (recorded.grant_problem.empty()) return;
  ++counters_.bad_grants;
  spdlog::warn("pod {}/{}: annotation {} {}, so it grants nothing", quote_if_needed(pod.ns),
               quote_if_needed(pod.name), model::kGrantAnnotation, recorded.grant_problem);
}

PodFeed::Shown PodFeed::shown(Recorded recorded) {
  const bool counts = !recorded.allocation.containers.empty() && !recorded.allocation.by_start;
  recorded.allocation.labels = labels_.shared(std::move(recorded.allocation.labels));
  return {.allocation = std::make_shared<const model::Allocation>(std::move(recorded.allocation)),
          .counts = counts,
          .is_signed = model::is_known_key(recorded.grant_key),
          .issued_at = std::move(recorded.issued_at)};
}

void PodFeed::book(model::Ledger& ledger, const ShownPod& pod) const {
  if (pod.readable) return observe(ledger, *pod.bound);
  Shown now = *pod.bound;
  const auto* before = ledger.find(now.allocation->pod_uid);
  if (before != nullptr && before->allocation->node == now.allocation->node) {
    model::Allocation allocation = *now.allocation;
    allocation.footprint = before->allocation->footprint;
    now.allocation = std::make_shared<const model::Allocation>(std::move(allocation));
  }
  observe(ledger, now);
}

namespace {

/// Without a revision that is about to be written.
const model::Allocation& shown_before(const model::Ledger::Entry& held) {
  return held.former ? *held.former : *held.allocation;
}

/// A revision whose former amounts are at least what the pod could have before. Nobody vouches for
/// those that an unsigned one names, and they count until the node's agent has applied it.
/// @param now  of the same cards
model::AllocationPtr with_all_it_had(const model::AllocationPtr& now,
                                     const model::Allocation& before, bool settled) {
  model::Allocation whole = *now;
  for (std::size_t i = 0; i < whole.containers.size(); ++i) {
    for (std::size_t j = 0; j < whole.containers[i].cards.size(); ++j) {
      model::GrantedCard& part = whole.containers[i].cards[j];
      const model::GrantedCard& was = before.containers[i].cards[j];
      part.former = larger_of(part.former.value_or(was.amounts()), was.amounts());
      if (was.former && !settled) part.former = larger_of(*part.former, *was.former);
    }
  }
  return whole == *now ? now : std::make_shared<const model::Allocation>(std::move(whole));
}

/// Do the pod's containers have what the allocation says, and no more?
bool is_settled(model::Ledger& ledger, const model::Allocation& allocation) {
  const auto cluster = ledger.snapshot();
  const model::NodeState* const node = cluster->find(allocation.node);
  return node != nullptr && model::is_settled(*node->inventory, allocation);
}

}  // namespace

/// @param now   counts
/// @param held  what the watch has shown before, or the API server took as the pod was bound
bool PodFeed::replaces(const Shown& now, const model::Ledger::Entry& held) {
  const model::Allocation& before = shown_before(held);
  const int later = now.allocation->revision - before.revision;
  if (!held.observed && held.issued_at.empty()) return later >= 0;
  if (now.is_signed) return later >= 0;
  return later > 0 && !held.is_signed && now.issued_at == held.issued_at &&
         same_cards(*now.allocation, before);
}

/// Once its pod is bound, a grant is replaced only by its next revisions: another change of the
/// annotation has no effect, unless it has a known key's signature. Nor has one to an earlier
/// revision, which anyone may have kept. A revision is vouched for no weaker than what it replaces.
void PodFeed::observe(model::Ledger& ledger, const Shown& now) const {
  const model::Allocation& shown = *now.allocation;
  const auto* before = ledger.find(shown.pod_uid);
  const bool held = before != nullptr && before->phase == model::Phase::kConfirmed &&
                    before->allocation->node == shown.node &&
                    !before->allocation->containers.empty();
  if (!held) return ledger.observe(now.allocation, now.is_signed, now.issued_at);
  if (now.counts && replaces(now, *before)) {
    const model::Allocation& was = shown_before(*before);
    const bool may_hide = !now.is_signed && shown.revision > was.revision && same_cards(shown, was);
    auto counted =
        may_hide ? with_all_it_had(now.allocation, was, is_settled(ledger, was)) : now.allocation;
    return ledger.observe(std::move(counted), now.is_signed, now.issued_at);
  }
  model::Allocation kept = shown;
  const model::Allocation& former = shown_before(*before);
  kept.isolation = former.isolation;
  kept.containers = former.containers;
  kept.revision = former.revision;
  kept.former_refused = former.former_refused;
  kept.max_burst = former.max_burst;
  if (kept.labels.empty()) kept.labels = former.labels;  // its grant cannot be read any more
  kept.by_start = former.by_start;
  ledger.observe(std::make_shared<const model::Allocation>(std::move(kept)), before->is_signed,
                 before->issued_at);
}

}  // namespace tangram::cluster
