#include "base/rapidjson.hpp"
#include "bench/bench_app.hpp"
#include "bench/measure/latency.hpp"
#include "bench/measure/measure.hpp"
#include "http/router.hpp"
#include "http/types.hpp"

#include <cstring>

namespace tangram::bench {

namespace {

/// {"Pod":...,"Nodes":{"items":[...]}} with every node of the cluster, as nodeCacheCapable: false
/// has it.
std::string full_nodes_body(const SyntheticApi& api, const PendingPod& pod, int node_bytes) {
  std::string text = R"({"Pod":)" + pod.json + R"(,"Nodes":{"metadata":{},"items":[)";
  for (int i = 0; i < api.size().nodes; ++i) {
    std::string node = api.node(i);
    const auto wanted = static_cast<std::size_t>(node_bytes);
    if (node.size() < wanted) node.insert(1, managed_fields(wanted - node.size()) + ",");
    if (i > 0) text += ',';
    text += node;
  }
  return text + "]},\"NodeNames\":null}";
}

}  // namespace

Result<Report> measure(const FullNodesRun& run) {
  std::string baseline_reply;
  const auto add_baseline = [&](http::Router& router) {
    router.add(
        "POST", "/null/filter", [&](const http::Request& request, http::Responder responder) {
          std::string copy(request.body.size(), '\0');
          std::memcpy(copy.data(), request.body.data(), copy.size());
          rapidjson::InsituStringStream stream(copy.data());
          rapidjson::BaseReaderHandler<> discard;
          const bool good =
              !rapidjson::Reader().Parse<rapidjson::kParseInsituFlag>(stream, discard).IsError();
          responder.send(http::json_response(good ? baseline_reply : ""));
        });
  };
  auto bench = BenchApp::start({.size = run.size,
                                .policy = std::string(policies::kDefaultPolicy),
                                .more_routes = add_baseline});
  if (!bench) return bench.error();
  const PendingPod pod = pending_pod(0, 1, false);
  (*bench)->arrive(pod);
  const std::string body = full_nodes_body((*bench)->api(), pod, run.node_bytes);
  VerbTimes times{"full nodes"};
  ExtenderClient& client = (*bench)->client();
  for (int i = 0; i < run.rounds; ++i) {
    auto reply = times.real.time([&] { return client.post("/filter", body); });
    if (!reply) return reply.error();
    baseline_reply = *reply;
    auto same = times.null.time([&] { return client.post("/null/filter", body); });
    if (!same) return same.error();
    if (*same != *reply) return fail(Errc::kConflict, "the baseline could not scan the request");
  }
  return Report{.text = latency_table({times}), .json = latency_json({times})};
}

}  // namespace tangram::bench
