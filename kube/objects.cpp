#include "kube/objects.hpp"

#include "kube/resources.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace tangram::kube {

namespace {

using model::ContainerInfo;

void skip_null_or(json::Reader& in, auto&& read) {
  if (in.kind() == json::Kind::kNull) return in.skip();
  read();
}

struct Container {
  ContainerInfo info;
  Amount amount;
  bool always_restarts = false;  ///< of an init container: a sidecar
};

Container read_container(json::Reader& in) {
  Container container;
  Resources resources;
  in.object([&](std::string_view key) {
    if (key == "name") {
      container.info.name = in.string();
    } else if (key == "resources") {
      resources = read_requirements(in);
    } else if (key == "restartPolicy") {
      container.always_restarts = in.string_or_null() == "Always";
    } else {
      in.skip();
    }
  });
  container.amount = requested(resources);
  container.info.slots = resources.limits.slots.value_or(resources.requests.slots.value_or(0));
  return container;
}

std::vector<Container> read_containers(json::Reader& in) {
  std::vector<Container> containers;
  in.array([&] { containers.push_back(read_container(in)); });
  return containers;
}

struct PodSpec {
  std::vector<Container> apps;
  std::vector<Container> inits;
  ResourceMap overhead;
  Resources pod_level;
};

Amount container_amount(const PodSpec& spec) {
  WorstMoment<Amount> worst;
  for (const Container& init : spec.inits) worst.add_init(init.amount, init.always_restarts);
  for (const Container& app : spec.apps) worst.add_app(app.amount);
  return worst.need();
}

/// Kubernetes' rule for what a pod requests of its node (resource.PodRequests in
/// k8s.io/component-helpers): the containers' worst moment, or what the pod as a whole says,
/// plus the runtime's overhead. Rounds up once, at the end.
model::Footprint pod_footprint(const PodSpec& spec) {
  const Amount amount =
      with_pod_level(container_amount(spec), spec.pod_level) + amount_of(spec.overhead);
  constexpr std::int64_t kMebibyte = 1 << 20;
  return {.cpu = MilliCpu(amount.milli_cpu),
          .memory = Mebibytes((amount.bytes + kMebibyte - 1) / kMebibyte)};
}

void append_infos(std::vector<ContainerInfo>& out, std::vector<Container>& from, bool sidecars,
                  bool ordinary_init) {
  for (Container& container : from) {
    if (container.always_restarts != sidecars) continue;
    container.info.ordinary_init = ordinary_init;
    out.push_back(std::move(container.info));
  }
}

/// App containers, then sidecars, then ordinary init containers.
std::vector<ContainerInfo> container_infos(PodSpec& spec) {
  std::vector<ContainerInfo> infos;
  infos.reserve(spec.apps.size() + spec.inits.size());
  for (Container& app : spec.apps) infos.push_back(std::move(app.info));
  append_infos(infos, spec.inits, true, false);
  append_infos(infos, spec.inits, false, true);
  return infos;
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

bool read_any_element(json::Reader& in) {
  bool any = false;
  in.array([&] {
    any = true;
    in.skip();
  });
  return any;
}

/// The members of a spec that say how many and how much. @returns false if `key` is none of them
bool read_spec_resources(json::Reader& in, std::string_view key, PodSpec& spec) {
  if (key == "containers") {
    spec.apps = read_containers(in);
  } else if (key == "initContainers") {
    spec.inits = read_containers(in);
  } else if (key == "overhead") {
    spec.overhead = read_resources(in);
  } else if (key == "resources") {
    spec.pod_level = read_requirements(in);
  } else {
    return false;
  }
  return true;
}

void read_spec(json::Reader& in, Pod& pod) {
  PodSpec spec;
  in.object([&](std::string_view key) {
    if (key == "nodeName") {
      pod.node = in.string_or_null();
    } else if (key == "priority") {
      skip_null_or(in, [&] { pod.priority = read_priority(in); });
    } else if (key == "preemptionPolicy") {
      pod.never_preempts = in.string_or_null() == "Never";
    } else if (key == "schedulingGates") {
      pod.gated = read_any_element(in);
    } else if (!read_spec_resources(in, key, spec)) {
      in.skip();
    }
  });
  // restartPolicy means nothing on an app container unless it is an init container.
  for (Container& app : spec.apps) app.always_restarts = false;
  pod.footprint = pod_footprint(spec);
  pod.containers = container_infos(spec);
  std::int64_t slots = 0;
  for (const ContainerInfo& container : pod.containers) {
    if (!container.ordinary_init) slots += container.slots;
  }
  check_total_slots(in, slots);
  if (!in.failed()) pod.footprint.slots = static_cast<int>(slots);
}

model::Annotations read_annotations(json::Reader& in) {
  model::Annotations annotations;
  in.object([&](std::string_view key) {
    if (!key.starts_with(model::kPrefix)) return in.skip();
    annotations.emplace(key.substr(model::kPrefix.size()), in.string_or_null());
  });
  return annotations;
}

/// Keeps the one of the owners that controls the pod; there is one at most.
void read_owner(json::Reader& in, Pod& pod) {
  Controller owner;
  bool controls = false;
  in.object([&](std::string_view key) {
    if (key == "kind") {
      owner.kind = in.string_or_null();
    } else if (key == "name") {
      owner.name = in.string_or_null();
    } else if (key == "controller") {
      skip_null_or(in, [&] { controls = in.boolean(); });
    } else {
      in.skip();
    }
  });
  if (controls) pod.controller = std::move(owner);
}

void read_pod_metadata(json::Reader& in, Pod& pod) {
  in.object([&](std::string_view key) {
    if (key == "uid") {
      pod.uid = in.string_or_null();
    } else if (key == "namespace") {
      pod.ns = in.string_or_null();
    } else if (key == "name") {
      pod.name = in.string_or_null();
    } else if (key == "resourceVersion") {
      pod.resource_version = in.string_or_null();
    } else if (key == "annotations") {
      pod.annotations = read_annotations(in);
    } else if (key == "labels") {
      in.object([&](std::string_view label) { pod.labels.emplace(label, in.string_or_null()); });
    } else if (key == "deletionTimestamp") {
      pod.deleting = !in.string_or_null().empty();
    } else if (key == "ownerReferences") {
      in.array([&] { read_owner(in, pod); });
    } else {
      in.skip();
    }
  });
}

void read_waiting(json::Reader& in, Pod& pod) {
  in.object([&](std::string_view key) {
    if (key != "message") return in.skip();
    std::string message(in.string_or_null());
    if (!message.empty()) pod.waiting.push_back(std::move(message));
  });
}

/// state, or lastState: what a container does, or did before it restarted.
/// @returns whether it runs or has run
bool read_container_state(json::Reader& in, Pod& pod) {
  bool ran = false;
  in.object([&](std::string_view key) {
    if (in.kind() == json::Kind::kNull) return in.skip();
    if (key == "waiting") return read_waiting(in, pod);
    ran = ran || key == "running" || key == "terminated";
    in.skip();
  });
  return ran;
}

void read_container_status(json::Reader& in, Pod& pod) {
  std::string name;
  bool ran = false;
  in.object([&](std::string_view key) {
    if (key == "name") {
      name = in.string_or_null();
    } else if (key == "state" || key == "lastState") {
      ran = read_container_state(in, pod) || ran;
    } else if (key == "restartCount") {
      ran = in.integer() > 0 || ran;
    } else {
      in.skip();
    }
  });
  pod.started = pod.started || ran;
  if (ran) pod.ran.push_back(std::move(name));
}

void read_pod_status(json::Reader& in, Pod& pod) {
  in.object([&](std::string_view key) {
    if (key == "phase") {
      const std::string_view phase = in.string_or_null();
      pod.finished = phase == "Succeeded" || phase == "Failed";
      pod.started = pod.started || phase == "Running";
    } else if (key == "containerStatuses" || key == "initContainerStatuses") {
      in.array([&] { read_container_status(in, pod); });
    } else if (key == "nominatedNodeName") {
      pod.nominated_node = in.string_or_null();
    } else {
      in.skip();
    }
  });
}

void read_node_metadata(json::Reader& in, Node& node) {
  in.object([&](std::string_view key) {
    if (key == "name") {
      node.name = in.string_or_null();
    } else if (key == "resourceVersion") {
      node.resource_version = in.string_or_null();
    } else if (key == "annotations") {
      node.annotations = read_annotations(in);
    } else {
      in.skip();
    }
  });
}

void read_node_status(json::Reader& in, Node& node) {
  ResourceMap allocatable;
  ResourceMap capacity;
  in.object([&](std::string_view key) {
    if (key == "allocatable") {
      allocatable = read_resources(in);
    } else if (key == "capacity") {
      capacity = read_resources(in);
    } else {
      in.skip();
    }
  });
  const auto& cpu = allocatable.cpu ? allocatable.cpu : capacity.cpu;
  const auto& memory = allocatable.memory ? allocatable.memory : capacity.memory;
  constexpr Mebibytes kMostMemory(Amount::kMostBytes >> 20U);
  if (cpu) node.cpu = MilliCpu(std::min(cpu->milli_floor(), Amount::kMostMilliCpu));
  if (memory) node.memory = std::min(memory->mebibytes_floor(), kMostMemory);
  node.slots =
      static_cast<int>(allocatable.slots ? *allocatable.slots : capacity.slots.value_or(0));
}

/// An object from the API server always has these; without them it is something else.
Result<void> require(std::string_view member, const std::string& value) {
  if (!value.empty()) return {};
  return fail(Errc::kInvalidArgument, std::string(member) + ": missing");
}

}  // namespace

Pod read_pod(json::Reader& in) {
  Pod pod;
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      read_pod_metadata(in, pod);
    } else if (key == "spec") {
      read_spec(in, pod);
    } else if (key == "status") {
      read_pod_status(in, pod);
    } else {
      in.skip();
    }
  });
  return pod;
}

Node read_node(json::Reader& in) {
  Node node;
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      read_node_metadata(in, node);
    } else if (key == "status") {
      read_node_status(in, node);
    } else {
      in.skip();
    }
  });
  return node;
}

std::string_view read_object_name(json::Reader& in) {
  std::string_view name;
  in.object([&](std::string_view key) {
    if (key != "metadata") return in.skip();
    in.object([&](std::string_view member) {
      if (member != "name") return in.skip();
      name = in.string();
    });
  });
  return name;
}

Result<Pod> decode_pod(std::string text) {
  json::Reader in(text);
  Pod pod = read_pod(in);
  if (auto done = in.finish(); !done) return done.error();
  for (const auto& [member, value] :
       {std::pair("metadata.uid", &pod.uid), std::pair("metadata.namespace", &pod.ns),
        std::pair("metadata.name", &pod.name)}) {
    if (auto there = require(member, *value); !there) return there.error();
  }
  return pod;
}

Result<Node> decode_node(std::string text) {
  json::Reader in(text);
  Node node = read_node(in);
  if (auto done = in.finish(); !done) return done.error();
  if (auto there = require("metadata.name", node.name); !there) return there.error();
  return node;
}

}  // namespace tangram::kube
