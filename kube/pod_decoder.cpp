#include "kube/objects.hpp"
#include "kube/pod_manifest.hpp"
#include "kube/resources.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace tangram::kube {

namespace {

void skip_null_or(json::Reader& in, auto&& read) {
  if (in.kind() == json::Kind::kNull) return in.skip();
  read();
}

bool read_any_element(json::Reader& in) {
  bool any = false;
  in.array([&] {
    any = true;
    in.skip();
  });
  return any;
}

Variable read_variable(json::Reader& in) {
  Variable variable{.name = {}, .value = ""};
  in.object([&](std::string_view key) {
    if (key == "name") {
      variable.name = in.string_or_null();
    } else if (key == "value") {
      const std::string_view text = in.string_or_null();
      if (variable.value) variable.value = text;
    } else if (key == "valueFrom") {
      if (in.kind() != json::Kind::kNull) variable.value.reset();
      in.skip();
    } else {
      in.skip();
    }
  });
  return variable;
}

int read_priority(json::Reader& in) {
  const std::int64_t priority = in.integer();
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
  PodDecoder(json::Reader& in, bool scheduling, PodManifest* manifest)
      : in_(in), scheduling_(scheduling), manifest_(manifest) {}

  Pod read() {
    in_.object([&](std::string_view key) {
      if (key == "metadata") {
        has_metadata_ = in_.kind() == json::Kind::kObject;
        read_metadata();
      } else if (key == "spec") {
        has_spec_ = in_.kind() == json::Kind::kObject;
        read_spec();
      } else if (key == "status" && scheduling_) {
        read_status();
      } else {
        in_.skip();
      }
    });
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
    in_.object([&](std::string_view key) {
      if (key == "uid") {
        pod_.uid = in_.string_or_null();
      } else if (key == "namespace") {
        pod_.ns = in_.string_or_null();
      } else if (key == "name") {
        pod_.name = in_.string_or_null();
      } else if (key == "resourceVersion") {
        pod_.resource_version = in_.string_or_null();
      } else if (key == "annotations") {
        read_annotations();
      } else if (key == "labels") {
        pod_.labels = read_string_map(in_);
      } else if (key == "deletionTimestamp") {
        pod_.deleting = !in_.string_or_null().empty();
      } else if (key == "ownerReferences") {
        in_.array([&] { read_owner(); });
      } else if (manifest_ != nullptr && key == "generateName") {
        generate_name_ = in_.string_or_null();
      } else {
        in_.skip();
      }
    });
  }

  void read_annotations() {
    if (manifest_ == nullptr) {
      pod_.annotations = read_own_annotations(in_);
      return;
    }
    manifest_->annotations = read_string_map(in_);
    pod_.annotations = own_annotations(manifest_->annotations);
  }

  /// Keeps the one of the owners that controls the pod; there is one at most.
  void read_owner() {
    Controller owner;
    bool controls = false;
    in_.object([&](std::string_view key) {
      if (key == "kind") {
        owner.kind = in_.string_or_null();
      } else if (key == "name") {
        owner.name = in_.string_or_null();
      } else if (key == "controller") {
        skip_null_or(in_, [&] { controls = in_.boolean(); });
      } else {
        in_.skip();
      }
    });
    if (controls) pod_.controller = std::move(owner);
  }

  // ---- spec

  void read_spec() {
    in_.object([&](std::string_view key) {
      if (key == "nodeName") {
        pod_.node = in_.string_or_null();
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
    if (key == "priority") {
      skip_null_or(in_, [&] { pod_.priority = read_priority(in_); });
    } else if (key == "preemptionPolicy") {
      pod_.never_preempts = in_.string_or_null() == "Never";
    } else if (key == "schedulingGates") {
      pod_.gated = read_any_element(in_);
    } else if (key == "overhead") {
      overhead_ = read_resources(in_);
    } else if (key == "resources") {
      pod_level_ = read_requirements(nullptr);
    } else {
      return false;
    }
    return true;
  }

  /// @returns false if `key` is none of them
  bool read_manifest_member(std::string_view key) {
    if (key == "ephemeralContainers") {
      read_containers(ContainerKind::kEphemeral);
    } else if (key == "schedulerName") {
      manifest_->scheduler_name = in_.string_or_null();
    } else if (key == "runtimeClassName") {
      manifest_->runtime_class = in_.string_or_null();
    } else if (key == "nodeSelector") {
      manifest_->node_selector = read_string_map(in_);
    } else {
      return false;
    }
    return true;
  }

  void read_containers(ContainerKind kind) {
    std::size_t index = 0;
    in_.array([&] {
      Container container{.kind = kind, .info = {}, .amount = {}};
      if (manifest_ == nullptr) {
        read_container(container, nullptr);
      } else {
        ContainerManifest& written = manifest_->containers.emplace_back();
        read_container(container, &written);
        written.kind = container.kind;
        written.index = index++;
        written.name = container.info.name;
      }
      if (kind != ContainerKind::kEphemeral) containers_.push_back(std::move(container));
    });
  }

  void read_container(Container& container, ContainerManifest* written) {
    Resources resources;
    in_.object([&](std::string_view key) {
      if (key == "name") {
        container.info.name = in_.string_or_null();
      } else if (key == "resources") {
        if (written != nullptr) written->has_resources = in_.kind() == json::Kind::kObject;
        resources = read_requirements(written);
      } else if (key == "restartPolicy") {
        // It means nothing on an app container.
        const bool always = in_.string_or_null() == "Always";
        if (always && container.kind == ContainerKind::kInit) {
          container.kind = ContainerKind::kSidecar;
        }
      } else if (written != nullptr && key == "env") {
        in_.array([&] { written->env.push_back(read_variable(in_)); });
      } else if (written != nullptr && key == "envFrom") {
        written->has_env_from = read_any_element(in_);
      } else {
        in_.skip();
      }
    });
    container.amount = requested(resources);
    container.info.slots = requested_slots(resources);
  }

  /// What scheduling counts, and the texts if `written` is not null.
  Resources read_requirements(ContainerManifest* written) {
    Resources resources;
    in_.object([&](std::string_view key) {
      if (key == "requests") {
        resources.requests = read_quantities(written == nullptr ? nullptr : &written->requests);
      } else if (key == "limits") {
        resources.limits = read_quantities(written == nullptr ? nullptr : &written->limits);
      } else {
        in_.skip();
      }
    });
    return resources;
  }

  ResourceMap read_quantities(StringMap* texts) {
    if (scheduling_) return read_resources(in_, texts);
    *texts = read_resource_texts(in_);
    return {};
  }

  void count_requests() {
    const Amount amount = at_worst_moment<Amount>(
        containers_, [](const Container& container) { return container.amount; });
    pod_.footprint = pod_footprint(amount, pod_level_, overhead_);
    pod_.containers.reserve(containers_.size());
    std::int64_t slots = 0;
    visit_started(containers_, [&](Container& container) {
      container.info.ordinary_init = container.kind == ContainerKind::kInit;
      if (!container.info.ordinary_init) slots += container.info.slots;
      pod_.containers.push_back(std::move(container.info));
    });
    check_total_slots(in_, slots);
    if (!in_.failed()) pod_.footprint.slots = static_cast<int>(slots);
  }

  // ---- status

  void read_status() {
    in_.object([&](std::string_view key) {
      if (key == "phase") {
        const std::string_view phase = in_.string_or_null();
        pod_.finished = phase == "Succeeded" || phase == "Failed";
        pod_.started = pod_.started || phase == "Running";
      } else if (key == "containerStatuses" || key == "initContainerStatuses") {
        in_.array([&] { read_container_status(); });
      } else if (key == "nominatedNodeName") {
        pod_.nominated_node = in_.string_or_null();
      } else {
        in_.skip();
      }
    });
  }

  void read_container_status() {
    std::string name;
    bool ran = false;
    in_.object([&](std::string_view key) {
      if (key == "name") {
        name = in_.string_or_null();
      } else if (key == "state" || key == "lastState") {
        ran = read_container_state() || ran;
      } else if (key == "restartCount") {
        ran = in_.integer() > 0 || ran;
      } else {
        in_.skip();
      }
    });
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
    in_.object([&](std::string_view key) {
      if (key != "message") return in_.skip();
      std::string message(in_.string_or_null());
      if (!message.empty()) pod_.waiting.push_back(std::move(message));
    });
  }

  // ---- The end.

  void complete_manifest() {
    manifest_->ns = pod_.ns;
    manifest_->name = pod_.name;
    if (pod_.name.empty() && !generate_name_.empty()) manifest_->name = generate_name_ + "*";
    manifest_->labels = pod_.labels;
    manifest_->node = pod_.node;
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

PodManifest read_manifest(json::Reader& in) {
  PodManifest manifest;
  PodDecoder decoder(in, false, &manifest);
  std::ignore = decoder.read();
  decoder.require_parts();
  return manifest;
}

Result<Pod> decode_pod(std::string text, PodManifest* manifest) {
  json::Reader in(text);
  Pod pod = read_pod(in, manifest);
  if (auto done = in.finish(); !done) return done.error();
  for (const auto& [member, value] :
       {std::pair("metadata.uid", &pod.uid), std::pair("metadata.namespace", &pod.ns),
        std::pair("metadata.name", &pod.name)}) {
    if (value->empty()) return fail(Errc::kInvalidArgument, std::string(member) + ": missing");
  }
  return pod;
}

}  // namespace tangram::kube
