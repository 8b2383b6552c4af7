#pragma once

#include "node/pods/local_pod.hpp"
#include "tests/testing/kube_builders.hpp"

#include <string>

/// Pods of node "n1" as the API server shows them.
namespace tangram::node {

inline std::string grant_for(const std::string& uid, const std::string& node = "n1") {
  return encode(model::Grant{.pod_uid = uid,
                             .node = node,
                             .issued_at = "2026-01-01T00:00:00Z",
                             .isolation = model::Isolation::kMps,
                             .containers = {{"main",
                                             {{.uuid = "GPU-1",
                                               .memory = Mebibytes(1),
                                               .compute = MilliGpu(1),
                                               .memory_limit = Mebibytes(1),
                                               .compute_limit = MilliGpu(1)}}}},
                             .signature = {}});
}

inline testing::PodText pod(const std::string& name, const std::string& phase = "Running") {
  return {.name = name,
          .uid = "uid-" + name,
          .node = "n1",
          .phase = phase,
          .annotations = {{"tangram.dev/gpu-grant", grant_for("uid-" + name)}},
          .requests = {{"tangram.dev/gpu-milli", "500"}, {"tangram.dev/gpu-mem-mib", "1Ki"}}};
}

inline PodRules rules() {
  return {.node = "n1",
          .device_variable = "NVIDIA_VISIBLE_DEVICES",
          .no_card = "void",
          .check = model::signatures_not_checked()};
}

/// A pod with so many ordinary init containers that have a slot.
inline std::string init_slots_json(const std::string& name, int count) {
  std::string containers;
  for (int i = 0; i < count; ++i) {
    containers += std::string(i == 0 ? "" : ",") + R"({"name":"init-)" + std::to_string(i) +
                  R"(","resources":{"limits":{"tangram.dev/gpu-slot":"1"}}})";
  }
  std::string text = testing::pod_json(pod(name));
  const std::string begin = R"("spec":{)";
  return text.insert(text.find(begin) + begin.size(), R"("initContainers":[)" + containers + "],");
}

/// A pod with a text of that size as its grant, which grants nothing.
inline std::string long_text_json(const std::string& name, std::size_t size) {
  testing::PodText text = pod(name);
  text.annotations["tangram.dev/gpu-grant"] = std::string(size, 'x');
  return testing::pod_json(text);
}

/// A pod with a valid grant that also has a member of that size, as a newer program may write one.
inline std::string long_grant_json(const std::string& name, std::size_t size) {
  testing::PodText text = pod(name);
  std::string& grant = text.annotations["tangram.dev/gpu-grant"];
  grant.insert(1, R"("later":")" + std::string(size, 'x') + R"(",)");
  return testing::pod_json(text);
}

/// A pod that has nothing of a card.
inline std::string plain_json(const std::string& name) {
  testing::PodText text = pod(name);
  text.annotations.clear();
  text.requests.clear();
  return testing::pod_json(text);
}

inline constexpr const char* kHash = "0123456789abcdef0123456789abcdef";
inline constexpr const char* kByNode =
    R"("ownerReferences":[{"kind":"Node","name":"n1","controller":true}],)";

/// A pod that says that it mirrors the static pod with this UID.
inline std::string mirror_json(const std::string& uid, const std::string& metadata) {
  testing::PodText mirror = pod("mirror");
  mirror.annotations = {{"kubernetes.io/config.mirror", uid}};
  std::string text = testing::pod_json(mirror);
  const std::string begin = R"("metadata":{)";
  return text.insert(text.find(begin) + begin.size(), metadata);
}

}  // namespace tangram::node
