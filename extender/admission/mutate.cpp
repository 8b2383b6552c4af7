#include "extender/admission/mutate.hpp"

#include "base/json.hpp"
#include "base/quote.hpp"
#include "extender/admission/aggregates.hpp"
#include "extender/admission/json_patch.hpp"
#include "extender/admission/limit_range.hpp"
#include "extender/admission/limits.hpp"
#include "extender/admission/visible_devices.hpp"
#include "model/annotations.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace tangram::extender {

namespace {

using Kind = kube::ContainerKind;

constexpr std::string_view kDefaultScheduler = "default-scheduler";

std::string path_of(const kube::ContainerManifest& container) {
  std::string list = "/spec/initContainers/";
  if (container.kind == Kind::kApp) list = "/spec/containers/";
  if (container.kind == Kind::kEphemeral) list = "/spec/ephemeralContainers/";
  return list + std::to_string(container.index);
}

// ---- The pod as a whole.

/// The container that the annotations without a name are for, if there are such; null otherwise.
const model::ContainerInfo* meant_by_plain_annotations(const PodRequest& requested) {
  const std::size_t place = model::default_container(requested.infos);
  if (place == requested.infos.size()) return nullptr;
  const model::ContainerInfo& info = requested.infos[place];
  if (requested.of(*requested.containers[place]) == nullptr) return nullptr;
  // A container has either plain annotations or named ones.
  const bool named = std::any_of(
      requested.annotations.begin(), requested.annotations.end(), [&](const auto& annotation) {
        const std::size_t dot = annotation.first.find('.');
        return dot != std::string::npos && annotation.first.substr(dot + 1) == info.name;
      });
  return named ? nullptr : &info;
}

void patch_annotations(const kube::PodManifest& pod, const PodRequest& requested,
                       JsonPatch& patch) {
  kube::StringMap more;
  for (const auto& [name, value] : requested.translation.annotations) {
    if (!pod.annotations.contains(name)) more.emplace(name, value);
  }
  if (!requested.annotations.contains(model::kContainerKey)) {
    const auto* meant = meant_by_plain_annotations(requested);
    if (meant != nullptr) more.emplace(model::full_name(model::kContainerKey), meant->name);
  }
  patch.edit_map("/metadata/annotations", pod.annotations, more);
}

void patch_scheduler(const kube::PodManifest& pod, const PodRequest& requested,
                     const AdmissionSettings& settings, JsonPatch& patch) {
  std::string_view wanted = settings.scheduler_name;
  // Another system's scheduler may not be there any more.
  if (wanted.empty() && !requested.translation.annotations.empty()) wanted = kDefaultScheduler;
  const auto& replaced = settings.replaced_schedulers;
  const bool may = pod.scheduler_name.empty() || std::find(replaced.begin(), replaced.end(),
                                                           pod.scheduler_name) != replaced.end();
  if (wanted.empty() || wanted == pod.scheduler_name || !may) return;
  patch.add("/spec/schedulerName", wanted);
}

/// As the API server's plugin ExtendedResourceToleration does for the resource that a taint names.
void patch_tolerations(const kube::PodManifest& pod, const AdmissionSettings& settings,
                       JsonPatch& patch) {
  // Which ones it has is then not known, and a second call would add them again.
  if (pod.more_tolerated > 0 || pod.tolerated.contains("")) return;
  bool is_there = pod.has_tolerations;
  for (const std::string& key : settings.tolerations) {
    if (pod.tolerated.contains(key)) continue;
    if (!std::exchange(is_there, true)) patch.add_json("/spec/tolerations", "[]");
    patch.add_json("/spec/tolerations/-",
                   to_json({{"effect", "NoSchedule"}, {"key", key}, {"operator", "Exists"}}));
  }
}

void patch_pod(const kube::PodManifest& pod, const PodRequest& requested,
               const AdmissionSettings& settings, JsonPatch& patch) {
  patch_annotations(pod, requested, patch);
  patch_scheduler(pod, requested, settings, patch);
  if (!settings.runtime_class.empty() && pod.runtime_class.empty()) {
    patch.add("/spec/runtimeClassName", settings.runtime_class);
  }
  if (settings.node_selector && !pod.node_selector.contains(model::kGpuLabel)) {
    patch.add_to_map("/spec/nodeSelector", pod.has_node_selector,
                     {{std::string(model::kGpuLabel), "true"}});
  }
  patch_tolerations(pod, settings, patch);
}

// ---- Its containers.

/// What is to become of a container's limits and requests alike.
struct ResourceEdit {
  kube::StringMap complete = {};          ///< to add where it is missing
  kube::StringMap set = {};               ///< to have, whatever stands there
  std::vector<std::string> without = {};  ///< to take out
};

/// For a container with a request. Its aggregates follow from that, so those that stand there give
/// way: a LimitRange writes its default, or else its maximum, into containers before webhooks see
/// them, and checks them after.
void add_request(const model::ContainerRequest& request, const AdmissionSettings& settings,
                 ResourceEdit& edit) {
  edit.complete.emplace(model::kSlotResource, "1");
  if (!settings.aggregates) return;
  edit.set = to_resources(aggregates_of(request));
  for (const std::string_view name : model::kAggregateResources) {
    if (!edit.set.contains(name)) edit.without.emplace_back(name);
  }
}

/// For a container without a request, to which a LimitRange gave aggregates: none of them. Not
/// taken out, since a LimitRange with a maximum insists on some number.
void add_none_of_limit_range(const LimitRangeGifts& gifts, const kube::ContainerManifest& container,
                             ResourceEdit& edit) {
  for (const std::string_view name : model::kAggregateResources) {
    if (gifts.gave(container.name, name)) edit.set.emplace(name, "0");
  }
}

/// What `list` lacks or has otherwise. A quantity to complete that stands in the other list is
/// taken from there: they must be equal, and validate() checks the one that was written.
kube::StringMap changes_of(const kube::StringMap& list, const kube::ContainerManifest& container,
                           const ResourceEdit& edit) {
  kube::StringMap changes;
  for (const auto& [name, quantity] : edit.complete) {
    if (list.contains(name)) continue;
    const std::string* written = container.quantity(name);
    changes.emplace(name, written != nullptr ? *written : quantity);
  }
  for (const auto& [name, quantity] : edit.set) {
    const auto found = list.find(name);
    if (found == list.end() || !same_quantity(found->second, quantity)) {
      changes.emplace(name, quantity);
    }
  }
  return changes;
}

void patch_resources(const kube::ContainerManifest& container, const ResourceEdit& edit,
                     JsonPatch& patch) {
  const std::string path = path_of(container) + "/resources";
  const kube::StringMap limits = changes_of(container.limits, container, edit);
  const kube::StringMap requests = changes_of(container.requests, container, edit);
  if (!container.has_resources) {
    if (limits.empty() && requests.empty()) return;
    const std::string both =
        R"({"limits":)" + to_json(limits) + R"(,"requests":)" + to_json(requests) + "}";
    return patch.add_json(path, both);
  }
  patch.edit_map(path + "/limits", container.limits, limits, edit.without);
  patch.edit_map(path + "/requests", container.requests, requests, edit.without);
}

void hide_devices(const kube::ContainerManifest& container, JsonPatch& patch) {
  std::string variable;
  json::Writer out(variable);
  out.begin_object().member("name", kVisibleDevices).member("value", kNoDevices).end_object();
  const std::string path = path_of(container) + "/env";
  if (container.has_env) return patch.add_json(path + "/-", variable);
  patch.add_json(path, "[" + variable + "]");
}

/// For a container with a request, whose device brings a value that wins over this one: void, so
/// that it sees no card if kubelet starts it without the device.
/// @param replace  other values give way: many manifests set one beside another system's request
void hide_until_given(const kube::ContainerManifest& container, bool replace,
                      AdmissionResponse& answer, JsonPatch& patch) {
  bool is_set = false;
  // From the last one on, so that the indices of the others stay.
  for (std::size_t i = container.env.size(); i-- > 0;) {
    if (!sets_visible_devices(container.env[i])) continue;
    if (!replace || container.env[i].value == kNoDevices) {
      is_set = true;
      continue;
    }
    patch.remove(path_of(container) + "/env/" + std::to_string(container.env[i].index));
    answer.warnings.push_back("container " + quote(container.name) + ": the variable " +
                              std::string(kVisibleDevices) +
                              " was taken out: Tangram shows the container the cards that it "
                              "gives it");
  }
  if (!is_set) hide_devices(container, patch);
}

/// For a container without a request: no cards, unless another system gives it some.
/// @param left  the container without the resources that are taken out of it
void hide_cards(const kube::PodManifest& pod, const kube::ContainerManifest& left,
                const AdmissionSettings& settings, AdmissionResponse& answer, JsonPatch& patch) {
  const bool placed = !pod.node.empty();
  if (!wants_no_devices(left, settings.card_resources, placed)) return;
  hide_devices(left, patch);
  const auto* other = other_cards(left, settings.card_resources);
  if (other == nullptr) return;
  answer.warnings.push_back("container " + quote(left.name) + ": " + quote_if_needed(other->first) +
                            " " + quote(other->second) +
                            " does not count in a pod with spec.nodeName, since kubelet also "
                            "starts it on nodes without that resource; write nodeSelector: "
                            "{kubernetes.io/hostname: " +
                            quote_if_needed(pod.node) + "} instead");
}

/// The container without what is taken out of it.
kube::ContainerManifest without(kube::ContainerManifest container,
                                const std::vector<std::string>& resources) {
  for (const std::string& name : resources) {
    container.limits.erase(name);
    container.requests.erase(name);
  }
  return container;
}

}  // namespace

AdmissionResponse mutate(const kube::PodManifest& pod, const AdmissionSettings& settings) {
  if (const std::string why = too_large(pod); !why.empty()) return refuse(pod.name, why);
  const PodRequest requested = read_pod_request(pod, settings);
  if (requested.is_wrong()) return {};
  AdmissionResponse answer;
  answer.warnings = requested.translation.warnings;
  JsonPatch patch;
  if (requested.request->asks_gpu()) patch_pod(pod, requested, settings, patch);
  const std::set<std::string> names(requested.translation.resources.begin(),
                                    requested.translation.resources.end());
  const std::vector<std::string> taken_out(names.begin(), names.end());
  const bool replace_devices = !requested.translation.empty() && !settings.allow_visible_devices;
  const LimitRangeGifts gifts(pod);
  for (const kube::ContainerManifest& container : pod.containers) {
    ResourceEdit edit{.without = taken_out};
    if (const auto* request = requested.of(container); request != nullptr) {
      add_request(*request, settings, edit);
      patch_resources(container, edit, patch);
      hide_until_given(container, replace_devices, answer, patch);
    } else {
      add_none_of_limit_range(gifts, container, edit);
      patch_resources(container, edit, patch);
      hide_cards(pod, without(container, taken_out), settings, answer, patch);
    }
  }
  answer.patch = patch.text();
  return answer;
}

AdmissionResponse mutate_ephemeral(const kube::PodManifest& pod, const kube::PodManifest& old_pod,
                                   const AdmissionSettings& settings) {
  if (const std::string why = too_large(pod); !why.empty()) return refuse(pod.name, why);
  JsonPatch patch;
  for (const kube::ContainerManifest* container : added_ephemerals(pod, old_pod)) {
    if (wants_no_devices(*container, settings.card_resources, true))
      hide_devices(*container, patch);
  }
  AdmissionResponse answer;
  answer.patch = patch.text();
  return answer;
}

std::vector<const kube::ContainerManifest*> added_ephemerals(const kube::PodManifest& pod,
                                                             const kube::PodManifest& old_pod) {
  std::set<std::string_view> before;
  for (const kube::ContainerManifest& old : old_pod.containers) {
    if (old.kind == Kind::kEphemeral) before.insert(old.name);
  }
  std::vector<const kube::ContainerManifest*> added;
  for (const kube::ContainerManifest& container : pod.containers) {
    if (container.kind == Kind::kEphemeral && !before.contains(container.name)) {
      added.push_back(&container);
    }
  }
  return added;
}

}  // namespace tangram::extender
