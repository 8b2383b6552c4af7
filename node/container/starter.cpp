#include "node/container/starter.hpp"

#include "model/request.hpp"
#include "node/container/container_edits.hpp"
#include "node/vendor/nvidia/cdi.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <stop_token>
#include <utility>

namespace tangram::node {
namespace {

Error not_now(std::string why) { return fail(Errc::kUnavailable, std::move(why)); }
Error never(std::string why) { return fail(Errc::kInvalidArgument, std::move(why)); }

std::string list(const std::vector<std::string>& slots) {
  return fmt::format("{}", fmt::join(slots, ", "));
}

std::vector<std::string> sorted(std::vector<std::string> slots) {
  std::sort(slots.begin(), slots.end());
  return slots;
}

const ListedContainer* holder(const PodList& list, const std::vector<std::string>& slots) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const ListedContainer& container) {
    return std::find_first_of(container.slots.begin(), container.slots.end(), slots.begin(),
                              slots.end()) != container.slots.end();
  });
  return found == list.end() ? nullptr : &*found;
}

bool is_ordinary_init(const kube::Pod& pod, std::string_view container) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [&](const model::ContainerInfo& info) {
                       return info.name == container && info.ordinary_init;
                     });
}

/// What the journal knows of a pod is enough to start its container again.
LocalPodPtr remembered(const Claim& claim, std::string_view node) {
  LocalPod pod;
  pod.pod.uid = claim.pod_uid;
  pod.pod.ns = claim.ns;
  pod.pod.name = claim.pod;
  pod.pod.node = node;
  pod.grant_text = claim.grant;
  read_pod_grant(pod, node);
  return std::make_shared<const LocalPod>(std::move(pod));
}

bool has_cards_alone(const model::ContainerGrant& granted, const std::vector<model::Card>& cards) {
  return std::all_of(granted.cards.begin(), granted.cards.end(), [&](const auto& part) {
    return std::any_of(cards.begin(), cards.end(), [&](const model::Card& card) {
      return card.id == part.uuid && is_whole(part, card);
    });
  });
}

/// As allocate() makes them: fit for a CDI device and for a file's name: no path, no option.
bool is_plain_name(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  return !name.empty() && name.size() <= kLongest &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

}  // namespace

ContainerStarter::ContainerStarter(Parts parts, Settings settings)
    : parts_(std::move(parts)), settings_(std::move(settings)) {}

Result<AllocationAnswer> ContainerStarter::allocate(const std::vector<std::string>& slots) {
  if (slots.empty()) return never("kubelet asks for no slot");
  Allocation allocation;
  allocation.slots = sorted(slots);
  {
    const std::lock_guard lock(random_);
    allocation.name = fmt::format("{}.{:016x}", allocation.slots.front(), parts_.random());
  }
  allocation.allocated_at = rfc3339(parts_.clock.wall());
  // An error would fail the pod for good; kubelet's checkpoint will know the name, too.
  if (auto noted = parts_.journal.put(allocation); !noted) {
    spdlog::error("{}; going on without", noted.error().message);
  }
  const std::lock_guard lock(mutex_);
  ++counts_.allocated;
  return answer_with(allocation.name, settings_.name_path);
}

Result<void> ContainerStarter::prepare_start(const std::vector<std::string>& slots) {
  const auto starts = identify(sorted(slots));
  if (!starts) {
    spdlog::warn("start with {}: {}", list(slots), starts.error().message);
    return count(starts.error());
  }
  bool wrote = false;
  for (const Start& start : *starts) {
    const auto prepared = prepare(start);
    if (prepared) {
      wrote = wrote || *prepared;
      continue;
    }
    spdlog::warn("start of {} in pod {}: {}", start.owner.container, start.pod->pod.full_name(),
                 prepared.error().message);
    tell(*start.pod, prepared.error());
    return count(prepared.error());
  }
  if (wrote) parts_.sleeper(settings_.settle, std::stop_token());
  return count({});
}

/// Whose slots these are. A slot that an init container and an app container of one pod hold one
/// after the other has two owners, and nothing says for which one kubelet asks: both get their
/// spec.
Result<std::vector<ContainerStarter::Start>> ContainerStarter::identify(
    const std::vector<std::string>& slots) {
  auto text = parts_.checkpoint();
  if (!text) return not_now(text.error().message);
  auto owners = decode_checkpoint(std::move(*text), model::kSlotResource);
  if (!owners) return not_now(owners.error().message);
  const auto listed = parts_.lister.list();
  if (!listed) return listed.error();
  const ListedContainer* const by_list = holder(*listed, slots);

  std::vector<Start> starts;
  for (SlotOwner& owner : *owners) {
    if (owner.slots != slots) continue;
    auto pod = find_pod(owner, by_list);
    if (!pod) return pod.error();
    if (*pod == nullptr)
      continue;  // kubelet strikes out those that have ended at the next Allocate
    starts.push_back({std::move(owner), std::move(*pod)});
  }
  if (starts.empty()) return not_now("kubelet names no live pod as the owner of " + list(slots));
  const kube::Pod& pod = starts.front().pod->pod;
  for (const Start& start : starts) {
    const bool same_pod = start.pod->pod.uid == pod.uid;
    const bool as_listed = by_list != nullptr ? by_list->ns == pod.ns && by_list->pod == pod.name
                                              : is_ordinary_init(pod, start.owner.container);
    if (!same_pod || !as_listed) {
      return not_now("kubelet's checkpoint and its list of pods differ about who holds " +
                     list(slots));
    }
  }
  return starts;
}

/// @returns nothing if the pod is gone or has finished
Result<LocalPodPtr> ContainerStarter::find_pod(const SlotOwner& owner,
                                               const ListedContainer* listed) {
  if (auto pod = parts_.pods.find(owner.pod_uid)) return pod;
  const auto noted = parts_.journal.find(owner.name);
  const bool known = noted && noted->claim && noted->claim->pod_uid == owner.pod_uid;
  if (listed == nullptr && !known) {
    // After its list the watch is complete but for the newest pods, and those are listed.
    if (parts_.pods.synced()) return LocalPodPtr{};
    return not_now("the pod of UID " + owner.pod_uid + " is not known yet");
  }
  auto pod = known ? parts_.pods.fetch(noted->claim->ns, noted->claim->pod)
                   : parts_.pods.fetch(listed->ns, listed->pod);
  if (pod) {
    const bool other = (*pod)->pod.uid != owner.pod_uid || (*pod)->pod.finished;
    return other ? LocalPodPtr{} : *pod;
  }
  if (pod.error().code == Errc::kNotFound) return LocalPodPtr{};
  if (known && noted->claim->container == owner.container) {
    spdlog::info("the API server does not answer: pod {}/{} starts by the journal",
                 noted->claim->ns, noted->claim->pod);
    return remembered(*noted->claim, settings_.node);
  }
  return not_now("the API server does not answer: " + pod.error().message);
}

/// @returns whether a spec was written
Result<bool> ContainerStarter::prepare(const Start& start) {
  const auto admission = admit(start);
  if (!admission) return admission.error();
  auto spec = make_spec(start, *admission);
  if (!spec) return spec.error();
  auto noted = parts_.journal.find(start.owner.name);
  if (!noted || !noted->claim) return not_now("the allocation was given up in the meantime");
  if (noted->claim->spec != *spec) {
    noted->claim->spec = *spec;
    if (auto written = parts_.journal.put(*noted); !written) return written.error();
  }
  const auto written = parts_.cdi.put(start.owner.name, *spec);
  if (!written) return written.error();
  if (*written) {
    spdlog::info("pod {} container {}: {} as {}", start.pod->pod.full_name(), start.owner.container,
                 list(start.owner.slots), start.owner.name);
  }
  return *written;
}

/// What the journal has on the allocation; it may have been lost, kubelet's checkpoint is enough.
Result<Allocation> ContainerStarter::noted(const Start& start) const {
  const SlotOwner& owner = start.owner;
  auto noted = parts_.journal.find(owner.name);
  if (!noted) return Allocation{owner.name, owner.slots, rfc3339(parts_.clock.wall()), {}};
  if (noted->slots != owner.slots) {
    return not_now("kubelet's checkpoint and the journal differ about the slots of " + owner.name);
  }
  const auto& claim = noted->claim;
  if (claim && (claim->pod_uid != start.pod->pod.uid || claim->container != owner.container)) {
    return never("its device " + owner.name +
                 " has served another container; delete the pod and create it again");
  }
  return std::move(*noted);
}

/// Checks the grant and notes the claim, so that of two that exclude each other one is refused.
Result<ContainerStarter::Admission> ContainerStarter::admit(const Start& start) {
  if (!is_plain_name(start.owner.name)) {
    return never(
        "its slot was given out by another device plugin; delete the pod and create it again");
  }
  const CardsPtr cards = parts_.cards();
  if (!cards->answers)
    return not_now("the driver does not answer, so nothing is known of the card");
  std::vector<std::string> wanted;
  if (start.pod->grant) {
    for (const model::ContainerGrant& part : start.pod->grant->containers) {
      for (const model::GrantedCard& card : part.cards) wanted.push_back(card.uuid);
    }
  }
  const auto left = leftovers(parts_.source, wanted, parts_.pods, parts_.processes, claims());
  if (!left) return left.error();
  std::vector<model::Card> here;
  for (const InstalledCard& card : cards->inventory.cards) here.push_back(card.card);

  const std::lock_guard lock(claiming_);
  auto allocation = noted(start);
  if (!allocation) return allocation.error();
  LocalPod pod = *start.pod;
  const bool admitted = allocation->claim.has_value();
  if (admitted) {
    if (pod.grant_text != allocation->claim->grant) {
      spdlog::warn("pod {}: its grant was changed after its start, which has no effect",
                   pod.pod.full_name());
    }
    // Whose signature it has was looked at then; its key may have been retired since.
    pod.grant_text = allocation->claim->grant;
    read_pod_grant(pod, settings_.node);
  }
  std::vector<CardClaim> others = claims();
  std::erase_if(others, [&](const CardClaim& other) {
    return other.pod_uid == pod.pod.uid && other.container.container == start.owner.container;
  });
  auto granted = check_grant({.pod = pod,
                              .container = start.owner.container,
                              .admitted = admitted,
                              .ran = admitted && !allocation->claim->spec.empty(),
                              .watch_lags = !parts_.pods.find(pod.pod.uid),
                              .environment_decides = start.owner.path == NamePath::kEnvironment},
                             here, others, *left);
  if (!granted) return granted.error();
  if (!admitted) {
    allocation->claim = Claim{.pod_uid = pod.pod.uid,
                              .ns = pod.pod.ns,
                              .pod = pod.pod.name,
                              .container = start.owner.container,
                              .grant = pod.grant_text,
                              .whole = has_cards_alone(*granted, here),
                              .spec = {}};
    if (auto written = parts_.journal.put(*allocation); !written) return written.error();
  }
  return Admission{std::move(*granted), pod.grant->isolation, allocation->claim->whole};
}

Result<std::string> ContainerStarter::make_spec(const Start& start, const Admission& admission) {
  std::vector<std::string> ids;
  for (const model::GrantedCard& part : admission.granted.cards) ids.push_back(part.uuid);
  auto drawn = draw_nvidia_edits(settings_.nvidia_cdi_folders, ids);
  if (!drawn) return not_now(drawn.error().message);
  if (drawn->lists.empty() && start.owner.path == NamePath::kEnvironment) {
    return not_now(
        "NVIDIA's CDI spec of this node does not name the card; write it with "
        "`nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml --device-name-strategy=uuid`");
  }
  ContainerEdits edits = plain_facts(admission.granted, !drawn->lists.empty());
  for (const std::string& id : ids) {
    for (const model::Isolation mode : model::kAllIsolationModes) {
      // A daemon of former sharers would keep others off the card.
      if (!admission.whole && mode == admission.isolation) continue;
      if (auto given = parts_.enforcer(mode).release(id); !given) return given.error();
    }
  }
  if (!admission.whole) {
    Enforcer& enforcer = parts_.enforcer(admission.isolation);
    auto more = enforcer.edits(admission.granted.cards);
    if (!more) return more.error();
    for (const std::string& id : ids) {
      if (auto ready = enforcer.prepare(id); !ready) return ready.error();
    }
    edits.env.insert(edits.env.end(), more->env.begin(), more->env.end());
    edits.mounts.insert(edits.mounts.end(), more->mounts.begin(), more->mounts.end());
  }
  return encode_cdi_spec(start.owner.name, edits, *drawn);
}

std::vector<CardClaim> ContainerStarter::claims() const {
  return card_claims(parts_.pods, parts_.journal, parts_.processes);
}

void ContainerStarter::tell(const LocalPod& pod, const Error& error) const {
  const bool final_word = error.code == Errc::kInvalidArgument;
  parts_.tell({.kind = "Pod",
               .ns = pod.pod.ns,
               .name = pod.pod.name,
               .uid = pod.pod.uid,
               .type = kube::EventNote::Type::kWarning,
               .reason = final_word ? "CannotStart" : "StartPostponed",
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
