#include "extender/admission/grant_rules.hpp"

#include "base/quote.hpp"
#include "extender/admission/pod_request.hpp"
#include "model/annotations.hpp"
#include "model/grant.hpp"
#include "model/request_texts.hpp"
#include "model/resize_keys.hpp"

#include <algorithm>
#include <set>

namespace tangram::extender {

namespace {

constexpr std::string_view kOneRecord =
    "is Tangram's record of the card that the pod was given; leave it as it is";

bool equal(const std::string* a, const std::string* b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}

bool is_of(const model::Grant& grant, const kube::PodManifest& pod) {
  return grant.pod_uid == pod.uid && grant.node == pod.node;
}

/// @returns nothing if it is no grant of this pod and node
std::optional<model::Grant> grant_of(const kube::PodManifest& pod, const std::string& text) {
  auto grant = model::decode_grant(text);
  if (!grant || !is_of(*grant, pod)) return std::nullopt;
  return std::move(*grant);
}

bool is_vouched(const std::string& text, const model::SignatureCheck& check) {
  return check && model::is_known_key(check(text).key);
}

/// Is the later one vouched for weaker than the earlier one? Then no agent takes it.
bool weakens(const std::string& later, const std::string& earlier,
             const model::SignatureCheck& check) {
  return is_vouched(earlier, check) && !is_vouched(later, check);
}

bool has_slot(const kube::PodManifest& pod, const std::string& container) {
  return std::ranges::any_of(pod.containers, [&](const kube::ContainerManifest& each) {
    return each.name == container && each.quantity(model::kSlotResource) != nullptr;
  });
}

/// Why the extender cannot write the grant to a bound pod, whatever stands there; "" = it can.
std::string no_place(const model::Grant& grant, const kube::PodManifest& pod) {
  if (!is_of(grant, pod)) return "is a grant of another pod or node";
  if (grant.revision == 0) return "is no revision";
  for (const model::ContainerGrant& container : grant.containers) {
    if (has_slot(pod, container.container)) continue;
    return "names the container " + quote(container.container) +
           ", but only containers with a slot have cards";
  }
  return "";
}

std::string shown(const std::string* value) { return value != nullptr ? quote(*value) : "nothing"; }

}  // namespace

std::optional<std::string> grant_on_new_pod(const kube::PodManifest& pod) {
  if (!pod.annotations.contains(model::kGrantAnnotation)) return std::nullopt;
  return std::string(model::kGrantAnnotation) +
         ": is written by Tangram when it places the pod, and one copied from another pod, as by "
         "kubectl "
         "debug --copy-to or a restored backup, is worth nothing; remove it";
}

std::optional<std::string> grant_changed(const kube::PodManifest& pod,
                                         const kube::PodManifest& old_pod) {
  const std::string* now = kube::find(pod.annotations, model::kGrantAnnotation);
  const std::string* before = kube::find(old_pod.annotations, model::kGrantAnnotation);
  if (equal(now, before)) return std::nullopt;
  const std::string name(model::kGrantAnnotation);
  if (before == nullptr) return name + ": is written by Tangram when it places the pod; remove it";
  const std::string what = now == nullptr ? "cannot be removed" : "cannot be changed";
  return name + ": " + what + ": it " + std::string(kOneRecord);
}

std::optional<std::string> tangram_annotation_of_binding(const kube::StringMap& annotations) {
  const auto found = annotations.lower_bound("tangram.dev/gpu-");
  if (found == annotations.end() || !found->first.starts_with("tangram.dev/gpu-")) {
    return std::nullopt;
  }
  return quote_if_needed(found->first) +
         ": only Tangram's extender may bind a pod with this; remove it from the Binding, or leave "
         "the binding to kube-scheduler with Tangram as its extender";
}

std::optional<std::string> no_revision(const kube::PodManifest& pod,
                                       const kube::PodManifest& old_pod,
                                       const model::SignatureCheck& check) {
  const std::string name(model::kGrantAnnotation);
  const auto wrong = [&](const std::string& what) { return std::optional(name + ": " + what); };
  const std::string* now = kube::find(pod.annotations, model::kGrantAnnotation);
  const std::string* before = kube::find(old_pod.annotations, model::kGrantAnnotation);
  if (now == nullptr || old_pod.node.empty()) {
    return wrong("the extender may only revise the grant of a bound pod, and bind with a new one");
  }
  kube::PodManifest revised = old_pod;
  revised.annotations.insert_or_assign(name, *now);
  if (revised != pod) return wrong("the extender may change nothing else of a pod");
  const auto later = model::decode_grant(*now);
  if (!later) return wrong(later.error().message);
  if (const std::string why = no_place(*later, pod); !why.empty()) return wrong(why);
  const auto earlier = before == nullptr ? std::nullopt : grant_of(old_pod, *before);
  if (earlier && model::revises(*later, *earlier)) {
    if (!weakens(*now, *before, check)) return std::nullopt;
    return wrong("is not signed by a known key, and the grant that it replaces is");
  }
  // Only a known key's signature tells a genuine grant from a forged one.
  const bool is_repair = !earlier || (check && !is_vouched(*before, check));
  if (!is_repair) return wrong("is no later revision of the grant that it replaces");
  if (!check || is_vouched(*now, check)) return std::nullopt;
  return wrong("is not signed by a known key, as a grant is that repairs another one");
}

ChangedRequests changed_requests(const kube::PodManifest& pod, const kube::PodManifest& old_pod) {
  std::set<std::string_view> names;
  for (const kube::PodManifest* each : {&pod, &old_pod}) {
    for (const auto& [name, value] : each->annotations) {
      if (!request_key(name).empty()) names.insert(name);
    }
  }
  model::Mistakes changes;
  model::Mistakes fixed;
  for (const std::string_view name : names) {
    const std::string* now = kube::find(pod.annotations, name);
    const std::string* before = kube::find(old_pod.annotations, name);
    if (equal(now, before)) continue;
    const std::string change =
        quote_if_needed(name) + " from " + shown(before) + " to " + shown(now);
    changes.add(change);
    if (!model::is_resize_key(request_key(name))) fixed.add(change);
  }
  return {.all = changes.message(), .fixed = fixed.message()};
}

}  // namespace tangram::extender
