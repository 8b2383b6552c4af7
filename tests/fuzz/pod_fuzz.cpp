#include "cluster/unstarted_pods.hpp"
#include "kube/object_scan.hpp"
#include "kube/pod_manifest.hpp"
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
  require(local.grant_text.empty() == !local.grant);
}

bool is_json(std::string text) {
  json::Reader in(text);
  in.skip();
  return in.finish().has_value();
}

/// What is passed over does not count: the pod is the same where all of it is read.
void require_same_as_whole(std::string text, const kube::Pod& pod) {
  kube::PodManifest manifest;
  const auto with_manifest = kube::decode_pod(text, &manifest);
  json::Reader in(text);
  kube::PodManifest whole_manifest;
  const kube::Pod whole = kube::read_pod(in, &whole_manifest);
  if (!in.finish()) return;  // wrong in what is passed over
  require(whole == pod && with_manifest && *with_manifest == pod && manifest == whole_manifest);
}

/// A pod that can be read is the same by a scan.
void require_same_by_scan(const std::string& text, const kube::Pod& pod) {
  if (text.find('\\') != std::string::npos) return;  // a scan takes names as they are written
  const auto scanned = kube::scan_pod(text);
  require(scanned && scanned->uid == pod.uid && scanned->full_name() == pod.full_name());
  require(scanned->node == pod.node && scanned->priority == pod.priority);
  require(scanned->deleting == pod.deleting && scanned->finished == pod.finished);
  require(scanned->annotations == pod.annotations && scanned->labels == pod.labels);
}

}  // namespace

/// Any text: is refused, or is a pod that can be counted, by extender and agent alike.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  const auto pod = kube::decode_pod(text);
  if (pod) check(*pod);
  static_cast<void>(kube::scan_pod(text));
  // Of another text it depends on what is passed over where that ends.
  const bool valid = is_json(text);
  if (pod && valid) {
    require_same_as_whole(text, *pod);
    require_same_by_scan(text, *pod);
  }
  const auto local = node::decode_local_pod(text, {.node = "node-1",
                                                   .device_variable = "NVIDIA_VISIBLE_DEVICES",
                                                   .no_card = "void",
                                                   .check = model::signatures_not_checked()});
  require(pod || !local || !valid);
  if (local) check(*local);
  return 0;
}
