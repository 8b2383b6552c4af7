#include "cli/resize.hpp"

#include "base/json.hpp"
#include "base/one_line.hpp"
#include "base/quote.hpp"
#include "cli/api_reading.hpp"
#include "cli/format.hpp"
#include "kube/client.hpp"
#include "kube/objects.hpp"
#include "kube/url.hpp"
#include "model/cards.hpp"
#include "model/grant.hpp"
#include "model/resizes.hpp"
#include "model/resizing.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tangram::cli {

namespace {

using cluster::ResizeState;

/// Kubelet writes the pod's status too, when its containers change.
constexpr int kMaxTries = 5;
constexpr std::chrono::milliseconds kPatience{10'000};
constexpr int kForbidden = 403;
constexpr int kBadRequest = 400;
constexpr int kConflict = 409;
constexpr int kUnprocessable = 422;

std::string path_of(const std::string& ns, const std::string& pod) {
  return "/api/v1/namespaces/" + kube::percent_encode(ns) + "/pods/" + kube::percent_encode(pod);
}

Result<std::string> read_object(kube::KubeApi& api, const std::string& path) {
  const kube::Request request{.path = path, .timeout = kPatience};
  auto response = api.call(request);
  if (!response) return fail(Errc::kUnavailable, one_line(response.error().message));
  if (response->status != 200) return refused(request, *response, kResizerRole);
  return std::move(response->body);
}

Result<kube::Pod> read_pod(kube::KubeApi& api, const std::string& ns, const std::string& name) {
  auto text = read_object(api, path_of(ns, name));
  if (!text) return text.error();
  auto pod = kube::decode_pod(std::move(*text));
  if (!pod) return fail(Errc::kUnavailable, ns + "/" + name + ": " + pod.error().message);
  return pod;
}

// ---- What to write.

/// Annotations by key; nothing = to be removed.
using Changes = std::map<std::string, std::optional<std::string>>;

Result<void> check_resizable(const kube::Pod& pod) {
  const std::string name = pod.full_name();
  if (pod.deleting || pod.finished) {
    return fail(Errc::kConflict, name + " is ending, so it is not resized");
  }
  if (pod.node.empty()) {
    return fail(Errc::kConflict, name +
                                     " has no node yet, so there is nothing to resize; `kubectl "
                                     "tangram explain " +
                                     name + "` says what it waits for");
  }
  if (pod.annotations.contains(model::kGrantKey)) return {};
  return fail(Errc::kConflict, name +
                                   " was bound without a grant of cards, so it cannot be resized; "
                                   "delete it and create it with the new request");
}

Result<std::string> container_of(const std::string& pod, const std::string& named,
                                 const model::GpuRequest& request) {
  std::vector<std::string> names;
  for (const auto& container : request.containers) names.push_back(container.container);
  if (named.empty() && names.size() == 1) return names.front();
  if (named.empty()) {
    return fail(Errc::kInvalidArgument, pod + " has " + counted(names.size(), "container") +
                                            " with a GPU request; name one: --container " +
                                            joined(names, " or "));
  }
  if (std::ranges::find(names, named) != names.end()) return named;
  return fail(Errc::kNotFound, pod + " has no container " + quote(named) +
                                   " with a GPU request; those that have one: " + joined(names));
}

/// "", or ".NAME" where the pod's annotations name the container.
std::string suffix_of(const kube::Pod& pod, const std::string& container) {
  const bool named = std::ranges::any_of(pod.annotations, [&](const auto& annotation) {
    const std::string& key = annotation.first;
    return model::is_share_key(key) &&
           key.substr(std::min(key.find('.'), key.size())) == "." + container;
  });
  return named ? "." + container : "";
}

Changes changes_of(const kube::Pod& pod, const model::Annotations& amounts,
                   const std::string& suffix) {
  Changes changes;
  const auto replaces = [&](const char* key) {
    const auto found = amounts.find(key);
    return found != amounts.end() && found->second != kNoAmount;
  };
  if (replaces(model::kMemoryKey)) changes[model::kFractionKey + suffix] = std::nullopt;
  if (replaces(model::kFractionKey)) {
    changes[model::kMemoryKey + suffix] = std::nullopt;
    changes[model::kComputeKey + suffix] = std::nullopt;
  }
  for (const auto& [key, amount] : amounts) {
    changes[key + suffix] = amount == kNoAmount ? std::nullopt : std::optional(amount);
  }
  std::erase_if(changes, [&](const auto& change) {
    const auto found = pod.annotations.find(change.first);
    return found == pod.annotations.end() ? !change.second : change.second == found->second;
  });
  return changes;
}

Result<void> check_shares(const model::GpuRequest& before, const model::GpuRequest& after) {
  for (std::size_t i = 0; i < std::min(before.containers.size(), after.containers.size()); ++i) {
    const bool was_whole = before.containers[i].share.whole();
    if (was_whole == after.containers[i].share.whole()) continue;
    const std::string container = "container " + quote(before.containers[i].container);
    return fail(Errc::kConflict,
                container + (was_whole ? " has whole cards, and those" : " has a share, and that") +
                    (was_whole ? " cannot be resized" : " cannot become a whole card") +
                    "; delete the pod and create it with the new request");
  }
  return {};
}

Result<Changes> plan_resize(const kube::Pod& pod, const ResizeOrder& order,
                            const model::RequestRules& rules) {
  if (auto good = check_resizable(pod); !good) return good.error();
  const auto before = model::parse_running_request(pod.annotations, pod.containers, rules);
  if (!before) {
    return fail(Errc::kConflict,
                pod.full_name() +
                    ": the request that it has now cannot be read: " + before.error().message);
  }
  const auto container = container_of(pod.full_name(), order.container, *before);
  if (!container) return container.error();
  Changes changes = changes_of(pod, order.amounts, suffix_of(pod, *container));
  model::Annotations annotations = pod.annotations;
  for (const auto& [key, amount] : changes) {
    if (amount) annotations[key] = *amount;
    if (!amount) annotations.erase(key);
  }
  const auto after = model::parse_request(annotations, pod.containers, rules);
  if (!after) return fail(Errc::kInvalidArgument, pod.full_name() + ": " + after.error().message);
  if (auto good = check_shares(*before, *after); !good) return good.error();
  return changes;
}

// ---- The write.

std::string patch_of(const kube::Pod& pod, const Changes& changes) {
  std::string patch;
  json::Writer out(patch);
  out.begin_object().key("metadata").begin_object();
  // Rejected if the pod is another one, or has changed since: the request was checked with the rest
  // of its annotations.
  out.member("uid", pod.uid).member("resourceVersion", pod.resource_version);
  out.key("annotations").begin_object();
  for (const auto& [key, amount] : changes) {
    out.key(model::full_name(key));
    amount ? out.string(*amount) : out.null();
  }
  out.end_object().end_object().end_object();
  return patch;
}

std::string sentence_of(const kube::Pod& pod, const Changes& changes, bool dry_run) {
  std::vector<std::string> texts;
  for (const auto& [key, amount] : changes) {
    const auto before = pod.annotations.find(key);
    texts.push_back(key + " from " + (before == pod.annotations.end() ? "none" : before->second) +
                    " to " + amount.value_or("none"));
  }
  if (texts.empty()) return pod.full_name() + " requests these amounts already";
  return pod.full_name() + ": " + joined(texts) +
         (dry_run ? " would be requested (dry run)" : " requested");
}

/// A webhook, a policy and a missing right are all 403; only the last has a role that helps.
Error rejected(const kube::Request& request, const kube::Response& response,
               const std::string& pod) {
  const std::string message = one_line(kube::status_message(response));
  const bool by_admission =
      response.status == kBadRequest || response.status == kUnprocessable ||
      (response.status == kForbidden && message.find("cannot patch resource") == std::string::npos);
  if (by_admission) return fail(Errc::kConflict, pod + " cannot be resized so: " + message);
  return refused(request, response, kResizerRole);
}

// ---- How far it is.

std::string sentence_of(model::ResizeRefusal why) {
  switch (why) {
    case model::ResizeRefusal::kInUse:
      return "the containers use more than that; it is applied when they use less";
    case model::ResizeRefusal::kNoRoom:
      return "the card has no room for it beside other containers";
    case model::ResizeRefusal::kCannotChange:
      return "the limits of a running process cannot change by the means that enforces them; "
             "create the pod again with the new request";
    case model::ResizeRefusal::kOtherGrant:
      return "the grant on the pod is no revision of the one that its containers were started by; "
             "create the pod again with the new request";
    case model::ResizeRefusal::kUnknown:
      return "the node's agent refuses it for a reason that only a newer version knows; the pod's "
             "event ResizeRefused says it";
  }
  return "";
}

/// Of what the node's agent publishes; without cards if they cannot be read.
Result<model::NodeState> read_node(kube::KubeApi& api, const std::string& name) {
  auto text = read_object(api, "/api/v1/nodes/" + kube::percent_encode(name));
  if (!text) return text.error();
  const auto node = kube::decode_node(std::move(*text));
  if (!node) return fail(Errc::kUnavailable, "node " + name + ": " + node.error().message);
  const auto annotation = [&](std::string_view full) {
    const auto found = node->annotations.find(model::key_of(full));
    return found == node->annotations.end() ? std::string() : found->second;
  };
  model::NodeInventory inventory;
  inventory.name = name;
  if (auto cards = model::decode_cards(annotation(model::kCardsAnnotation))) {
    inventory.cards = std::move(*cards);
  }
  if (auto answers = model::decode_resizes(annotation(model::kResizesAnnotation))) {
    inventory.resizes = std::move(*answers);
  }
  model::NodeState state;
  state.equip(std::move(inventory));
  return state;
}

ResizeProgress progress_of(const kube::Pod& pod, const model::Grant& grant,
                           const model::GpuRequest& request, const model::NodeState& node) {
  if (!model::same_shape(request, grant.containers)) {
    return {ResizeState::kInfeasible, "the pod requests other containers or cards than it has"};
  }
  if (model::asks_what_was_refused(request, grant, node)) {
    return {ResizeState::kInfeasible, sentence_of(model::ResizeRefusal::kCannotChange)};
  }
  if (model::asks_other_amounts(request, grant.containers, grant.max_burst, &node)) {
    return {ResizeState::kProposed};
  }
  if (grant.revision == 0) return {.state = std::nullopt};
  const auto found = node.inventory->resizes.find(pod.uid);
  if (found == node.inventory->resizes.end()) return {ResizeState::kInProgress};
  const model::ResizeAnswer& answer = found->second;
  if (answer.applied >= grant.revision) return {.state = std::nullopt};
  if (answer.refused != grant.revision || !answer.why) return {ResizeState::kInProgress};
  const bool may_have_room_later = *answer.why == model::ResizeRefusal::kNoRoom;
  return {may_have_room_later ? ResizeState::kDeferred : ResizeState::kInfeasible,
          sentence_of(*answer.why)};
}

/// An API server that does not answer may do so later.
bool is_outcome(const Result<ResizeProgress>& progress) {
  if (!progress) return progress.error().code != Errc::kUnavailable;
  return !progress->state || progress->state == ResizeState::kInfeasible;
}

/// Said once, it may be about the request before this one: the extender hears of it a little later.
bool is_confirmed(const std::optional<ResizeProgress>& explained,
                  const std::optional<ResizeProgress>& before) {
  return explained && explained->state == ResizeState::kInfeasible && explained == before;
}

}  // namespace

std::string_view state_name(const ResizeProgress& progress) {
  return progress.state ? to_string(*progress.state) : "Resized";
}

std::string outcome_text(const std::string& pod, const ResizeProgress& progress) {
  if (!progress.state) return pod + " resized";
  const std::string why = progress.reason.empty() ? "" : ": " + progress.reason;
  if (progress.state == ResizeState::kInfeasible) return pod + " is not resized: infeasible" + why;
  constexpr std::array<const char*, 3> kWords{"proposed", "in progress", "deferred"};
  return pod + " is not resized yet: " + kWords.at(static_cast<std::size_t>(*progress.state)) +
         why + "; the request stands, and `kubectl tangram explain " + pod +
         "` shows how far it is";
}

Result<std::string> request_resize(kube::KubeApi& api, const ResizeOrder& order,
                                   const model::RequestRules& rules) {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const auto pod = read_pod(api, order.ns, order.pod);
    if (!pod) return pod.error();
    const auto changes = plan_resize(*pod, order, rules);
    if (!changes) return changes.error();
    std::string sentence = sentence_of(*pod, *changes, order.dry_run);
    if (changes->empty()) return sentence;
    kube::Request request;
    request.method = kube::Method::kPatch;
    request.path = path_of(order.ns, order.pod);
    if (order.dry_run) request.query["dryRun"] = "All";
    request.body = patch_of(*pod, *changes);
    request.content_type = "application/merge-patch+json";
    request.timeout = kPatience;
    const auto response = api.call(request);
    if (!response) return fail(Errc::kUnavailable, one_line(response.error().message));
    if (response->status == 200) return sentence;
    if (response->status != kConflict) return rejected(request, *response, pod->full_name());
  }
  return fail(Errc::kConflict, "others changed the pod " + std::to_string(kMaxTries) +
                                   " times meanwhile; run the command again");
}

Result<ResizeProgress> read_resize_progress(kube::KubeApi& api, const std::string& ns,
                                            const std::string& name,
                                            const model::RequestRules& rules) {
  const auto pod = read_pod(api, ns, name);
  if (!pod) return pod.error();
  if (auto good = check_resizable(*pod); !good) return good.error();
  const auto grant = model::decode_grant(pod->annotations.find(model::kGrantKey)->second);
  if (!grant) return fail(Errc::kConflict, pod->full_name() + ": " + grant.error().message);
  const auto request = model::parse_running_request(pod->annotations, pod->containers, rules);
  if (!request) return fail(Errc::kConflict, pod->full_name() + ": " + request.error().message);
  const auto node = read_node(api, pod->node);
  if (!node) return node.error();
  return progress_of(*pod, *grant, *request, *node);
}

Result<ResizeProgress> await_resize(const std::function<Result<ResizeProgress>()>& read,
                                    const ExplainResize& explain, const ResizeWait& wait) {
  constexpr std::chrono::milliseconds kInterval{1'000};
  constexpr int kExplainEvery = 5;  // without an extender it lists all nodes and pods
  const TimePoint deadline = wait.clock.now() + wait.timeout;
  std::optional<ResizeProgress> explained;
  for (int i = 0;; ++i) {
    auto progress = read();
    if (is_outcome(progress)) return progress;
    const bool is_over = wait.clock.now() >= deadline;
    if (i % kExplainEvery == 1 || is_over) {
      const auto before = std::exchange(explained, explain());
      if (is_confirmed(explained, before)) return *explained;
    }
    if (is_over) return progress && explained ? *explained : progress;
    wait.sleep(kInterval, {});
  }
}

}  // namespace tangram::cli
