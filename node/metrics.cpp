#include "node/metrics.hpp"

#include "base/metric_family.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace tangram::node {
namespace {

template <class Number>
void add_one(MetricFamilies& all, MetricFamily family, Number value) {
  family.add({}, value).into(all);
}

void add_cards(const Readings& now, MetricFamilies& all) {
  MetricFamily capacity =
      MetricFamily::gauge("tangram_node_card_memory_capacity_bytes", "Memory that pods can have.");
  MetricFamily used =
      MetricFamily::gauge("tangram_node_card_memory_used_bytes",
                          "Memory in use by the driver's count, without the driver's own.");
  MetricFamily busy = MetricFamily::gauge("tangram_node_card_utilization_ratio",
                                          "Share of the last sample period in which a kernel ran.");
  MetricFamily healthy =
      MetricFamily::gauge("tangram_node_card_healthy", "1 if the card takes new pods.");
  MetricFamily limits = MetricFamily::gauge(
      "tangram_node_card_memory_limits",
      "1 for the means by which the card's memory limits are enforced: driver, library, mps (only "
      "in the isolation mode mps) or none.");
  for (const auto& [card, activity] : now.cards) {
    const MetricLabels labels{{"uuid", card.id}, {"model", card.model}};
    capacity.add(labels, static_cast<double>(card.memory.count()) * (1 << 20));
    healthy.add(labels, card.healthy ? 1 : 0);
    limits.add({{"uuid", card.id}, {"means", std::string(to_string(card.memory_limits))}}, 1);
    if (!activity) continue;
    used.add(labels, activity->memory_used_bytes);
    if (activity->utilization >= 0) busy.add(labels, activity->utilization);
  }
  for (MetricFamily* family : {&capacity, &used, &busy, &healthy, &limits}) family->into(all);

  // Named for the first vendor's errors; "xid" has every vendor's number.
  MetricFamily errors = MetricFamily::counter("tangram_node_xid_errors_total",
                                              "Errors that the driver reported, by its number.");
  for (const auto& [card_and_code, count] : now.driver_errors) {
    errors.add({{"uuid", card_and_code.first}, {"xid", std::to_string(card_and_code.second)}},
               count);
  }
  errors.into(all);
}

void add_pods(const Readings& now, MetricFamilies& all) {
  MetricFamily used = MetricFamily::gauge("tangram_node_pod_memory_used_bytes",
                                          "Memory of a card that a pod's processes use.");
  MetricFamily limit = MetricFamily::gauge("tangram_node_pod_memory_limit_bytes",
                                           "Memory of a card that a pod may use.");
  MetricFamily enforced =
      MetricFamily::gauge("tangram_node_pod_limit_enforced",
                          "1 if each process that the pod starts now is held to the pod's limit on "
                          "the card, whatever its environment says. Under mps, a process that "
                          "connected beside a larger share keeps that one's limit.");
  for (const auto& pod : now.pods) {
    const MetricLabels labels{{"namespace", pod.ns}, {"pod", pod.pod}, {"uuid", pod.card}};
    used.add(labels, pod.memory_used_bytes);
    limit.add(labels, pod.memory_limit_bytes);
    for (const auto& [what, holder] :
         {std::pair{"memory", pod.memory_held_by}, std::pair{"compute", pod.compute_held_by}}) {
      MetricLabels more = labels;
      more.push_back({"isolation", pod.isolation});
      more.push_back({"limit", what});
      enforced.add(std::move(more), holder == Holder::kServer ? 1 : 0);
    }
  }
  for (MetricFamily* family : {&used, &limit, &enforced}) family->into(all);
}

void add_daemons(const Readings& now, MetricFamilies& all) {
  std::map<std::string, bool> up;  // by card
  for (const auto& pod : now.pods) {
    // The daemon always limits compute; memory, only where the operator wants it.
    if (pod.isolation == "mps") up[pod.card] = pod.compute_held_by != Holder::kNobody;
  }
  MetricFamily family = MetricFamily::gauge(
      "tangram_node_card_daemon_up",
      "1 if the MPS daemon of a card that pods share by MPS answers and has a server.");
  for (const auto& [card, is] : up) family.add({{"uuid", card}}, is ? 1 : 0);
  family.into(all);
}

void add_grant_keys(const Readings& now, MetricFamilies& all) {
  MetricFamily known = MetricFamily::gauge("tangram_node_grant_key_known",
                                           "1 for every public key that is trusted for grants.");
  for (const std::string& key : now.grant_keys.known) known.add({{"key", key}}, 1);
  known.into(all);
  add_one(
      all,
      MetricFamily::gauge(
          "tangram_node_grant_keys_stale",
          "1 if the key files cannot be used, so the previous keys stay in force; see the log."),
      now.grant_keys.stale ? 1 : 0);
  add_one(all,
          MetricFamily::gauge("tangram_node_signed_grants_required",
                              "1 if containers start only with a signed grant."),
          now.signed_grants_required ? 1 : 0);
}

void add_agent(const Readings& now, MetricFamilies& all) {
  MetricFamily::counter("tangram_node_container_starts_total",
                        "Container starts that kubelet requested, by result.")
      .add({{"result", "prepared"}}, now.starts.prepared)
      .add({{"result", "refused"}}, now.starts.refused)
      .add({{"result", "postponed"}}, now.starts.postponed)
      .into(all);
  add_one(all,
          MetricFamily::counter("tangram_node_allocations_total",
                                "Containers that kubelet admitted with slots."),
          now.starts.allocated);
  add_one(all,
          MetricFamily::gauge("tangram_node_registered", "1 if kubelet uses the device plugin."),
          now.registered ? 1 : 0);
  add_one(all, MetricFamily::gauge("tangram_node_slots", "Slots that are published to kubelet."),
          now.slots);
  add_one(all,
          MetricFamily::counter("tangram_node_registrations_total", "Registrations with kubelet."),
          now.registrations);
  add_one(all,
          MetricFamily::gauge("tangram_node_watch_lag_seconds",
                              "Time since the API server was last heard of the node's pods."),
          now.pods_watch_lag_seconds);
  add_one(all,
          MetricFamily::counter("tangram_node_pods_left_out_total",
                                "Times that the agent did not keep a pod's grant, or the pod, "
                                "because the node's pods take too much memory."),
          now.pods_left_out);
  MetricFamily::counter("tangram_node_record_writes_total", "Writes to the Node's record of cards.")
      .add({{"result", "written"}}, now.node_writes)
      .add({{"result", "failed"}}, now.node_write_failures)
      .into(all);
}

void add_audits(const Readings& now, MetricFamilies& all) {
  MetricFamily drifts = MetricFamily::gauge(
      "tangram_node_drifts",
      "Differences between grants, slots, specs and processes that persist now.");
  for (std::size_t kind = 0; kind < kDriftKinds; ++kind) {
    drifts.add({{"kind", std::string(to_string(static_cast<Drift::Kind>(kind)))}},
               now.audits.drifts.at(kind));
  }
  drifts.into(all);
  MetricFamily::counter("tangram_node_audits_total", "Audits.")
      .add({{"result", "done"}}, now.audits.audits)
      .add({{"result", "failed"}}, now.audits.failed)
      .into(all);
  MetricFamily::counter("tangram_node_repairs_total", "Repairs by audits.")
      .add({{"repair", "spec_restored"}}, now.audits.restored)
      .add({{"repair", "leftover_removed"}}, now.audits.removed)
      .into(all);
}

void add_device_checks(const Readings& now, MetricFamilies& all) {
  MetricFamily::counter("tangram_node_containers_without_device_total",
                        "Running containers that lacked their CDI device, by whether the agent "
                        "could end them.")
      .add({{"result", "ended"}}, now.device_checks.ended)
      .add({{"result", "failed"}}, now.device_checks.not_ended)
      .into(all);
  MetricFamily::counter("tangram_node_containers_unjudged_total",
                        "Running containers with cards whose record at the container runtime is "
                        "too large or unreadable, so that the agent cannot tell whether they have "
                        "their CDI device.")
      .add({}, now.device_checks.unjudged)
      .into(all);
  MetricFamily::counter("tangram_node_container_checks_total",
                        "Searches for containers without their device.")
      .add({{"result", "done"}}, now.device_checks.looks - now.device_checks.failed)
      .add({{"result", "failed"}}, now.device_checks.failed)
      .into(all);
}

void add_resizes(const Readings& now, MetricFamilies& all) {
  MetricFamily resizes = MetricFamily::counter(
      "tangram_node_resizes_total",
      "Revisions of grants of this node's pods, by result: applied, or why not: in-use (the "
      "containers use more), no-room, cannot-change (while the container runs), other-grant (it "
      "is no revision of what they were started by).");
  resizes.add({{"result", "applied"}}, now.resizes.applied);
  for (std::size_t why = 0; why < now.resizes.refused.size(); ++why) {
    resizes.add({{"result", std::string(model::kResizeRefusalNames.at(why))}},
                now.resizes.refused.at(why));
  }
  resizes.into(all);
}

void add_memory_checks(const Readings& now, MetricFamilies& all) {
  MetricFamily over = MetricFamily::gauge(
      "tangram_node_container_memory_over_limit_bytes",
      "Memory of a card that a container uses above its limit, by the driver's count; only of "
      "containers that are above it now. An empty container stands for those of the pod together.");
  for (const MemoryChecker::Over& one : now.memory_checks.over) {
    over.add(
        {{"namespace", one.ns}, {"pod", one.pod}, {"container", one.container}, {"uuid", one.card}},
        one.bytes);
  }
  over.into(all);
  add_one(all,
          MetricFamily::counter("tangram_node_memory_over_limit_total",
                                "Times that a container went above its memory limit on a card."),
          now.memory_checks.reported);
  MetricFamily::counter("tangram_node_processes_terminated_total",
                        "Processes on a card whose container was above its memory limit there, by "
                        "whether the agent could end them; with --over-limit=terminate.")
      .add({{"result", "ended"}}, now.memory_checks.ended)
      .add({{"result", "failed"}}, now.memory_checks.not_ended)
      .into(all);
  MetricFamily::counter("tangram_node_memory_checks_total",
                        "Comparisons of containers' memory with their limits. failed: the driver "
                        "did not tell of every shared card.")
      .add({{"result", "done"}}, now.memory_checks.looks - now.memory_checks.failed)
      .add({{"result", "failed"}}, now.memory_checks.failed)
      .into(all);
}

void add_library_checks(const Readings& now, MetricFamilies& all) {
  MetricFamily past = MetricFamily::gauge(
      "tangram_node_container_other_library_processes",
      "Processes that use a shared card by a driver library other than the one that limits their "
      "container's memory; only of containers that have such processes.");
  for (const LibraryChecker::Found& one : now.library_checks.found) {
    past.add({{"namespace", one.ns}, {"pod", one.pod}, {"container", one.container}},
             one.processes);
  }
  past.into(all);
  const LibraryChecker::State& checks = now.library_checks;
  MetricFamily::counter("tangram_node_library_checks_total",
                        "Looks at the libraries of processes on shared cards. failed: what the "
                        "process has mapped could not be read.")
      .add({{"result", "done"}}, checks.looks - checks.unclear)
      .add({{"result", "failed"}}, checks.unclear)
      .into(all);
}

}  // namespace

MetricFamilies NodeMetrics::Collect() const {
  const Readings now = read_();
  MetricFamilies all;
  add_cards(now, all);
  add_pods(now, all);
  add_daemons(now, all);
  add_agent(now, all);
  add_audits(now, all);
  add_device_checks(now, all);
  add_memory_checks(now, all);
  add_library_checks(now, all);
  add_resizes(now, all);
  add_grant_keys(now, all);
  return all;
}

}  // namespace tangram::node
