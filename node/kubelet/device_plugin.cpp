#include "node/kubelet/device_plugin.hpp"

#include "kubelet/deviceplugin.grpc.pb.h"
#include "model/request.hpp"

#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <utility>

namespace tangram::node {
namespace {

std::vector<std::string> ids(const google::protobuf::RepeatedPtrField<std::string>& field) {
  return {field.begin(), field.end()};
}

grpc::Status status_of(const Error& error) {
  const bool permanent = error.code == Errc::kInvalidArgument;
  const std::string_view mark = permanent ? model::kCannotStart : model::kNotYet;
  return {permanent ? grpc::StatusCode::FAILED_PRECONDITION : grpc::StatusCode::UNAVAILABLE,
          std::string(mark) + ": " + error.message};
}

}  // namespace

/// Shared by all endpoints.
struct DevicePlugin::Core {
  explicit Core(SlotKeeper& slot_keeper) : keeper(slot_keeper) {}

  SlotKeeper& keeper;
  mutable std::mutex mutex;
  std::condition_variable changed;
  // Under the mutex.
  int slots = 0;
  std::uint64_t version = 1;  ///< of slots
  int watchers = 0;
  std::function<void()> unwatched;
};

/// The service on one socket.
class DevicePlugin::Endpoint final : public v1beta1::DevicePlugin::Service {
 public:
  explicit Endpoint(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  ~Endpoint() override { stop(); }

  /// When a server ends, gRPC removes the path that it was bound to, even if the path is another
  /// server's by then. So each server binds a path of its own, which is then renamed.
  Result<void> serve(const std::string& socket) {
    static std::atomic<unsigned> count = 0;
    const std::string own = socket + "." + std::to_string(count++);
    unlink(own.c_str());
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + own, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (!server_) return fail(Errc::kUnavailable, "cannot listen on " + own);
    // Any client can allocate slots: only root, as kubelet is.
    if (chmod(own.c_str(), S_IRUSR | S_IWUSR) != 0 || rename(own.c_str(), socket.c_str()) != 0) {
      return fail(Errc::kUnavailable, "cannot move a socket to " + socket);
    }
    return {};
  }

  /// Waits for calls under way, which may wait for a daemon's start or a driver.
  void stop() {
    {
      const std::lock_guard lock(core_->mutex);
      stopping_ = true;
      core_->changed.notify_all();
    }
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
    server_.reset();
  }

 private:
  grpc::Status GetDevicePluginOptions(grpc::ServerContext* /*context*/,
                                      const v1beta1::Empty* /*request*/,
                                      v1beta1::DevicePluginOptions* options) override {
    options->set_pre_start_required(true);
    return grpc::Status::OK;
  }

  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty* /*request*/,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) override {
    // This interface has no call-back for a client that disconnects.
    constexpr std::chrono::milliseconds kCheckCancelled{200};
    std::unique_lock lock(core_->mutex);
    ++core_->watchers;
    core_->changed.notify_all();
    std::uint64_t sent = 0;
    bool alive = true;
    while (alive && !stopping_ && !context->IsCancelled()) {
      if (sent == core_->version) {
        core_->changed.wait_for(lock, kCheckCancelled);
        continue;
      }
      sent = core_->version;
      const int count = core_->slots;
      lock.unlock();
      alive = stream->Write(list(count));
      spdlog::info("published {} slots to kubelet", count);
      lock.lock();
    }
    --core_->watchers;
    const auto callback = stopping_ ? nullptr : core_->unwatched;
    lock.unlock();
    if (callback) callback();
    return grpc::Status::OK;
  }

  grpc::Status Allocate(grpc::ServerContext* /*context*/, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    for (const auto& container : request->container_requests()) {
      auto allocated = core_->keeper.allocate(ids(container.devices_ids()));
      if (!allocated) {
        spdlog::error("allocate: {}", allocated.error().message);
        return status_of(allocated.error());
      }
      auto& out = *response->add_container_responses();
      for (auto& [name, value] : allocated->env) (*out.mutable_envs())[name] = value;
      for (auto& [name, value] : allocated->annotations) (*out.mutable_annotations())[name] = value;
      for (auto& device : allocated->cdi_devices) out.add_cdi_devices()->set_name(device);
    }
    return grpc::Status::OK;
  }

  grpc::Status PreStartContainer(grpc::ServerContext* /*context*/,
                                 const v1beta1::PreStartContainerRequest* request,
                                 v1beta1::PreStartContainerResponse* /*response*/) override {
    const auto prepared = core_->keeper.prepare_start(ids(request->devices_ids()));
    return prepared ? grpc::Status::OK : status_of(prepared.error());
  }

  static v1beta1::ListAndWatchResponse list(int count) {
    v1beta1::ListAndWatchResponse response;
    for (int number = 0; number < count; ++number) {
      auto& device = *response.add_devices();
      device.set_id(slot_id(number));
      device.set_health("Healthy");
    }
    return response;
  }

  const std::shared_ptr<Core> core_;
  std::unique_ptr<grpc::Server> server_;  ///< of the serving thread, then of the stopping one
  bool stopping_ = false;                 ///< under the core's mutex
};

DevicePlugin::DevicePlugin(SlotKeeper& keeper) : core_(std::make_shared<Core>(keeper)) {}
DevicePlugin::~DevicePlugin() { stop(); }

void DevicePlugin::set_slots(int count) {
  const std::lock_guard lock(core_->mutex);
  if (count == core_->slots) return;
  core_->slots = count;
  ++core_->version;
  core_->changed.notify_all();
}

Result<void> DevicePlugin::serve(const std::string& socket) {
  retire();
  auto fresh = std::make_unique<Endpoint>(core_);
  if (auto served = fresh->serve(socket); !served) return served.error();
  endpoint_ = std::move(fresh);
  return {};
}

/// Calls under way on the old socket must not keep kubelet waiting for the new one.
void DevicePlugin::retire() {
  if (!endpoint_) return;
  retired_.emplace_back([old = std::shared_ptr<Endpoint>(std::move(endpoint_))] { old->stop(); });
}

void DevicePlugin::stop() {
  retire();
  retired_.clear();  // joins
}

bool DevicePlugin::watched() const {
  const std::lock_guard lock(core_->mutex);
  return core_->watchers > 0;
}

bool DevicePlugin::wait_until_watched(std::chrono::milliseconds limit) {
  std::unique_lock lock(core_->mutex);
  return core_->changed.wait_for(lock, limit, [this] { return core_->watchers > 0; });
}

void DevicePlugin::on_unwatched(std::function<void()> callback) {
  const std::lock_guard lock(core_->mutex);
  core_->unwatched = std::move(callback);
}

Result<void> register_plugin(const PluginPaths& paths, const std::string& resource,
                             std::chrono::milliseconds limit) {
  grpc::ChannelArguments arguments;
  // Go's server refuses the socket's path as a name.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  // Connections to a kubelet that has ended must not be shared with this one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1beta1::Registration::NewStub(grpc::CreateCustomChannel(
      "unix:" + paths.kubelet_socket(), grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + limit);
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(paths.socket_name);
  request.set_resource_name(resource);
  // Only older kubelets use these: newer ones call GetDevicePluginOptions.
  request.mutable_options()->set_pre_start_required(true);
  v1beta1::Empty response;
  const grpc::Status status = stub->Register(&context, request, &response);
  if (!status.ok()) {
    return fail(Errc::kUnavailable,
                "kubelet does not register " + resource + ": " + status.error_message());
  }
  return {};
}

}  // namespace tangram::node
