#include "extender/admission/pod_rules.hpp"

#include "base/quantity.hpp"
#include "base/quote.hpp"
#include "extender/admission/aggregates.hpp"
#include "extender/admission/visible_devices.hpp"
#include "model/grant.hpp"
#include "policies/registry.hpp"

#include <boost/algorithm/string/case_conv.hpp>

#include <algorithm>
#include <utility>

namespace tangram::extender {

namespace {

using model::Mistakes;

std::string of(const kube::ContainerManifest& container) {
  return "container " + quote(container.name) + ": ";
}

std::string written(std::string_view resource, const std::string& quantity) {
  return quote_if_needed(resource) + " " + quote(quantity);
}

bool is_number(const std::string& quantity, std::int64_t number) {
  constexpr KubeQuantity::Nanos kNanosPerUnit = 1'000'000'000;
  const auto read = KubeQuantity::parse(quantity);
  return read && *read == KubeQuantity(KubeQuantity::Nanos(number) * kNanosPerUnit);
}

// ---- Slots.

void check_slot(const kube::ContainerManifest& container, bool has_request, Mistakes& mistakes) {
  const std::string* slots = container.quantity(model::kSlotResource);
  if (slots == nullptr) {
    if (!has_request) return;
    return mistakes.add(of(container) +
                        "holds no tangram.dev/gpu-slot, which Tangram's mutating webhook adds to a "
                        "new pod: another webhook took it out, or the request came after; write "
                        R"(tangram.dev/gpu-slot: "1" to its limits)");
  }
  if (is_number(*slots, 1) || (!has_request && is_number(*slots, 0))) return;
  mistakes.add(of(container) + written(model::kSlotResource, *slots) +
               ": one slot stands for all cards of a container; write \"1\", and the number of "
               "cards in tangram.dev/gpu-count");
}

// ---- Aggregates.

/// An update can make the request count in a resource that its container never got: that one would
/// take cards past quotas.
void check_missing(const kube::ContainerManifest& container, std::string_view resource,
                   const model::ContainerRequest* request, Mistakes& mistakes) {
  const std::int64_t requested = request ? amount_of(aggregates_of(*request), resource) : 0;
  if (requested == 0) return;
  mistakes.add(of(container) + "holds no " + std::string(resource) +
               ", which Tangram's mutating webhook adds to a new pod; write " +
               std::string(resource) + ": " + quote(std::to_string(requested)) + " to its limits");
}

void check_aggregate(const kube::ContainerManifest& container, std::string_view resource,
                     const model::ContainerRequest* request, bool needed, Mistakes& mistakes) {
  const std::string* quantity = container.quantity(resource);
  if (quantity == nullptr) {
    if (needed) check_missing(container, resource, request, mistakes);
    return;
  }
  const std::string what = of(container) + written(resource, *quantity);
  if (request == nullptr) {
    if (is_number(*quantity, 0)) return;
    return mistakes.add(what +
                        " without a request; request it by annotation, as in "
                        R"(tangram.dev/gpu-fraction: "0.5", and remove it)");
  }
  const std::int64_t requested = amount_of(aggregates_of(*request), resource);
  if (is_number(*quantity, requested)) return;
  mistakes.add(what + " is not what the annotations request, " +
               (requested > 0 ? quote(std::to_string(requested)) : "which do not count in it") +
               "; remove it, and Tangram writes what is right");
}

/// What to write so that the request counts in the resource.
std::string counting_form(std::string_view resource, const model::Share& share) {
  if (share.form == model::ShareForm::kReplica) {
    return R"(write tangram.dev/gpu-mem: "8Gi" and tangram.dev/gpu-compute: "0.3" instead)";
  }
  if (resource == model::kMemoryResource) return R"(write tangram.dev/gpu-mem: "8Gi" instead)";
  return share.compute ? R"(write a tangram.dev/gpu-compute above 0, such as "0.3")"
                       : R"(write tangram.dev/gpu-compute: "0.3" too)";
}

std::string form_of(const model::Share& share) {
  if (share.form == model::ShareForm::kWhole) return "tangram.dev/gpu-count alone";
  if (share.form == model::ShareForm::kFraction) return "tangram.dev/gpu-fraction";
  if (share.form == model::ShareForm::kReplica) return "tangram.dev/gpu-replica";
  return share.compute ? R"(tangram.dev/gpu-compute "0")" : "tangram.dev/gpu-mem alone";
}

/// The limit that lets a container use more than its request counts in the resource; "" = none.
std::string_view burst_beyond(std::string_view resource, const model::Share& share) {
  if (resource == model::kMemoryResource) {
    return share.memory_limit > share.memory ? model::kMemoryLimitKey : std::string_view();
  }
  const bool by_fraction = share.form == model::ShareForm::kFraction;
  // The memory of a fraction counts in its compute, so memory beyond it would count nowhere.
  if (by_fraction && share.memory_limit) return model::kMemoryLimitKey;
  const MilliGpu counted = by_fraction ? share.fraction : share.compute.value_or(MilliGpu{});
  return share.compute_limit > counted ? model::kComputeLimitKey : std::string_view();
}

/// @returns whether the request counts in the resource
bool check_counts(const kube::PodManifest& pod, const kube::ContainerManifest& container,
                  const model::ContainerRequest& request, std::string_view resource,
                  const AdmissionSettings& settings, Mistakes& mistakes) {
  const auto advice = [&](std::string plain) {
    return counting_advice(pod, request.share, resource, settings.other_systems, std::move(plain));
  };
  if (amount_of(aggregates_of(request), resource) == 0) {
    mistakes.add(of(container) + form_of(request.share) + " does not count in " +
                 std::string(resource) + ", and this namespace has a quota on that; " +
                 advice(counting_form(resource, request.share)));
    return false;
  }
  if (const auto limit = burst_beyond(resource, request.share); !limit.empty()) {
    mistakes.add(of(container) + model::full_name(limit) + " above the request does not count in " +
                 std::string(resource) + ", and this namespace has a quota on that; " +
                 advice("write at most the request"));
  }
  return true;
}

void check_counted(const kube::PodManifest& pod, const kube::ContainerManifest& container,
                   const model::ContainerRequest& request, std::string_view resource,
                   const AdmissionSettings& settings, Mistakes& mistakes) {
  if (!check_counts(pod, container, request, resource, settings, mistakes)) return;
  // Where every container needs its aggregates, check_aggregate reports this.
  if (settings.aggregates || container.quantity(resource) != nullptr) return;
  mistakes.add(of(container) + "holds no " + std::string(resource) +
               ", and this namespace has a quota on that; write it to its limits: " +
               quote(std::to_string(amount_of(aggregates_of(request), resource))));
}

/// A quota counts what the container held when it was created.
void check_growth(const kube::ContainerManifest& container, const model::ContainerRequest& request,
                  std::string_view resource, Mistakes& mistakes) {
  const std::string* quantity = container.quantity(resource);
  const auto read = KubeQuantity::parse(quantity != nullptr ? *quantity : "0");
  const std::int64_t counted = read ? read->units_ceil() : 0;
  const std::int64_t requested = amount_of(aggregates_of(request), resource);
  if (requested <= counted) return;
  mistakes.add(of(container) + "requests " + std::to_string(requested) + " of " +
               std::string(resource) + ", and the quota of this namespace counts " +
               std::to_string(counted) +
               " for it, which cannot change while the pod runs; write at most that, or delete the "
               "pod and create it with the new request");
}

// ---- The request.

void check_policy(const std::string& policy, Mistakes& mistakes) {
  const auto& known = policies::policy_names();
  if (policy.empty() || std::find(known.begin(), known.end(), policy) != known.end()) return;
  mistakes.add(model::full_name(model::kPolicyKey) + ": " + policies::no_such_policy(policy));
}

/// Where no node shares cards so, a replica is a whole card that counts in no quota of aggregates.
void check_replicas(const model::GpuRequest& request, const AdmissionSettings& settings,
                    Mistakes& mistakes) {
  if (!request.asks_replicas() || settings.other_systems.nvidia_sharing) return;
  mistakes.add(model::full_name(model::kReplicaKey) +
               ": this cluster has no sharing configurations for nodes; write "
               "tangram.dev/gpu-fraction: \"0.25\", or tangram.dev/gpu-count alone for whole "
               "cards, or set foreign.nvidia_sharing: true in Tangram's configuration");
}

void check_node(const kube::PodManifest& pod, Mistakes& mistakes) {
  if (!pod.node.empty()) mistakes.add(model::node_name_mistake(pod.node));
}

void check_other_system(const kube::ContainerManifest& container, const AdmissionSettings& settings,
                        Mistakes& mistakes) {
  const auto* other = other_cards(container, settings.card_resources);
  if (other == nullptr) return;
  mistakes.add(of(container) + written(other->first, other->second) +
               " beside a request of Tangram's: two systems would each give it cards; write only "
               "one of them");
}

void check_containers(const kube::PodManifest& pod, const PodRequest& requested,
                      const AdmissionSettings& settings,
                      const std::vector<std::string_view>& counted, Mistakes& mistakes) {
  for (const kube::ContainerManifest& container : pod.containers) {
    // Of a pod that cannot be translated nothing else is known: it was not mutated either.
    const model::ContainerRequest* request =
        requested.is_wrong() ? nullptr : requested.of(container);
    // A request that cannot be read may be this container's.
    check_slot(container, request != nullptr, mistakes);
    if (!requested.is_wrong()) {
      for (const std::string_view resource : model::kAggregateResources) {
        check_aggregate(container, resource, request, settings.aggregates, mistakes);
      }
    }
    if (request == nullptr) continue;
    check_other_system(container, settings, mistakes);
    for (const std::string_view resource : counted) {
      check_counted(pod, container, *request, resource, settings, mistakes);
    }
  }
}

/// Those that no component reads, and that look like requests: tangram.dev/gpufraction,
/// Tangram.dev/gpu-mem. The parser of requests names misspelt ones that begin with "gpu-".
void check_spelling(const kube::PodManifest& pod, Mistakes& mistakes) {
  for (const auto& [name, value] : pod.annotations) {
    if (name.starts_with("tangram.dev/gpu-")) continue;
    const std::string lower = boost::algorithm::to_lower_copy(name, std::locale::classic());
    if (!lower.starts_with(model::kPrefix)) continue;
    if (mistakes.full()) return mistakes.add({});  // the search below is not cheap
    const std::string_view meant =
        model::nearest_request_key(std::string_view(lower).substr(model::kPrefix.size()));
    mistakes.add(quote_if_needed(name) + ": there is no such annotation of pods; " +
                 (meant.empty() ? "remove it"
                                : "write " + std::string(model::kPrefix) + std::string(meant)));
  }
}

void check_translation(const PodRequest& requested, Mistakes& mistakes) {
  for (const std::string& mistake : requested.translation.mistakes) mistakes.add(mistake);
  for (std::size_t i = 0; i < requested.translation.more_mistakes; ++i) mistakes.add({});
}

bool requests_anything(const PodRequest& requested) {
  return !requested.translation.empty() ||
         std::any_of(requested.annotations.begin(), requested.annotations.end(),
                     [](const auto& annotation) {
                       return annotation.first.starts_with(model::kRequestPrefix) &&
                              annotation.first != model::kGrantKey;
                     });
}

// ---- A resize.

std::string names_of(const model::GpuRequest& request) {
  std::string names;
  for (const model::ContainerRequest& container : request.containers) {
    names += (names.empty() ? "" : ", ") + quote(container.container);
  }
  return names.empty() ? "none" : names;
}

/// A resize changes the amounts of the cards that the containers have, and no more.
void check_same_cards(const model::GpuRequest& now, const model::GpuRequest& before,
                      Mistakes& mistakes) {
  const auto same_name = [](const auto& a, const auto& b) { return a.container == b.container; };
  if (!std::ranges::equal(now.containers, before.containers, same_name)) {
    return mistakes.add(
        "the containers with a GPU cannot change once the pod is bound, here from " +
        names_of(before) + " to " + names_of(now));
  }
  for (std::size_t i = 0; i < now.containers.size(); ++i) {
    const model::ContainerRequest& container = now.containers[i];
    const model::ContainerRequest& old = before.containers[i];
    const std::string name = "container " + quote(container.container) + ": ";
    if (container.count != old.count) {
      mistakes.add(name + "the number of cards cannot change once the pod is bound, here from " +
                   std::to_string(old.count) + " to " + std::to_string(container.count));
    } else if (container.share.whole() != old.share.whole()) {
      mistakes.add(name +
                   (old.share.whole() ? "has whole cards, and those cannot become shares"
                                      : "has shares, and those cannot become whole cards") +
                   " once the pod is bound");
    }
  }
}

}  // namespace

void check_request(const kube::PodManifest& pod, const PodRequest& requested,
                   const AdmissionSettings& settings, const std::vector<std::string_view>& counted,
                   Mistakes& mistakes) {
  check_translation(requested, mistakes);
  if (!requested.request) {
    mistakes.add(requested.request.error().message);
  } else {
    check_policy(requested.request->policy, mistakes);
    check_replicas(*requested.request, settings, mistakes);
  }
  check_spelling(pod, mistakes);
  if (requests_anything(requested)) check_node(pod, mistakes);
  check_containers(pod, requested, settings, counted, mistakes);
}

void check_resize(const kube::PodManifest& pod, const PodRequest& requested,
                  const PodRequest& before, const AdmissionSettings& settings,
                  const std::vector<std::string_view>& counted, Mistakes& mistakes) {
  check_translation(requested, mistakes);
  check_spelling(pod, mistakes);
  if (!requested.request) return mistakes.add(requested.request.error().message);
  if (before.is_wrong()) {
    return mistakes.add("the request that the pod has now cannot be read, and so not be resized");
  }
  check_same_cards(*requested.request, *before.request, mistakes);
  for (const kube::ContainerManifest& container : pod.containers) {
    const model::ContainerRequest* request =
        requested.is_wrong() ? nullptr : requested.of(container);
    if (request == nullptr) continue;
    for (const std::string_view resource : counted) {
      if (check_counts(pod, container, *request, resource, settings, mistakes)) {
        check_growth(container, *request, resource, mistakes);
      }
    }
  }
}

void check_amounts(const kube::PodManifest& pod, const AdmissionSettings& settings,
                   Mistakes& mistakes) {
  for (const kube::ContainerManifest& container : pod.containers) {
    const auto* amount = too_many_cards(container, settings.card_resources);
    if (amount == nullptr) continue;
    mistakes.add(of(container) + written(amount->first, amount->second) +
                 " is no number up to 10T; Kubernetes' sums of larger ones wrap, so write the "
                 "number that the container needs");
  }
}

void check_hidden(const kube::ContainerManifest& container, const AdmissionSettings& settings,
                  bool placed, Mistakes& mistakes) {
  if (!is_exposed(container, settings.card_resources, placed)) return;
  const auto* amount = placed ? nullptr : other_cards(container, settings.card_resources);
  if (amount != nullptr) {
    return mistakes.add(of(container) + "could see every card of its node: " +
                        written(amount->first, amount->second) +
                        " is an amount, and gives it no card by itself; write the number of cards, "
                        "too, such as nvidia.com/gpu: 1");
  }
  mistakes.add(of(container) +
               "could see every card of its node: another webhook added it after Tangram's, which "
               "hides the cards; write the variable " +
               std::string(kVisibleDevices) + R"( with the value "void")");
}

void check_hidden(const kube::PodManifest& pod, const AdmissionSettings& settings,
                  Mistakes& mistakes) {
  for (const kube::ContainerManifest& container : pod.containers) {
    check_hidden(container, settings, !pod.node.empty(), mistakes);
  }
}

void check_visible_devices(const kube::PodManifest& pod, const PodRequest& requested,
                           Mistakes& mistakes) {
  for (const kube::ContainerManifest& container : pod.containers) {
    const bool has_request = requested.of(container) != nullptr;
    if (const auto mistake = wrong_visible_devices(container, has_request)) mistakes.add(*mistake);
  }
  if (const auto* devices = named_devices(pod.annotations)) {
    mistakes.add(quote_if_needed(devices->first) + " " + quote(devices->second) +
                 ": NVIDIA's NRI plugin would show the pod cards that it was not given; remove it, "
                 R"(and request a share, as in tangram.dev/gpu-fraction: "0.5")");
  }
}

}  // namespace tangram::extender
