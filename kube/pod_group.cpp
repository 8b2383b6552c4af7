#include "kube/pod_group.hpp"

#include "base/json_members.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

namespace tangram::kube {

namespace {

/// More than any cluster has pods says the same.
int read_count(json::Reader& in) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<int>(std::clamp<std::int64_t>(in.integer(), 0, kMost));
}

/// PodGroupScheduled in Kubernetes 1.36, and PodGroupInitiallyScheduled since.
std::uint64_t read_refusal(json::Reader& in) {
  std::uint64_t refusal = 0;
  in.array([&] {
    std::string type;
    std::string status;
    std::string reason;
    std::string message;
    json::read_members(in, "type", type, "status", status, "reason", reason, "message", message);
    const bool is_of_attempt = type == "PodGroupScheduled" || type == "PodGroupInitiallyScheduled";
    if (is_of_attempt && status == "False") {
      refusal = std::hash<std::string>{}(reason + "\n" + message) | 1U;
    }
  });
  return refusal;
}

}  // namespace

Result<PodGroup> decode_pod_group(std::string text) {
  PodGroup group;
  static const json::Outline kOutline{
      .members = {{"metadata", {{"namespace"}, {"name"}}},
                  {"spec", {{"schedulingPolicy", {{"gang", {{"minCount"}}}}}}},
                  {"status", {{"conditions", {{"type"}, {"status"}, {"reason"}, {"message"}}}}}}};
  json::Reader in(text, kOutline);
  json::read_members(
      in, "metadata", json::members("namespace", group.ns, "name", group.name), "spec",
      json::members("schedulingPolicy",
                    json::members("gang", json::members("minCount",
                                                        json::value(group.min_count, read_count)))),
      "status", json::members("conditions", json::value(group.refusal, read_refusal)));
  if (auto done = in.finish(); !done) return done.error();
  if (group.name.empty()) return fail(Errc::kInvalidArgument, "metadata.name: missing");
  return group;
}

}  // namespace tangram::kube
