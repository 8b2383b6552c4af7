#include "cluster/unstarted_pods.hpp"
#include "node/pods/local_pods.hpp"
#include "tests/fuzz/fuzzing.hpp"

namespace {

using namespace tangram;
using fuzz::require;

/// What the extender relies on.
void check(const kube::Pod& pod) {
  require(!pod.uid.empty() && !pod.ns.empty() && !pod.name.empty());
  require(pod.footprint.cpu.count() >= 0 && pod.footprint.memory.count() >= 0);
  require(pod.footprint.slots >= 0);
  for (const model::ContainerInfo& container : pod.containers) require(container.slots >= 0);
  const tangram::cluster::Recorded recorded = tangram::cluster::recorded_allocation(pod, {});
  require(recorded.allocation.pod_uid == pod.uid);
  require(recorded.allocation.containers.empty() || recorded.grant_problem.empty());
  const auto waits = tangram::cluster::unstarted(pod, recorded);
  require(!waits || (!pod.node.empty() && !pod.started && waits->node == pod.node));
}

/// What the agent relies on.
void check(const node::LocalPod& local) {
  require(local.requests.milli.count() >= 0 && local.requests.memory.count() >= 0);
  require(!local.grant || (local.grant->pod_uid == local.pod.uid && local.grant->node == "node-1"));
  require(local.grant_text.empty() == (!local.grant && local.grant_problem.empty()));
}

}  // namespace

/// Any text: is refused, or is a pod that can be counted, by extender and agent alike.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  const auto pod = kube::decode_pod(text);
  if (pod) check(*pod);
  const auto local = node::decode_local_pod(text, {.node = "node-1",
                                                   .device_variable = "NVIDIA_VISIBLE_DEVICES",
                                                   .no_card = "void",
                                                   .check = model::signatures_not_checked()});
  require(pod || !local);
  if (local) check(*local);
  return 0;
}
