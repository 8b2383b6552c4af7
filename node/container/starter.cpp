#include "node/container/starter.hpp"

#include "model/request.hpp"
#include "node/container/card_environment.hpp"
#include "node/container/runtime_check.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stop_token>
#include <utility>

namespace tangram::node {
namespace {

Error not_yet(std::string why) { return fail(Errc::kUnavailable, std::move(why)); }
Error cannot_start(std::string why) { return fail(Errc::kInvalidArgument, std::move(why)); }

std::vector<model::Card> cards_of(const CardsNow& now) {
  std::vector<model::Card> cards;
  for (const InstalledCard& card : now.inventory.cards) cards.push_back(card.card);
  return cards;
}

std::vector<std::string> sorted(std::vector<std::string> slots) {
  std::sort(slots.begin(), slots.end());
  return slots;
}

bool has_cards_alone(const model::ContainerGrant& granted, const std::vector<model::Card>& cards) {
  return std::all_of(granted.cards.begin(), granted.cards.end(), [&](const auto& part) {
    return std::any_of(cards.begin(), cards.end(), [&](const model::Card& card) {
      return card.id == part.uuid && takes_whole(part, card);
    });
  });
}

/// An admitted container starts again with the grant that it has, whatever its pod's is now.
void note_change(const LocalPod& pod, const LocalPod& admitted) {
  if (pod.grant_text == admitted.grant_text) return;
  if (pod.grant && admitted.grant && revises(*pod.grant, *admitted.grant)) {
    spdlog::info("pod {}: a container starts again before its resize is applied",
                 pod.pod.full_name());
    return;
  }
  spdlog::warn("pod {}: its grant was changed after it started, which has no effect",
               pod.pod.full_name());
}

/// A name that allocate() can have made: valid for a CDI device and a file.
bool is_plain_name(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  return !name.empty() && name.size() <= kLongest &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

}  // namespace

ContainerStarter::ContainerStarter(Parts parts, Settings settings)
    : parts_(std::move(parts)),
      settings_(std::move(settings)),
      identifier_({.slot_owners = parts_.slot_owners,
                   .lister = parts_.lister,
                   .pods = parts_.pods,
                   .journal = parts_.journal,
                   .node = settings_.node}) {}

Result<AllocateResponse> ContainerStarter::allocate(const std::vector<std::string>& slots) {
  if (slots.empty()) return cannot_start("kubelet requests no slot");
  JournalEntry entry;
  entry.slots = sorted(slots);
  entry.name = fmt::format("{}.{:016x}", entry.slots.front(), random_number());
  entry.allocated_at = rfc3339(parts_.clock.wall());
  // An error would fail the pod permanently, and kubelet's checkpoint records the name, too.
  if (auto written = parts_.journal.put(entry); !written) {
    spdlog::error("{}; continuing without", written.error().message);
  }
  const std::lock_guard lock(mutex_);
  ++counts_.allocated;
  return allocate_response(entry.name, settings_.name_path, settings_.runtime);
}

Result<void> ContainerStarter::prepare_start(const std::vector<std::string>& slots) {
  const auto starts = identifier_.identify(sorted(slots));
  if (!starts) {
    spdlog::warn("start with {}: {}", fmt::join(slots, ", "), starts.error().message);
    return count(starts.error());
  }
  for (const Start& start : *starts) {
    const auto prepared = prepare(start);
    if (prepared) continue;
    spdlog::warn("start of {} in pod {}: {}", start.owner.container, start.pod->pod.full_name(),
                 prepared.error().message);
    report(*start.pod, prepared.error());
    return count(prepared.error());
  }
  parts_.sleeper(settings_.spec_delay, std::stop_token());
  auto confirmed = identifier_.confirm(*starts);
  if (confirmed) parts_.started();
  return count(std::move(confirmed));
}

Result<void> ContainerStarter::prepare(const Start& start) {
  const auto passed = check_runtime(parts_.runtime_config(), start.owner.path,
                                    start.pod->names_runtime_class, settings_.runtime);
  if (!passed) return passed.error();
  const auto admission = admit(start);
  if (!admission) return admission.error();
  const bool by_variable = start.owner.path == NamePath::kEnvironment;
  const std::string mark =
      by_variable ? start_mark(start.owner.name, settings_.runtime) : start_mark(random_number());
  auto spec = make_spec(start, *admission, mark);
  if (!spec) return spec.error();
  return record(start, *admission, *spec, mark);
}

/// As it was admitted. Under Journal::lock_claims().
Result<JournalEntry> ContainerStarter::entry_of(const Start& start,
                                                const Admission& admission) const {
  auto entry = parts_.journal.find(start.owner.name);
  if (!entry || !entry->claim) return not_yet("the allocation was removed in the meantime");
  if (entry->claim->grant != admission.grant) {
    return not_yet("the pod was resized while its container was about to start");
  }
  return std::move(*entry);
}

Result<void> ContainerStarter::record(const Start& start, const Admission& admission,
                                      const std::string& spec, const std::string& mark) {
  const auto lock = parts_.journal.lock_claims();
  const auto entry = entry_of(start, admission);
  if (!entry) return entry.error();
  JournalEntry marked = *entry;
  marked.claim->spec = spec;
  marked.claim->former_mark = entry->claim->mark;
  marked.claim->mark = mark;
  marked.claim->boot = settings_.boot;
  marked.claim->marked_at =
      std::chrono::nanoseconds(parts_.clock.wall().time_since_epoch()).count();
  if (auto kept = parts_.journal.put(marked); !kept) {
    if (entry->claim->spec.empty()) return kept.error();
    // A full disk must not keep containers from starting again, nor let them start with a mark that
    // they know. The spec, which is in memory, has the mark: see Auditor::restore().
    spdlog::error("{}; the start is recorded in memory only", kept.error().message);
    parts_.journal.remember(marked);
  }
  const auto written = parts_.cdi.put(start.owner.name, spec);
  if (!written) return written.error();
  spdlog::info("pod {} container {}: {} as {}", start.pod->pod.full_name(), start.owner.container,
               fmt::join(start.owner.slots, ", "), start.owner.name);
  return {};
}

std::uint64_t ContainerStarter::random_number() {
  const std::lock_guard lock(random_);
  return parts_.random();
}

/// The allocation's entry. If it was lost, a new one: kubelet's checkpoint is enough.
Result<JournalEntry> ContainerStarter::journal_entry(const Start& start) const {
  const SlotOwner& owner = start.owner;
  auto entry = parts_.journal.find(owner.name);
  if (!entry) return JournalEntry{owner.name, owner.slots, rfc3339(parts_.clock.wall()), {}};
  if (entry->slots != owner.slots) {
    return not_yet("kubelet's checkpoint and the journal differ about the slots of " + owner.name);
  }
  const auto& claim = entry->claim;
  if (claim && (claim->pod_uid != start.pod->pod.uid || claim->container != owner.container)) {
    return cannot_start("its device " + owner.name +
                        " was used by another container; delete the pod and create it again");
  }
  return std::move(*entry);
}

Result<ContainerStarter::Admission> ContainerStarter::admit(const Start& start) {
  if (!is_plain_name(start.owner.name)) {
    return cannot_start(
        "its slot was allocated by another device plugin; delete the pod and create it again");
  }
  const CardsPtr cards = parts_.cards();
  if (!cards->answers) {
    return not_yet("the driver does not answer, so the state of the card is unknown");
  }
  const auto granted_ids = granted_cards({start.pod});
  const auto orphaned = orphaned_memory(parts_.source, {granted_ids.begin(), granted_ids.end()},
                                        parts_.pods, parts_.processes, claims());
  if (!orphaned) return orphaned.error();
  return claim_cards(start, cards_of(*cards), *orphaned);
}

/// A grant of before a resize grants what others may have by now.
Result<void> ContainerStarter::check_revision(const LocalPod& pod) const {
  if (!pod.grant) return {};
  const std::string& uid = pod.pod.uid;
  int least = parts_.applied_revision(uid);
  const LocalPodPtr watched = parts_.pods.find(uid);
  if (watched && watched->grant) least = std::max(least, watched->grant->revision);
  for (const JournalEntry& entry : parts_.journal.all()) {
    if (!entry.claim || entry.claim->pod_uid != uid) continue;
    const auto claimed = model::decode_grant(entry.claim->grant);
    if (claimed) least = std::max(least, claimed->revision);
  }
  if (pod.grant->revision >= least) return {};
  return not_yet("the pod was resized: revision " + std::to_string(least) +
                 " of its grant counts, and revision " + std::to_string(pod.grant->revision) +
                 " does not");
}

/// Checks the grant and records the claim, so that one of two that exclude each other is refused.
Result<ContainerStarter::Admission> ContainerStarter::claim_cards(
    const Start& start, const std::vector<model::Card>& here,
    const std::vector<OrphanedMemory>& orphaned) {
  const auto lock = parts_.journal.lock_claims();
  auto entry = journal_entry(start);
  if (!entry) return entry.error();
  const bool admitted = entry->claim.has_value();
  if (!admitted) {
    if (auto current = check_revision(*start.pod); !current) return current.error();
  }
  const LocalPod pod =
      admitted ? as_admitted(*start.pod, *entry->claim, settings_.node) : *start.pod;
  if (admitted) note_change(*start.pod, pod);
  const bool by_variable = start.owner.path == NamePath::kEnvironment;
  auto granted = check_grant({.pod = pod,
                              .container = start.owner.container,
                              .admitted = admitted,
                              .ran = admitted && !entry->claim->spec.empty(),
                              .watch_lags = !parts_.pods.find(pod.pod.uid),
                              .name_variable = by_variable ? settings_.runtime.variable : ""},
                             here, claims_of_others(pod, start.owner.container), orphaned);
  if (!granted) return granted.error();
  if (!admitted) {
    entry->claim = Claim{.pod_uid = pod.pod.uid,
                         .ns = pod.pod.ns,
                         .pod = pod.pod.name,
                         .container = start.owner.container,
                         .grant = pod.grant_text,
                         .whole = has_cards_alone(*granted, here),
                         .spec = {}};
    if (auto written = put_first(*entry); !written) return written.error();
  }
  return Admission{std::move(*granted), pod.grant->isolation, entry->claim->whole,
                   entry->claim->grant};
}

/// The claim counts from now on, also where the watch does not have the pod yet.
Result<void> ContainerStarter::put_first(const JournalEntry& entry) {
  const std::string& uid = entry.claim->pod_uid;
  parts_.journal.await_pod(uid);
  auto written = parts_.journal.put(entry);
  // In this order: the watch may show it just now, and notes it for pods that are awaited.
  if (!written || parts_.pods.find(uid)) parts_.journal.pod_shown(uid);
  return written;
}

std::vector<CardClaim> ContainerStarter::claims_of_others(const LocalPod& pod,
                                                          std::string_view container) const {
  std::vector<CardClaim> others = claims();
  std::erase_if(others, [&](const CardClaim& other) {
    return other.pod_uid == pod.pod.uid && other.container.container == container;
  });
  return others;
}

Result<std::string> ContainerStarter::make_spec(const Start& start, const Admission& admission,
                                                const std::string& mark) {
  std::vector<std::string> ids;
  for (const model::GrantedCard& part : admission.granted.cards) ids.push_back(part.uuid);
  auto vendor = parts_.vendor_edits(ids);
  const bool may_lack_edits =
      settings_.cards_by_runtime && start.owner.path != NamePath::kEnvironment;
  if (!vendor && vendor.error().code == Errc::kNotFound) {
    if (!may_lack_edits) {
      return not_yet(vendor.error().message + "; " + std::string(settings_.runtime.setup));
    }
    vendor = CdiEdits{};
  }
  if (!vendor) return not_yet(vendor.error().message);
  ContainerEdits edits = card_environment(start.owner.name, admission.granted, settings_.runtime,
                                          !vendor->lists.empty());
  if (start.owner.path != NamePath::kEnvironment) edits.env.push_back(mark);
  if (auto released = release_other_modes(ids, admission); !released) return released.error();
  if (!admission.whole) {
    if (auto ready = prepare_sharing(start, admission, edits); !ready) return ready.error();
    if (auto limited = limit_memory(start, admission, *vendor, edits); !limited) {
      return limited.error();
    }
  }
  return encode_cdi_spec(start.owner.name, edits, *vendor);
}

/// What another mode has set up, a daemon, would block the card.
Result<void> ContainerStarter::release_other_modes(const std::vector<std::string>& ids,
                                                   const Admission& admission) {
  for (const std::string& id : ids) {
    for (const model::Isolation mode : model::kAllIsolationModes) {
      if (!admission.whole && mode == admission.isolation) continue;
      if (auto released = parts_.enforcer(mode).release(id); !released) return released.error();
    }
  }
  return {};
}

Result<void> ContainerStarter::prepare_sharing(const Start& start, const Admission& admission,
                                               ContainerEdits& edits) {
  Enforcer& enforcer = parts_.enforcer(admission.isolation);
  const std::string& allocation = start.owner.name;
  const auto& parts = admission.granted.cards;
  if (auto accepted = enforcer.accept(parts); !accepted) return accepted.error();
  SharedCards shared = shared_cards(claims_with(start));
  CardsInMode& cards = shared.at(static_cast<std::size_t>(admission.isolation));
  for (const model::GrantedCard& part : parts) {
    CardSharers& sharers = cards[part.uuid];
    sharers.add(allocation, part);  // a pod that the watch does not have yet has no claim
    sharers.starting = allocation;
    if (auto ready = enforcer.prepare(part.uuid, sharers); !ready) return ready.error();
  }
  const auto more = enforcer.edits(allocation, parts);
  if (!more) return more.error();
  edits.env.insert(edits.env.end(), more->env.begin(), more->env.end());
  edits.mounts.insert(edits.mounts.end(), more->mounts.begin(), more->mounts.end());
  return {};
}

/// Of the starting container's allocations only this one: kubelet has given up its earlier ones.
std::vector<CardClaim> ContainerStarter::claims_with(const Start& start) const {
  std::vector<CardClaim> all = claims();
  for (CardClaim& claim : all) {
    const bool own =
        claim.pod_uid == start.pod->pod.uid && claim.container.container == start.owner.container;
    if (own) claim.allocations = {start.owner.name};
  }
  return all;
}

Result<void> ContainerStarter::limit_memory(const Start& start, const Admission& admission,
                                            CdiEdits& vendor, ContainerEdits& edits) {
  // What is written here is in force until a resize, so a resize must not come in between.
  const auto lock = parts_.journal.lock_claims();
  if (auto current = entry_of(start, admission); !current) return current.error();
  return parts_.memory_limiters.limit(start.owner.name, admission.isolation,
                                      admission.granted.cards, cards_of(*parts_.cards()), vendor,
                                      edits);
}

std::vector<CardClaim> ContainerStarter::claims() const {
  return card_claims(parts_.pods, parts_.journal, parts_.processes);
}

void ContainerStarter::report(const LocalPod& pod, const Error& error) const {
  const bool permanent = error.code == Errc::kInvalidArgument;
  parts_.report_event({.kind = "Pod",
                       .ns = pod.pod.ns,
                       .name = pod.pod.name,
                       .uid = pod.pod.uid,
                       .type = kube::EventNote::Type::kWarning,
                       .reason = permanent ? "CannotStart" : "StartPostponed",
                       .action = "Starting",
                       .note = error.message});
}

Result<void> ContainerStarter::count(Result<void> outcome) {
  const std::lock_guard lock(mutex_);
  if (outcome) {
    ++counts_.prepared;
  } else if (outcome.error().code == Errc::kInvalidArgument) {
    ++counts_.refused;
  } else {
    ++counts_.postponed;
  }
  return outcome;
}

ContainerStarter::Counts ContainerStarter::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace tangram::node
