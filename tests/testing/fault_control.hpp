#pragma once

#include "kube/api.hpp"
#include "tests/testing/api_server.hpp"
#include "tests/testing/fault_api.hpp"

namespace tangram::testing {

/// Steers a FaultApi and its server at run time. It stands behind an ApiServer of its own, so that
/// it can be reached while the other one is paused, and nothing of it is ever forwarded.
///
///     GET  /_faults                   the plan, and how often every rule has been met
///     PUT  /_faults                   another plan (parse_faults); counting begins anew
///     POST /_faults/release           lets blocked calls continue
///     POST /_faults/cut-watches       cuts the open watches
///     POST /_faults/drop-connections  cuts every connection
///     POST /_faults/pause             cuts every connection and refuses new ones
///     POST /_faults/resume            takes them again
///
/// Threads: safe.
class FaultControl final : public kube::KubeApi {
 public:
  /// Both must outlive it.
  FaultControl(FaultApi& faults, ApiServer& server) : faults_(faults), server_(server) {}

  Result<kube::Response> call(const kube::Request& request) override;
  /// There is nothing to watch.
  Result<kube::Response> watch(const kube::Request& request, const kube::WatchFrame& frame,
                               std::stop_token stop) override;

 private:
  kube::Response plan();
  kube::Response replace_plan(const std::string& text);
  kube::Response act(const std::string& path);

  FaultApi& faults_;
  ApiServer& server_;
};

}  // namespace tangram::testing
