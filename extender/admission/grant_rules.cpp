#include "extender/admission/grant_rules.hpp"

#include "base/quote.hpp"
#include "extender/admission/pod_request.hpp"
#include "model/grant.hpp"
#include "model/request_texts.hpp"
#include "model/resize_keys.hpp"

#include <set>

namespace tangram::extender {

namespace {

constexpr std::string_view kOneRecord =
    "is Tangram's record of the card that the pod was given; leave it as it is";

bool equal(const std::string* a, const std::string* b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
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
                                       const kube::PodManifest& old_pod) {
  const std::string name(model::kGrantAnnotation);
  const std::string* now = kube::find(pod.annotations, model::kGrantAnnotation);
  const std::string* before = kube::find(old_pod.annotations, model::kGrantAnnotation);
  if (now == nullptr || before == nullptr || old_pod.node.empty()) {
    return name +
           ": the extender may only revise the grant of a bound pod, and bind with a new one";
  }
  kube::PodManifest revised = old_pod;
  revised.annotations.insert_or_assign(name, *now);
  if (revised != pod) return name + ": the extender may change nothing else of a pod";
  const auto later = model::decode_grant(*now);
  if (!later) return name + ": " + later.error().message;
  const auto earlier = model::decode_grant(*before);
  if (!earlier) return name + ": the one that is replaced: " + earlier.error().message;
  if (model::revises(*later, *earlier)) return std::nullopt;
  return name + ": is no later revision of the grant that it replaces";
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
