#pragma once

#include <string>

namespace tangram::testing {

/// A PodGroup in namespace ml of which so many members must run.
/// @param failed  what kube-scheduler says of its last attempt, if that has failed; "" = nothing
inline std::string pod_group_json(const std::string& name, int min_count,
                                  const std::string& failed = "") {
  const std::string condition =
      failed.empty()
          ? ""
          : R"({"type":"PodGroupScheduled","status":"False","message":")" + failed + R"("})";
  return R"({"metadata":{"namespace":"ml","name":")" + name +
         R"("},"spec":{"schedulingPolicy":{"gang":{"minCount":)" + std::to_string(min_count) +
         R"(}}},"status":{"conditions":[)" + condition + "]}}";
}

}  // namespace tangram::testing
