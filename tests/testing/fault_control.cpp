#include "tests/testing/fault_control.hpp"

#include "base/json.hpp"

#include <array>
#include <string>
#include <string_view>

namespace tangram::testing {

namespace {

using Action = Result<void> (*)(FaultApi&, ApiServer&);

constexpr std::array<std::pair<std::string_view, Action>, 5> kActions{{
    {"/_faults/release",
     [](FaultApi& faults, ApiServer&) -> Result<void> {
       faults.release_held();
       return {};
     }},
    {"/_faults/cut-watches",
     [](FaultApi&, ApiServer& server) -> Result<void> {
       server.cut_watches();
       return {};
     }},
    {"/_faults/drop-connections",
     [](FaultApi&, ApiServer& server) -> Result<void> {
       server.drop_connections();
       return {};
     }},
    {"/_faults/pause",
     [](FaultApi&, ApiServer& server) -> Result<void> {
       server.pause();
       return {};
     }},
    {"/_faults/resume", [](FaultApi&, ApiServer& server) { return server.resume(); }},
}};

kube::Response refused(int status, std::string_view why) {
  std::string text;
  json::Writer(text).begin_object().member("message", why).end_object();
  return {.status = status, .body = std::move(text), .retry_after = {}};
}

}  // namespace

Result<kube::Response> FaultControl::call(const kube::Request& request) {
  const bool of_plan = request.path == "/_faults";
  if (of_plan && request.method == kube::Method::kGet) return plan();
  if (of_plan && request.method == kube::Method::kPut) return replace_plan(request.body);
  if (request.method == kube::Method::kPost) return act(request.path);
  return refused(404, "write GET or PUT /_faults, or POST /_faults/ACTION");
}

Result<kube::Response> FaultControl::watch(const kube::Request& request,
                                           const kube::WatchFrame& /*frame*/,
                                           std::stop_token /*stop*/) {
  return call(request);
}

kube::Response FaultControl::plan() {
  return {.status = 200, .body = faults_.plan().to_json(), .retry_after = {}};
}

kube::Response FaultControl::replace_plan(const std::string& text) {
  auto script = parse_faults(text);
  if (!script) return refused(400, script.error().message);
  faults_.plan().set(std::move(*script));
  return plan();
}

kube::Response FaultControl::act(const std::string& path) {
  std::string known;
  for (const auto& [name, action] : kActions) {
    if (path == name) {
      const auto done = action(faults_, server_);
      return done ? plan() : refused(503, done.error().message);
    }
    known.append(known.empty() ? "" : ", ").append(name);
  }
  return refused(404, "write one of " + known);
}

}  // namespace tangram::testing
