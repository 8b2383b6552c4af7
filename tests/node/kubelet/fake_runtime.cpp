#include "tests/node/kubelet/fake_runtime.hpp"

#include "base/json.hpp"
#include "kubelet/runtime.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace tangram::testing {
namespace {

namespace cri = ::runtime::v1;

std::string info_of(const FakeRuntime::Container& container) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("pid", 1).key("runtimeSpec").begin_object();
  out.key("process").begin_object().key("env").begin_array();
  for (const std::string& variable : container.env) out.string(variable);
  out.end_array().end_object().end_object().end_object();
  return text;
}

}  // namespace

struct FakeRuntime::Impl final : cri::RuntimeService::Service {
  grpc::Status ListContainers(grpc::ServerContext* context,
                              const cri::ListContainersRequest* request,
                              cri::ListContainersResponse* response) override {
    wait_while_hung(*context);
    const std::lock_guard lock(mutex);
    ++listed;
    if (request->filter().state().state() != cri::CONTAINER_RUNNING) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "not what Tangram asks"};
    }
    const auto& selector = request->filter().label_selector();
    const auto pod_uid = selector.find("io.kubernetes.pod.uid");
    // Also those that have ended: the client must not rely on the filter of states.
    for (const Container& container : all) {
      if (pod_uid != selector.end() && pod_uid->second != container.pod_uid) continue;
      auto& one = *response->add_containers();
      one.set_id(container.id);
      one.set_state(container.running ? cri::CONTAINER_RUNNING : cri::CONTAINER_EXITED);
      one.set_created_at(container.created_at);
      auto& labels = *one.mutable_labels();
      labels["io.kubernetes.pod.uid"] = container.pod_uid;
      labels["io.kubernetes.pod.namespace"] = "ml";
      labels["io.kubernetes.pod.name"] = container.pod;
      labels["io.kubernetes.container.name"] = container.container;
      labels["padding"] = std::string(container.padding, 'x');
    }
    return grpc::Status::OK;
  }

  grpc::Status Status(grpc::ServerContext* context, const cri::StatusRequest* request,
                      cri::StatusResponse* response) override {
    wait_while_hung(*context);
    const std::lock_guard lock(mutex);
    if (request->verbose() && !config.empty()) (*response->mutable_info())["config"] = config;
    return grpc::Status::OK;
  }

  grpc::Status ContainerStatus(grpc::ServerContext* context,
                               const cri::ContainerStatusRequest* request,
                               cri::ContainerStatusResponse* response) override {
    wait_while_hung(*context);
    const std::lock_guard lock(mutex);
    const Container* const found = find(request->container_id());
    if (found == nullptr) return {grpc::StatusCode::NOT_FOUND, "no such container"};
    if (!request->verbose()) return grpc::Status::OK;
    const auto told = infos.find(found->id);
    (*response->mutable_info())["info"] = told == infos.end() ? info_of(*found) : told->second;
    return grpc::Status::OK;
  }

  grpc::Status StopContainer(grpc::ServerContext* context, const cri::StopContainerRequest* request,
                             cri::StopContainerResponse* /*response*/) override {
    wait_while_hung(*context);
    const std::lock_guard lock(mutex);
    Container* const found = find(request->container_id());
    if (found == nullptr) return {grpc::StatusCode::NOT_FOUND, "no such container"};
    if (request->timeout() != 0) return {grpc::StatusCode::INVALID_ARGUMENT, "would wait"};
    found->running = false;
    stopped.push_back(found->id);
    return grpc::Status::OK;
  }

  void wait_while_hung(const grpc::ServerContext& context) {
    while (!context.IsCancelled()) {
      {
        const std::lock_guard lock(mutex);
        if (!hangs) return;
      }
      std::this_thread::yield();
    }
  }

  Container* find(const std::string& id) {  // under the mutex
    const auto found = std::ranges::find(all, id, &Container::id);
    return found == all.end() ? nullptr : &*found;
  }

  std::string path;
  std::string config;
  std::unique_ptr<grpc::Server> server;
  std::mutex mutex;
  std::vector<Container> all;
  std::map<std::string, std::string> infos;
  std::vector<std::string> stopped;
  bool hangs = false;
  int listed = 0;
};

FakeRuntime::FakeRuntime(std::string socket) : impl_(std::make_unique<Impl>()) {
  impl_->path = std::move(socket);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + impl_->path, grpc::InsecureServerCredentials());
  builder.RegisterService(impl_.get());
  impl_->server = builder.BuildAndStart();
}

FakeRuntime::~FakeRuntime() { impl_->server->Shutdown(std::chrono::system_clock::now()); }

const std::string& FakeRuntime::socket() const { return impl_->path; }

void FakeRuntime::add(Container container) {
  const std::lock_guard lock(impl_->mutex);
  impl_->all.push_back(std::move(container));
}

void FakeRuntime::tell(const std::string& id, std::string info) {
  const std::lock_guard lock(impl_->mutex);
  impl_->infos[id] = std::move(info);
}

void FakeRuntime::tell_config(std::string config) {
  const std::lock_guard lock(impl_->mutex);
  impl_->config = std::move(config);
}

void FakeRuntime::hang() {
  const std::lock_guard lock(impl_->mutex);
  impl_->hangs = true;
}

std::vector<std::string> FakeRuntime::ended() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->stopped;
}

int FakeRuntime::lists() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->listed;
}

}  // namespace tangram::testing
