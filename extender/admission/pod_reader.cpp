#include "extender/admission/pod_reader.hpp"

#include "extender/admission/visible_devices.hpp"

#include <iterator>
#include <utility>

namespace tangram::extender {

namespace {

using Kind = AdmittedContainer::Kind;
using Containers = std::vector<AdmittedContainer>;

Texts read_texts(json::Reader& in) {
  Texts texts;
  in.object([&](std::string_view key) { texts.emplace(key, in.string_or_null()); });
  return texts;
}

Texts read_quantities(json::Reader& in) {
  Texts quantities;
  in.object([&](std::string_view key) { quantities.emplace(key, in.scalar_text()); });
  return quantities;
}

void read_resources(json::Reader& in, AdmittedContainer& container) {
  container.has_resources = in.kind() == json::Kind::kObject;
  in.object([&](std::string_view key) {
    if (key == "limits") {
      container.limits = read_quantities(in);
    } else if (key == "requests") {
      container.requests = read_quantities(in);
    } else {
      in.skip();
    }
  });
}

void read_variable(json::Reader& in, std::size_t index, AdmittedContainer& container) {
  std::string_view name;
  std::optional<std::string> value = "";
  in.object([&](std::string_view key) {
    if (key == "name") {
      name = in.string_or_null();
    } else if (key == "value") {
      const std::string_view text = in.string_or_null();
      if (value) value = text;
    } else if (key == "valueFrom") {
      if (in.kind() != json::Kind::kNull) value.reset();
      in.skip();
    } else {
      in.skip();
    }
  });
  container.has_env = true;
  if (name == kVisibleDevices) {
    container.visible_devices.push_back({.index = index, .value = std::move(value)});
  }
}

AdmittedContainer read_container(json::Reader& in, Kind kind) {
  AdmittedContainer container;
  container.kind = kind;
  in.object([&](std::string_view key) {
    if (key == "name") {
      container.name = in.string_or_null();
    } else if (key == "resources") {
      read_resources(in, container);
    } else if (key == "env") {
      std::size_t index = 0;
      in.array([&] { read_variable(in, index++, container); });
    } else if (key == "envFrom") {
      in.array([&] {
        container.has_env_from = true;
        in.skip();
      });
    } else if (key == "restartPolicy") {
      const bool always = in.string_or_null() == "Always";
      if (kind == Kind::kInit && always) container.kind = Kind::kSidecar;
    } else {
      in.skip();
    }
  });
  return container;
}

Containers read_containers(json::Reader& in, Kind kind) {
  Containers containers;
  in.array([&] {
    AdmittedContainer container = read_container(in, kind);
    container.index = containers.size();
    containers.push_back(std::move(container));
  });
  return containers;
}

void append(Containers& all, Containers more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void read_spec(json::Reader& in, AdmittedPod& pod) {
  Containers inits;
  Containers ephemerals;
  in.object([&](std::string_view key) {
    if (key == "containers") {
      pod.containers = read_containers(in, Kind::kApp);
    } else if (key == "initContainers") {
      inits = read_containers(in, Kind::kInit);
    } else if (key == "ephemeralContainers") {
      ephemerals = read_containers(in, Kind::kEphemeral);
    } else if (key == "schedulerName") {
      pod.scheduler_name = in.string_or_null();
    } else if (key == "nodeName") {
      pod.node = in.string_or_null();
    } else if (key == "runtimeClassName") {
      pod.runtime_class = in.string_or_null();
    } else if (key == "nodeSelector") {
      pod.node_selector = read_texts(in);
    } else {
      in.skip();
    }
  });
  append(pod.containers, std::move(inits));
  append(pod.containers, std::move(ephemerals));
}

void read_metadata(json::Reader& in, AdmittedPod& pod) {
  std::string_view generate_name;
  in.object([&](std::string_view key) {
    if (key == "name") {
      pod.name = in.string_or_null();
    } else if (key == "generateName") {
      generate_name = in.string_or_null();
    } else if (key == "annotations") {
      pod.annotations = read_texts(in);
    } else if (key == "labels") {
      pod.labels = read_texts(in);
    } else {
      in.skip();
    }
  });
  if (pod.name.empty() && !generate_name.empty()) pod.name = std::string(generate_name) + "*";
}

}  // namespace

AdmittedPod read_admitted_pod(json::Reader& in) {
  AdmittedPod pod;
  bool metadata = false;
  bool spec = false;
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      metadata = in.kind() == json::Kind::kObject;
      read_metadata(in, pod);
    } else if (key == "spec") {
      spec = in.kind() == json::Kind::kObject;
      read_spec(in, pod);
    } else {
      in.skip();
    }
  });
  if (!metadata || !spec) in.fail(metadata ? "spec: missing" : "metadata: missing");
  return pod;
}

Texts read_object_annotations(json::Reader& in) {
  Texts annotations;
  in.object([&](std::string_view key) {
    if (key != "metadata") return in.skip();
    in.object([&](std::string_view member) {
      if (member != "annotations") return in.skip();
      annotations = read_texts(in);
    });
  });
  return annotations;
}

}  // namespace tangram::extender
