#include "node/kubelet/pod_resources.hpp"

#include "kubelet/podresources.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace tangram::node {
namespace {

constexpr std::chrono::milliseconds kBetweenTries{50};  // five tokens of kubelet's 100 a second

}  // namespace

PodList pod_list_of(const v1::ListPodResourcesResponse& response, const std::string& resource) {
  PodList list;
  for (const auto& pod : response.pod_resources()) {
    for (const auto& container : pod.containers()) {
      ListedContainer listed{pod.namespace_(), pod.name(), container.name(), {}};
      for (const auto& devices : container.devices()) {
        if (devices.resource_name() != resource) continue;
        // One entry for each NUMA node.
        listed.slots.insert(listed.slots.end(), devices.device_ids().begin(),
                            devices.device_ids().end());
      }
      if (listed.slots.empty()) continue;
      std::sort(listed.slots.begin(), listed.slots.end());
      list.push_back(std::move(listed));
    }
  }
  return list;
}

struct PodResources::Stub {
  std::unique_ptr<v1::PodResourcesLister::Stub> rpc;
};

PodResources::PodResources(const std::string& socket, std::string resource,
                           std::chrono::milliseconds limit)
    : resource_(std::move(resource)), limit_(limit), stub_(std::make_unique<Stub>()) {
  grpc::ChannelArguments arguments;
  // Go's server refuses the socket's path as a name.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  // A restarted kubelet answers within a second or two; the default waits up to 120 s.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetMaxReceiveMessageSize(64 << 20);  // 110 pods of a node, with room for their devices
  stub_->rpc = v1::PodResourcesLister::NewStub(
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
}

PodResources::~PodResources() = default;

Result<PodList> PodResources::list() {
  std::unique_lock lock(mutex_);
  // The call under way may have been answered before this one: waits for a later one.
  const std::uint64_t wanted = started_ + 1;
  while (finished_ < wanted) {
    if (listing_) {
      done_.wait(lock);
      continue;
    }
    listing_ = true;
    const std::uint64_t mine = ++started_;
    lock.unlock();
    auto answer = std::make_shared<const Result<PodList>>(list_once());
    lock.lock();
    listing_ = false;
    finished_ = mine;
    answer_ = std::move(answer);
    done_.notify_all();
  }
  const auto answer = answer_;
  lock.unlock();
  return *answer;
}

Result<PodList> PodResources::list_once() {
  const auto deadline = std::chrono::system_clock::now() + limit_;
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(deadline);
    context.set_wait_for_ready(true);  // kubelet may be restarting
    v1::ListPodResourcesResponse response;
    const grpc::Status status = stub_->rpc->List(&context, {}, &response);
    if (status.ok()) return pod_list_of(response, resource_);
    const bool refused = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
    if (!refused || std::chrono::system_clock::now() + kBetweenTries >= deadline) {
      return fail(Errc::kUnavailable, "kubelet does not list its pods: " + status.error_message());
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

}  // namespace tangram::node
