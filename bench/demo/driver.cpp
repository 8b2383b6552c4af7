#include "bench/demo/driver.hpp"

#include "bench/cluster_calls.hpp"
#include "drawing/terminal.hpp"
#include "kube/client.hpp"
#include "model/grant.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

namespace tangram::bench::demo {

namespace {

using std::chrono::milliseconds;

/// Far more than a watch in one process takes: after it, an event was lost.
constexpr milliseconds kWatchDeadline{10'000};

bool requests_cards(const kube::Pod& pod) {
  return std::any_of(pod.annotations.begin(), pod.annotations.end(),
                     [](const auto& annotation) { return model::is_share_key(annotation.first); });
}

}  // namespace

Driver::Driver(Parts parts, Plan plan)
    : parts_(parts), plan_(plan), arrivals_(parts.kinds, plan.seed) {}

Result<Driver> Driver::create(Parts parts, Plan plan) {
  Driver driver(parts, plan);
  if (auto nodes = driver.read_nodes(); !nodes) return nodes.error();
  if (auto pods = driver.read_pods(); !pods) return pods.error();
  return driver;
}

Result<void> Driver::read_nodes() {
  const auto objects = list(parts_.api, "/api/v1/nodes");
  if (!objects) return objects.error();
  for (const std::string& object : *objects) {
    const auto node = kube::decode_node(object);
    if (!node) return node.error();
    const auto cards = node->annotations.find("cards");
    const bool has_cards = cards != node->annotations.end();
    if (has_cards) {
      if (auto added = audit_.add_node(node->name, cards->second); !added) return added.error();
    }
    rooms_.emplace(node->name, Room{node->cpu, node->memory, has_cards});
  }
  return {};
}

Result<void> Driver::read_pods() {
  auto objects = list(parts_.api, "/api/v1/pods");
  if (!objects) return objects.error();
  for (std::string& object : *objects) {
    const auto pod = kube::decode_pod(object);
    if (!pod) return pod.error();
    if (!pod->node.empty()) {
      return fail(Errc::kInvalidArgument,
                  "pod " + pod->full_name() +
                      " is already bound; the cluster file may contain only pending pods");
    }
    auto in = admit(std::move(object), pod->full_name(),
                    request_text(pod->annotations, model::kRequestPrefix), 0);
    if (!in) return in.error();
    ++initial_;
  }
  return {};
}

Result<void> Driver::admit(std::string json, std::string kind, std::string request, int lifetime) {
  auto pod = kube::decode_pod(json);
  if (!pod) return pod.error();
  if (auto seen = wait_until_seen(*pod, true); !seen) return seen.error();
  queue_.push_back(pod->uid);
  ++counts_.arrived;
  const std::string uid = pod->uid;
  pods_.emplace(uid, TrackedPod{.pod = std::move(*pod),
                                .json = std::move(json),
                                .kind = std::move(kind),
                                .request = std::move(request),
                                .lifetime = lifetime,
                                .node = {},
                                .sentence = {}});
  return {};
}

Result<void> Driver::wait_until_seen(const kube::Pod& pod, bool there) {
  const std::string target = "/api/v1/explain?namespace=" + pod.ns + "&pod=" + pod.name;
  const auto deadline = std::chrono::steady_clock::now() + kWatchDeadline;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto page = parts_.extender.get(target);
    if (!page) return page.error();
    if ((page->status != 404) == there) return {};
    std::this_thread::sleep_for(milliseconds(1));
  }
  return fail(Errc::kTimeout, "pod " + pod.full_name() + " was " + (there ? "created" : "deleted") +
                                  " " + std::to_string(kWatchDeadline.count() / 1000) +
                                  " s ago, but the extender does not know it");
}

Result<void> Driver::end_pods() {
  const auto due = ends_.extract(round_);
  if (due.empty()) return {};
  for (const std::string& uid : due.mapped()) {
    const auto pod = pods_.extract(uid);
    const TrackedPod& ended = pod.mapped();
    auto deleted = delete_pod(parts_.api, ended.pod.ns, ended.pod.name);
    if (!deleted) return deleted.error();
    if (auto seen = wait_until_seen(ended.pod, false); !seen) return seen.error();
    release(ended);
    ++counts_.ended;
    --counts_.running;
    room_was_freed_ = true;
  }
  return {};
}

void Driver::release(const TrackedPod& pod) {
  Room& room = rooms_.at(pod.node);
  room.cpu += pod.pod.footprint.cpu;
  room.memory += pod.pod.footprint.memory;
  audit_.removed(pod.pod.uid);
}

Result<void> Driver::let_arrive() {
  for (std::size_t i = 0; i < plan_.per_round && !done(); ++i) {
    const Arrivals::Arrival arrival = arrivals_.next();
    const PodKind& kind = parts_.kinds[arrival.kind];
    auto created = create_pod(parts_.api, kind.ns, kind.json);
    if (!created) return created.error();
    auto in = admit(std::move(*created), kind.ns + "/" + kind.name, kind.request, arrival.lifetime);
    if (!in) return in.error();
  }
  return {};
}

/// Pods without a card request get the nodes without cards first, as with a PreferNoSchedule taint
/// on the others: of nodes with equal scores the extender prefers the first one.
std::vector<std::string> Driver::nodes_with_cpu(const TrackedPod& pod) const {
  std::vector<std::string> nodes;
  for (const auto& [name, room] : rooms_) {
    const model::Footprint& needs = pod.pod.footprint;
    if (needs.cpu <= room.cpu && needs.memory <= room.memory) nodes.push_back(name);
  }
  if (!requests_cards(pod.pod)) {
    std::stable_partition(nodes.begin(), nodes.end(),
                          [&](const std::string& name) { return !rooms_.at(name).has_cards; });
  }
  return nodes;
}

Result<void> Driver::schedule(const std::string& uid, std::vector<Highlight>& highlights) {
  TrackedPod& pod = pods_.at(uid);
  const std::vector<std::string> nodes = nodes_with_cpu(pod);
  if (nodes.empty()) {
    pod.sentence = kNoCpu;
  } else if (auto placed = place(pod, nodes); !placed) {
    return placed.error();
  }
  if (!pod.node.empty()) {
    ++counts_.running;
    ++counts_.placed;
    if (pod.tried) ++counts_.placed_after_waiting;
    if (pod.lifetime > 0) ends_[round_ + pod.lifetime].push_back(uid);
  }
  report_first(pod, highlights);
  pod.tried = true;
  return {};
}

Result<void> Driver::place(TrackedPod& pod, const std::vector<std::string>& nodes) {
  const auto filtered = parts_.extender.filter(pod.json, nodes);
  if (!filtered) return filtered.error();
  pod.invalid = !filtered->error.empty();
  pod.others_in_the_way = !filtered->failed.empty();
  pod.sentence = first_sentence(*filtered);
  if (filtered->nodes.empty()) return {};
  const auto scores = parts_.extender.prioritize(pod.json, filtered->nodes);
  if (!scores) return scores.error();
  const auto best =
      std::max_element(scores->begin(), scores->end(),
                       [](const auto& a, const auto& b) { return a.score < b.score; });
  if (best == scores->end()) return fail(Errc::kInvalidArgument, "prioritize scored no node");
  const auto refused = parts_.extender.bind({pod.pod.ns, pod.pod.name, pod.pod.uid}, best->host);
  if (!refused) return refused.error();
  if (!refused->empty()) {
    pod.sentence = *refused;
    return {};
  }
  pod.node = best->host;
  Room& room = rooms_.at(pod.node);
  room.cpu -= pod.pod.footprint.cpu;
  room.memory -= pod.pod.footprint.memory;
  return learn_grant(pod);
}

/// Reads the grant from the API server, not from the extender.
Result<void> Driver::learn_grant(TrackedPod& pod) {
  auto text = call(parts_.api, {.path = kube::pod_path(pod.pod.ns, pod.pod.name)}, 200);
  if (!text) return text.error();
  const auto read = kube::decode_pod(std::move(*text));
  if (!read) return read.error();
  if (read->node != pod.node) {
    return fail(Errc::kConflict, "pod " + pod.pod.full_name() + " was bound to node " + pod.node +
                                     ", but the API server says " + read->node);
  }
  const auto grant = read->annotations.find(model::kGrantKey);
  if (grant != read->annotations.end()) {
    audit_.bound(pod.pod.uid, pod.node, grant->second);
  } else if (requests_cards(pod.pod)) {
    audit_.bound_without_grant(pod.pod.full_name());
  }
  return {};
}

/// "#3 #4 10.0 GiB 25%": the cards' numbers on their node, and the share of each.
std::string Driver::cards_text(const TrackedPod& pod) const {
  std::string text;
  std::string amount;
  for (const Audit::Part& part : audit_.parts_of(pod.pod.uid)) {
    const std::string this_amount =
        " " + drawing::gib(part.mem_mib) + " GiB " + drawing::percent(part.milli, 1000);
    if (this_amount != amount) text += std::exchange(amount, this_amount);
    text += " " + audit_.name_on_node(part.uuid);
  }
  return text + amount;
}

void Driver::report_first(const TrackedPod& pod, std::vector<Highlight>& highlights) {
  const bool placed = !pod.node.empty();
  if (!placed && !pod.invalid) return;
  if (!reported_.insert(pod.kind).second) return;
  highlights.push_back({.pod = pod.kind,
                        .request = pod.request,
                        .node = pod.node,
                        .outcome = placed ? cards_text(pod) : pod.sentence});
}

Result<std::vector<Driver::Highlight>> Driver::run_round() {
  ++round_;
  if (auto ended = end_pods(); !ended) return ended.error();
  const std::size_t waited = queue_.size();
  if (auto arrived = let_arrive(); !arrived) return arrived.error();
  std::vector<Highlight> highlights;
  std::deque<std::string> still_waiting;
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const std::string& uid = queue_[i];
    // As kube-scheduler: a pod that fitted nowhere is tried again when room was made.
    const bool try_again = i >= waited || room_was_freed_ || !pods_.at(uid).tried;
    if (try_again) {
      if (auto scheduled = schedule(uid, highlights); !scheduled) return scheduled.error();
    }
    const TrackedPod& pod = pods_.at(uid);
    if (pod.invalid) ++counts_.refused;
    if (pod.node.empty() && !pod.invalid) still_waiting.push_back(uid);
  }
  queue_ = std::move(still_waiting);
  room_was_freed_ = false;
  counts_.waiting = queue_.size();
  const std::int64_t capacity = std::max<std::int64_t>(1, audit_.capacity_milli());
  history_.push_back(static_cast<double>(audit_.granted_milli()) / static_cast<double>(capacity));
  return highlights;
}

Refusals Driver::refusals() const {
  Refusals refusals;
  for (const auto& [uid, pod] : pods_) {
    if (pod.node.empty() && !pod.sentence.empty()) {
      refusals.add(pod.sentence, pod.pod.full_name(), pod.request);
    }
  }
  return refusals;
}

std::string Driver::example_running() const {
  std::string running;
  std::size_t most = 0;
  for (const auto& [uid, pod] : pods_) {
    const std::size_t parts = audit_.parts_of(uid).size();
    if (parts > std::exchange(most, std::max(most, parts))) running = pod.pod.full_name();
  }
  return running;
}

std::string Driver::example_waiting() const {
  std::string waiting;
  for (const std::string& uid : queue_) {
    const TrackedPod& pod = pods_.at(uid);
    if (waiting.empty() || pod.others_in_the_way) waiting = pod.pod.full_name();
  }
  return waiting;
}

}  // namespace tangram::bench::demo
