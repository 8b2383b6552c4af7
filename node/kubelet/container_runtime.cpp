#include "node/kubelet/container_runtime.hpp"

#include "base/json_members.hpp"
#include "kubelet/runtime.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace tangram::node {
namespace {

namespace cri = ::runtime::v1;

// Kubelet's label on each container.
constexpr const char* kPodUid = "io.kubernetes.pod.uid";

// Of one answer. A pod is at most 1.5 MiB in etcd. In the text of a container its arguments and its
// hooks stand several times, with each '<' as six bytes: one pod makes 16 MiB of them, and none
// 64 MiB without variables from many ConfigMaps. Three copies of it leave more than half of the
// agent's 512 MiB. CRI-O sends up to 80 MiB; containerd up to 16 MiB, unless its
// max_send_message_size is larger.
constexpr int kMostBytes = 64 << 20;

/// Both runtimes' name for the JSON text of a container.
constexpr const char* kInfo = "info";

Error unavailable(const grpc::Status& status) {
  const Errc code =
      status.error_code() == grpc::StatusCode::NOT_FOUND ? Errc::kNotFound : Errc::kUnavailable;
  return fail(code, "the container runtime does not answer: " + status.error_message());
}

/// Both sides' gRPC reports a message above its limit so.
Error untold(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) return unavailable(status);
  return fail(Errc::kConflict,
              "the container runtime's record is too large: " + status.error_message());
}

RuntimeContainer container_of(const cri::Container& listed) {
  const auto label = [&](const char* name) {
    const auto found = listed.labels().find(name);
    return found == listed.labels().end() ? std::string() : found->second;
  };
  return {.id = listed.id(),
          .pod_uid = label(kPodUid),
          .ns = label("io.kubernetes.pod.namespace"),
          .pod = label("io.kubernetes.pod.name"),
          .container = label("io.kubernetes.container.name"),
          .created_at = listed.created_at()};
}

cri::ListContainersRequest running_containers() {
  cri::ListContainersRequest request;
  request.mutable_filter()->mutable_state()->set_state(cri::CONTAINER_RUNNING);
  return request;
}

}  // namespace

struct CriRuntime::Stub {
  [[nodiscard]] Result<std::vector<RuntimeContainer>> list(
      const cri::ListContainersRequest& request, std::chrono::milliseconds limit) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    cri::ListContainersResponse response;
    if (const auto status = rpc->ListContainers(&context, request, &response); !status.ok()) {
      return untold(status);
    }
    std::vector<RuntimeContainer> running;
    for (const auto& listed : response.containers()) {
      if (listed.state() == cri::CONTAINER_RUNNING) running.push_back(container_of(listed));
    }
    return running;
  }
  std::unique_ptr<cri::RuntimeService::Stub> rpc;
};

CriRuntime::CriRuntime(const std::string& socket, std::chrono::milliseconds limit)
    : limit_(limit), stub_(std::make_unique<Stub>()) {
  grpc::ChannelArguments arguments;
  // Go's server refuses the socket's path as a name.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  // A restarted runtime answers within seconds; the default waits up to 120 s.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetMaxReceiveMessageSize(kMostBytes);
  stub_->rpc = cri::RuntimeService::NewStub(
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
}

CriRuntime::~CriRuntime() = default;

Result<std::vector<RuntimeContainer>> CriRuntime::list() {
  return stub_->list(running_containers(), limit_);
}

Result<std::vector<RuntimeContainer>> CriRuntime::list_of(const std::string& pod_uid) {
  auto request = running_containers();
  (*request.mutable_filter()->mutable_label_selector())[kPodUid] = pod_uid;
  return stub_->list(request, limit_);
}

Result<std::vector<std::string>> CriRuntime::environment(const std::string& id) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + limit_);
  cri::ContainerStatusRequest request;
  request.set_container_id(id);
  request.set_verbose(true);
  cri::ContainerStatusResponse response;
  if (const auto status = stub_->rpc->ContainerStatus(&context, request, &response); !status.ok()) {
    return untold(status);
  }
  auto& told = *response.mutable_info();
  const auto info = told.find(kInfo);
  if (info == told.end()) {
    return fail(Errc::kUnavailable, "the container runtime does not tell how " + id + " was made");
  }
  return environment_in(std::move(info->second));
}

Result<void> CriRuntime::end(const std::string& id) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + limit_);
  cri::StopContainerRequest request;
  request.set_container_id(id);
  request.set_timeout(0);  // seconds until SIGKILL
  cri::StopContainerResponse response;
  const auto status = stub_->rpc->StopContainer(&context, request, &response);
  if (status.ok() || status.error_code() == grpc::StatusCode::NOT_FOUND) return {};
  return unavailable(status);
}

Result<RuntimeConfig> CriRuntime::config() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + limit_);
  cri::StatusRequest request;
  request.set_verbose(true);
  cri::StatusResponse response;
  if (const auto status = stub_->rpc->Status(&context, request, &response); !status.ok()) {
    return unavailable(status);
  }
  auto& told = *response.mutable_info();
  const auto config = told.find("config");
  // CRI-O's is no JSON.
  if (config == told.end() || !config->second.starts_with('{')) return RuntimeConfig{};
  return runtime_config_in(std::move(config->second));
}

Result<RuntimeConfig> runtime_config_in(std::string text) {
  RuntimeConfig config;
  std::string default_name;
  std::map<std::string, std::string, std::less<>> programs;
  json::Reader in(text);
  const auto runtimes = [&](json::Reader&) {
    in.object([&](std::string_view name) {
      std::string& program = programs[std::string(name)];
      json::read_members(in, "options", json::members("BinaryName", program));
    });
  };
  json::read_members(in, "containerd",
                     json::members("defaultRuntimeName", default_name, "runtimes", runtimes),
                     "enableCDI", config.cdi);
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument,
                "the runtime's text of its configuration: " + done.error().message);
  }
  if (const auto found = programs.find(default_name); found != programs.end()) {
    // containerd's own default.
    config.default_program = found->second.empty() ? "runc" : found->second;
  }
  return config;
}

Result<std::vector<std::string>> environment_in(std::string info) {
  std::optional<std::vector<std::string>> environment;
  json::Reader in(info);
  const auto process = [&](json::Reader&) { json::read_members(in, "env", environment); };
  const auto spec = [&](json::Reader&) { json::read_members(in, "process", process); };
  json::read_members(in, "runtimeSpec", spec);
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument,
                "the runtime's text of a container: " + done.error().message);
  }
  if (!environment) {
    return fail(Errc::kInvalidArgument, "the runtime's text of a container has no environment");
  }
  return std::move(*environment);
}

}  // namespace tangram::node
