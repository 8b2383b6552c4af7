#pragma once

#include "model/grant.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/kube_builders.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

/// Pods as the API server lists them.
namespace tangram::cluster {

inline std::string grant_text(const std::string& uid, const std::string& node,
                              const model::GrantedCard& card) {
  return model::encode(model::Grant{.pod_uid = uid,
                                    .node = node,
                                    .issued_at = "2026-01-01T00:00:00Z",
                                    .isolation = model::Isolation::kMps,
                                    .containers = {{.container = "main", .cards = {card}}},
                                    .signature = {}});
}

/// A running pod on n1 that holds `milli` of card n1-0, by a grant of its own.
inline testing::PodText running(const std::string& uid, std::int64_t milli = 500) {
  testing::PodText pod;
  pod.name = "pod-" + uid;
  pod.uid = uid;
  pod.node = "n1";
  pod.annotations = {
      {"tangram.dev/gpu-fraction", "0.5"},
      {"tangram.dev/gpu-grant", grant_text(uid, "n1", testing::granted("n1-0", 4'096, milli))}};
  return pod;
}

inline std::string pending_pod(const std::string& uid, const std::string& name = "waiting") {
  testing::PodText pod;
  pod.name = name;
  pod.uid = uid;
  pod.annotations = {{"tangram.dev/gpu-fraction", "0.5"}};
  return testing::pod_json(pod);
}

/// A Pod text with a member that cannot be read.
inline std::string unreadable(const testing::PodText& pod) {
  testing::PodText bad = pod;
  bad.requests = {{"memory", "lots"}};
  return testing::pod_json(bad);
}

inline std::string unread_phase(const std::string& uid, const std::string& phase) {
  testing::PodText pod = running(uid);
  pod.phase = phase;
  return unreadable(pod);
}

/// The same with that many bytes of managedFields, which are not kept.
inline std::string padded(const testing::PodText& pod, std::size_t bytes) {
  std::string text = testing::pod_json(pod);
  const std::size_t at = text.find(R"("metadata":{)") + 12;
  return text.insert(at, R"("managedFields":")" + std::string(bytes, 'x') + R"(",)");
}

}  // namespace tangram::cluster
