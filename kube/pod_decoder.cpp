#include "base/json_members.hpp"
#include "base/one_line.hpp"
#include "kube/objects.hpp"
#include "kube/pod_manifest.hpp"
#include "kube/resources.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace tangram::kube {

namespace {

using GroupKind = GroupOfPod::Kind;

/// Labels whose values are names of groups: of Kubernetes' coscheduling plugin, now and before, and
/// of Kueue. Sources: sigs.k8s.io/scheduler-plugins, apis/scheduling/v1alpha1/types.go;
/// sigs.k8s.io/kueue, pkg/controller/jobs/pod/constants/constants.go.
constexpr std::array kGroupLabels{
    std::pair("scheduling.x-k8s.io/pod-group", GroupKind::kCoscheduling),
    std::pair("pod-group.scheduling.sigs.k8s.io", GroupKind::kCoscheduling),
    std::pair("kueue.x-k8s.io/pod-group-name", GroupKind::kKueue)};

/// Of spec.volumes: does one of them need a claim?
bool read_claims(json::Reader& in) {
  bool any = false;
  in.array([&] {
    in.object([&](std::string_view key) {
      const bool some = in.kind() != json::Kind::kNull;
      in.skip();
      any = any || (some && (key == "persistentVolumeClaim" || key == "ephemeral"));
    });
  });
  return any;
}

bool read_any_element(json::Reader& in) {
  bool any = false;
  in.array([&] {
    any = true;
    in.skip();
  });
  return any;
}

/// Its value comes from elsewhere if it has valueFrom, be there a value too.
Variable read_variable(json::Reader& in, std::size_t index) {
  Variable variable{.name = {}, .value = "", .index = index};
  bool from_elsewhere = false;
  const auto read_source = [&](json::Reader& source) {
    from_elsewhere = source.kind() != json::Kind::kNull;
    source.skip();
  };
  json::read_members(in, "name", variable.name, "value", *variable.value, "valueFrom", read_source);
  if (from_elsewhere) variable.value.reset();
  return variable;
}

int read_priority(json::Reader& in) {
  std::optional<std::int64_t> written;
  json::read_into(in, written);
  const std::int64_t priority = written.value_or(0);
  if (priority > std::numeric_limits<std::int32_t>::max() ||
      priority < std::numeric_limits<std::int32_t>::min()) {
    in.fail("priority " + std::to_string(priority) + " is not a 32-bit number");
    return 0;
  }
  return static_cast<int>(priority);
}

/// Reads a v1.Pod once, for scheduling, as a manifest, or both. What only a manifest has is skipped
/// without one, which costs nothing: the watch reads every pod of the cluster.
class PodDecoder {
 public:
  /// @param scheduling  quantities, priority and status are read; false: only the manifest is
  ///                    complete
  /// @param manifest    null = not wanted
  /// @param scope       of the manifest
  PodDecoder(json::Reader& in, bool scheduling, PodManifest* manifest,
             const ManifestScope& scope = {})
      : in_(in), scheduling_(scheduling), manifest_(manifest), scope_(scope) {}

  Pod read() {
    const auto read_metadata_part = [this](json::Reader& in) {
      has_metadata_ = in.kind() == json::Kind::kObject;
      read_metadata();
    };
    const auto read_spec_part = [this](json::Reader& in) {
      has_spec_ = in.kind() == json::Kind::kObject;
      read_spec();
    };
    const auto read_status_part = [this](json::Reader& in) {
      scheduling_ ? read_status() : in.skip();
    };
    json::read_members(in_, "metadata", read_metadata_part, "spec", read_spec_part, "status",
                       read_status_part);
    if (scheduling_) find_group_by_label();
    if (manifest_ != nullptr) complete_manifest();
    return std::move(pod_);
  }

  /// A patch can be applied to it.
  void require_parts() {
    if (!has_metadata_) return in_.fail("metadata: missing");
    if (!has_spec_) in_.fail("spec: missing");
  }

 private:
  /// What scheduling keeps of a container.
  struct Container {
    ContainerKind kind = ContainerKind::kApp;
    model::ContainerInfo info;
    Amount amount;
  };

  // ---- metadata

  void read_metadata() {
    std::string deleted_at;
    const auto read_annotations = [this](json::Reader&) { this->read_annotations(); };
    const auto read_labels = [this](json::Reader&) { this->read_labels(); };
    const auto read_owners = [this](json::Reader& in) { in.array([this] { read_owner(); }); };
    const auto read_generate_name = [this](json::Reader& in) {
      manifest_ == nullptr ? in.skip() : json::read_into(in, generate_name_);
    };
    json::read_members(in_, "uid", pod_.uid, "namespace", pod_.ns, "name", pod_.name,
                       "resourceVersion", pod_.resource_version, "annotations", read_annotations,
                       "labels", read_labels, "deletionTimestamp", deleted_at, "ownerReferences",
                       read_owners, "generateName", read_generate_name);
    pod_.deleting = !deleted_at.empty();
  }

  void read_annotations() {
    if (manifest_ == nullptr) {
      pod_.annotations = read_own_annotations(in_);
      return;
    }
    manifest_->more_annotations = kube::read_annotations(in_, scope_, manifest_->annotations);
    if (scheduling_) pod_.annotations = own_annotations(manifest_->annotations);
  }

  void read_labels() {
    if (scheduling_) return json::read_into(in_, pod_.labels);
    read_wanted(in_, scope_.label, manifest_->labels);
  }

  /// Keeps the one of the owners that controls the pod; there is one at most.
  void read_owner() {
    Controller owner;
    std::optional<bool> controls;
    json::read_members(in_, "kind", owner.kind, "name", owner.name, "controller", controls);
    if (controls.value_or(false)) pod_.controller = std::move(owner);
  }

  // ---- spec

  void read_spec() {
    in_.object([&](std::string_view key) {
      if (key == "nodeName") {
        pod_.node = in_.string_or_null();
      } else if (key == "schedulerName") {
        pod_.scheduler = in_.string_or_null();
      } else if (key == "containers") {
        read_containers(ContainerKind::kApp);
      } else if (key == "initContainers") {
        read_containers(ContainerKind::kInit);
      } else if (!(scheduling_ && read_scheduling_member(key)) &&
                 !(manifest_ != nullptr && read_manifest_member(key))) {
        in_.skip();
      }
    });
    if (scheduling_) count_requests();
  }

  /// @returns false if `key` is none of them
  bool read_scheduling_member(std::string_view key) {
    const auto read_policy = [this](json::Reader& in) {
      pod_.never_preempts = in.string_or_null() == "Never";
    };
    const auto read_overhead = [this](json::Reader& in) { overhead_ = read_resources(in); };
    const auto read_resources_of_pod = [this](json::Reader&) {
      pod_level_ = read_requirements(nullptr);
    };
    const auto read_group = [this](json::Reader& in) {
      std::string name;
      json::read_members(in, "podGroupName", name);
      if (!name.empty()) pod_.group = {GroupKind::kPodGroup, std::move(name)};
    };
    const auto binds_late_if = [this](auto is_so) {
      return [this, is_so](json::Reader& in) { pod_.binds_late = is_so(in) || pod_.binds_late; };
    };
    return json::read_member(in_, key, "priority", json::value(pod_.priority, read_priority),
                             "volumes", binds_late_if(read_claims), "resourceClaims",
                             binds_late_if(read_any_element), "schedulingGroup", read_group,
                             "preemptionPolicy", read_policy, "schedulingGates",
                             json::value(pod_.gated, read_any_element), "overhead", read_overhead,
                             "resources", read_resources_of_pod);
  }

  /// @returns false if `key` is none of them
  bool read_manifest_member(std::string_view key) {
    const auto read_ephemeral = [this](json::Reader&) {
      read_containers(ContainerKind::kEphemeral);
    };
    const auto read_selector = [this](json::Reader& in) {
      manifest_->has_node_selector = in.kind() == json::Kind::kObject;
      read_wanted(in, scope_.selector, manifest_->node_selector);
    };
    const auto read_tolerations = [this](json::Reader& in) {
      manifest_->has_tolerations = in.kind() == json::Kind::kArray;
      in.array([this] { read_toleration(); });
    };
    return json::read_member(in_, key, "ephemeralContainers", read_ephemeral, "runtimeClassName",
                             manifest_->runtime_class, "nodeSelector", read_selector, "tolerations",
                             read_tolerations);
  }

  /// The group of its spec goes first.
  void find_group_by_label() {
    for (const auto& [label, kind] : kGroupLabels) {
      const auto found = pod_.labels.find(label);
      if (found == pod_.labels.end()) continue;
      if (kind == GroupKind::kCoscheduling) pod_.binds_late = true;
      if (pod_.group.kind == GroupKind::kNone) pod_.group = {kind, found->second};
    }
  }

  void read_toleration() {
    std::string key;
    std::string comparison;
    std::string effect;
    json::read_members(in_, "key", key, "operator", comparison, "effect", effect);
    if (comparison != "Exists" || (!effect.empty() && effect != "NoSchedule")) return;
    if (manifest_->tolerated.size() < scope_.most_tolerated) {
      manifest_->tolerated.insert(std::move(key));
    } else if (!manifest_->tolerated.contains(key)) {
      ++manifest_->more_tolerated;
    }
  }

  void read_containers(ContainerKind kind) {
    std::size_t index = 0;
    in_.array([&] {
      Container container{.kind = kind, .info = {}, .amount = {}};
      if (manifest_ == nullptr) {
        read_container(container, nullptr);
      } else if (manifest_->containers.size() >= scope_.most_containers) {
        ++manifest_->more_containers;
        return in_.skip();
      } else {
        ContainerManifest& written = manifest_->containers.emplace_back();
        read_container(container, &written);
        written.kind = container.kind;
        written.index = index++;
        written.name = container.info.name;
      }
      if (scheduling_ && kind != ContainerKind::kEphemeral) {
        containers_.push_back(std::move(container));
      }
    });
  }

  void read_container(Container& container, ContainerManifest* written) {
    Resources resources;
    const auto read_resources = [&](json::Reader& in) {
      if (written != nullptr) written->has_resources = in.kind() == json::Kind::kObject;
      resources = read_requirements(written);
    };
    // It means nothing on an app container.
    const auto read_restart_policy = [&](json::Reader& in) {
      const bool always = in.string_or_null() == "Always";
      if (always && container.kind == ContainerKind::kInit) {
        container.kind = ContainerKind::kSidecar;
      }
    };
    in_.object([&](std::string_view key) {
      if (json::read_member(in_, key, "name", container.info.name, "resources", read_resources,
                            "restartPolicy", read_restart_policy)) {
        return;
      }
      const auto read_variables = [&](json::Reader&) { read_env(*written); };
      if (written == nullptr ||
          !json::read_member(in_, key, "env", read_variables, "envFrom",
                             json::value(written->has_env_from, read_any_element))) {
        in_.skip();
      }
    });
    container.amount = requested(resources);
    container.info.slots = requested_slots(resources);
  }

  void read_env(ContainerManifest& written) {
    written.has_env = in_.kind() == json::Kind::kArray;
    std::size_t index = 0;
    in_.array([&] {
      Variable variable = read_variable(in_, index++);
      if (scope_.variable != nullptr && !scope_.variable(variable.name)) return;
      if (written.env.size() < scope_.most_variables) {
        written.env.push_back(std::move(variable));
      } else {
        ++written.more_env;
      }
    });
  }

  /// What scheduling counts, and the texts if `written` is not null.
  Resources read_requirements(ContainerManifest* written) {
    Resources resources;
    const auto read_requests = [&](json::Reader&) {
      resources.requests = read_quantities(written == nullptr ? nullptr : &written->requests);
    };
    const auto read_limits = [&](json::Reader&) {
      resources.limits = read_quantities(written == nullptr ? nullptr : &written->limits);
    };
    json::read_members(in_, "requests", read_requests, "limits", read_limits);
    return resources;
  }

  ResourceMap read_quantities(StringMap* texts) {
    if (scheduling_ || texts == nullptr) return read_resources(in_, texts);
    const std::size_t count = entries_inside(in_);
    if (count > scope_.most_resources - resources_) {
      manifest_->more_resources += count;
      in_.skip();
    } else {
      resources_ += count;
      *texts = read_resource_texts(in_);
    }
    return {};
  }

  void count_requests() {
    const Amount amount = at_worst_moment<Amount>(
        containers_, [](const Container& container) { return container.amount; });
    pod_.footprint = pod_footprint(amount, pod_level_, overhead_);
    pod_.containers.reserve(containers_.size());
    std::int64_t slots = 0;
    std::int64_t of_all = 0;  // one after the other, but there must not be any number of them
    visit_started(containers_, [&](Container& container) {
      container.info.ordinary_init = container.kind == ContainerKind::kInit;
      of_all += container.info.slots;
      if (!container.info.ordinary_init) slots += container.info.slots;
      pod_.containers.push_back(std::move(container.info));
    });
    check_total_slots(in_, of_all);
    if (!in_.failed()) pod_.footprint.slots = static_cast<int>(slots);
  }

  // ---- status

  void read_status() {
    const auto read_phase = [this](json::Reader& in) {
      const std::string_view phase = in.string_or_null();
      pod_.finished = phase == "Succeeded" || phase == "Failed";
      pod_.started = pod_.started || phase == "Running";
    };
    const auto read_containers = [this](json::Reader& in) {
      in.array([this] { read_container_status(); });
    };
    const auto read_conditions = [this](json::Reader& in) {
      in.array([this] { read_condition(); });
    };
    json::read_members(in_, "phase", read_phase, "containerStatuses", read_containers,
                       "initContainerStatuses", read_containers, "nominatedNodeName",
                       pod_.nominated_node, "conditions", read_conditions);
  }

  void read_condition() {
    std::string type;
    std::string status;
    std::string reason;
    std::string message;
    json::read_members(in_, "type", type, "status", status, "reason", reason, "message", message);
    // The API server itself writes SchedulingGated.
    if (type != "PodScheduled" || reason == "SchedulingGated") return;
    pod_.tried = true;
    if (status == "False") pod_.refusal = std::hash<std::string>{}(reason + "\n" + message) | 1U;
  }

  void read_container_status() {
    std::string name;
    bool ran = false;
    std::int64_t restarts = 0;
    const auto read_state = [&](json::Reader&) { ran = read_container_state() || ran; };
    json::read_members(in_, "name", name, "state", read_state, "lastState", read_state,
                       "restartCount", restarts);
    ran = ran || restarts > 0;
    pod_.started = pod_.started || ran;
    if (ran) pod_.ran.push_back(std::move(name));
  }

  /// state, or lastState: what a container does, or did before it restarted.
  /// @returns whether it runs or has run
  bool read_container_state() {
    bool ran = false;
    in_.object([&](std::string_view key) {
      if (in_.kind() == json::Kind::kNull) return in_.skip();
      if (key == "waiting") return read_waiting();
      ran = ran || key == "running" || key == "terminated";
      in_.skip();
    });
    return ran;
  }

  void read_waiting() {
    Waiting waiting;
    json::read_members(in_, "reason", waiting.reason, "message", waiting.message);
    waiting.message = one_line(waiting.message);
    if (!waiting.message.empty()) pod_.waiting.push_back(std::move(waiting));
  }

  // ---- The end.

  void complete_manifest() {
    manifest_->ns = pod_.ns;
    manifest_->name = pod_.name;
    manifest_->uid = pod_.uid;
    if (pod_.name.empty() && !generate_name_.empty()) manifest_->name = generate_name_ + "*";
    if (scheduling_) manifest_->labels = pod_.labels;
    manifest_->node = pod_.node;
    manifest_->scheduler_name = pod_.scheduler;
    // The members of a spec come in any order.
    const auto list = [](const ContainerManifest& container) {
      return container.kind == ContainerKind::kSidecar ? ContainerKind::kInit : container.kind;
    };
    std::stable_sort(manifest_->containers.begin(), manifest_->containers.end(),
                     [&](const auto& a, const auto& b) { return list(a) < list(b); });
  }

  json::Reader& in_;
  const bool scheduling_;
  PodManifest* const manifest_;
  const ManifestScope scope_;
  std::size_t resources_ = 0;  // entries in limits and requests of the manifest
  Pod pod_;
  std::vector<Container> containers_;
  Resources pod_level_;
  ResourceMap overhead_;
  std::string generate_name_;
  bool has_metadata_ = false;
  bool has_spec_ = false;
};

}  // namespace

Pod read_pod(json::Reader& in, PodManifest* manifest) {
  return PodDecoder(in, true, manifest).read();
}

PodManifest read_manifest(json::Reader& in, const ManifestScope& scope) {
  PodManifest manifest;
  PodDecoder decoder(in, false, &manifest, scope);
  std::ignore = decoder.read();
  decoder.require_parts();
  return manifest;
}

}  // namespace tangram::kube
