#include "tests/node/kubelet/fake_kubelet.hpp"

#include "base/base64.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "kubelet/deviceplugin.grpc.pb.h"
#include "kubelet/podresources.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

namespace tangram::testing {
namespace {

namespace fs = std::filesystem;
constexpr const char* kResource = "tangram.dev/gpu-slot";

std::shared_ptr<grpc::Channel> channel(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

struct Held {
  FakeKubelet::Owner owner;
  std::vector<std::string> slots;
  v1beta1::ContainerAllocateResponse answer;
  bool ended = false;
  std::string resource = kResource;
};

}  // namespace

struct FakeKubelet::Impl final : v1beta1::Registration::Service, v1::PodResourcesLister::Service {
  Impl(std::string folder, std::uint64_t seed) : root(std::move(folder)), random(seed) {
    fs::create_directories(root + "/device-plugins");
    fs::create_directories(root + "/pod-resources");
  }

  grpc::Status Register(grpc::ServerContext* /*context*/, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty* /*response*/) override {
    const auto plugin = channel(root + "/device-plugins/" + request->endpoint());
    auto fresh = v1beta1::DevicePlugin::NewStub(plugin);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    context.set_wait_for_ready(true);
    v1beta1::DevicePluginOptions options;
    if (auto status = fresh->GetDevicePluginOptions(&context, {}, &options); !status.ok()) {
      return status;
    }
    if (!options.pre_start_required() || request->resource_name() != kResource ||
        request->version() != "v1beta1") {
      return {grpc::StatusCode::INVALID_ARGUMENT, "not what Tangram registers"};
    }
    end_stream();
    const std::lock_guard lock(mutex);
    stub = std::move(fresh);
    ++registered;
    stream_context = std::make_shared<grpc::ClientContext>();
    stream = std::thread([this, context_of_stream = stream_context, client = stub] {
      const auto reader = client->ListAndWatch(context_of_stream.get(), {});
      v1beta1::ListAndWatchResponse list;
      while (reader->Read(&list)) {
        const std::lock_guard guard(mutex);
        healthy.clear();
        for (const auto& device : list.devices()) {
          if (device.health() == "Healthy") healthy.insert(device.id());
        }
      }
      reader->Finish();
      const std::lock_guard guard(mutex);
      healthy.clear();
    });
    return grpc::Status::OK;
  }

  grpc::Status List(grpc::ServerContext* /*context*/,
                    const v1::ListPodResourcesRequest* /*request*/,
                    v1::ListPodResourcesResponse* response) override {
    const std::lock_guard lock(mutex);
    ++listed;
    if (refusals > 0) {
      --refusals;
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"};
    }
    for (const Held& held : all) {
      if (held.ended || held.owner.init) continue;
      auto& pod = *response->add_pod_resources();
      pod.set_name(held.owner.pod);
      pod.set_namespace_(held.owner.ns);
      auto& container = *pod.add_containers();
      container.set_name(held.owner.container);
      auto& devices = *container.add_devices();
      devices.set_resource_name(held.resource);
      for (const auto& slot : held.slots) devices.add_device_ids(slot);
    }
    return grpc::Status::OK;
  }

  void end_stream() {
    std::thread ending;
    {
      const std::lock_guard lock(mutex);
      if (stream_context) stream_context->TryCancel();
      ending = std::move(stream);
    }
    if (ending.joinable()) ending.join();
  }

  void write_checkpoint() {  // under the mutex
    std::string text;
    json::Writer out(text);
    out.begin_object().key("Data").begin_object().key("PodDeviceEntries").begin_array();
    for (const Held& held : all) {
      out.begin_object()
          .member("PodUID", held.owner.uid)
          .member("ContainerName", held.owner.container)
          .member("ResourceName", held.resource)
          .key("DeviceIDs")
          .begin_object()
          .key("-1")
          .begin_array();
      for (const auto& slot : held.slots) out.string(slot);
      out.end_array().end_object().member("AllocResp",
                                          base64_encode(held.answer.SerializeAsString()));
      out.end_object();
    }
    out.end_array().key("RegisteredDevices").begin_object().end_object().end_object();
    out.member("Checksum", 1).end_object();
    if (auto written = replace_file(root + "/device-plugins/kubelet_internal_checkpoint", text);
        !written) {
      throw std::runtime_error(written.error().message);
    }
  }

  const Held* find(const Owner& owner) {  // under the mutex
    const auto found = std::find_if(all.begin(), all.end(), [&](const Held& held) {
      return held.owner.uid == owner.uid && held.owner.container == owner.container;
    });
    return found == all.end() ? nullptr : &*found;
  }

  const std::string root;
  std::unique_ptr<grpc::Server> registration;
  std::unique_ptr<grpc::Server> pod_resources;
  std::mutex mutex;
  std::mt19937_64 random;
  std::shared_ptr<v1beta1::DevicePlugin::Stub> stub;
  std::shared_ptr<grpc::ClientContext> stream_context;
  std::thread stream;
  std::set<std::string> healthy;
  std::vector<Held> all;
  int registered = 0;
  int refusals = 0;
  std::uint64_t listed = 0;
};

FakeKubelet::FakeKubelet(std::string root, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(std::move(root), seed)) {}
FakeKubelet::~FakeKubelet() { stop(); }

std::string FakeKubelet::plugin_folder() const { return impl_->root + "/device-plugins"; }
std::string FakeKubelet::pod_resources_socket() const {
  return impl_->root + "/pod-resources/kubelet.sock";
}
std::string FakeKubelet::checkpoint() const {
  return plugin_folder() + "/kubelet_internal_checkpoint";
}

void FakeKubelet::start() {
  for (const auto& entry : fs::directory_iterator(plugin_folder())) {
    if (entry.is_socket()) fs::remove(entry.path());
  }
  fs::remove(pod_resources_socket());
  grpc::ServerBuilder lister;
  lister.AddListeningPort("unix:" + pod_resources_socket(), grpc::InsecureServerCredentials());
  lister.RegisterService(static_cast<v1::PodResourcesLister::Service*>(impl_.get()));
  impl_->pod_resources = lister.BuildAndStart();
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + plugin_folder() + "/kubelet.sock",
                           grpc::InsecureServerCredentials());
  builder.RegisterService(static_cast<v1beta1::Registration::Service*>(impl_.get()));
  impl_->registration = builder.BuildAndStart();
}

void FakeKubelet::stop() {
  if (impl_->registration) impl_->registration->Shutdown();
  if (impl_->pod_resources) impl_->pod_resources->Shutdown();
  impl_->end_stream();
  impl_->registration.reset();
  impl_->pod_resources.reset();
  const std::lock_guard lock(impl_->mutex);
  impl_->stub.reset();
}

void FakeKubelet::drop_stream() { impl_->end_stream(); }

void FakeKubelet::refuse_lists(int count) {
  const std::lock_guard lock(impl_->mutex);
  impl_->refusals = count;
}

int FakeKubelet::slots() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<int>(impl_->healthy.size());
}

int FakeKubelet::registrations() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->registered;
}

std::uint64_t FakeKubelet::lists() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->listed;
}

std::string FakeKubelet::admit(const Owner& owner, int count, std::vector<std::string> slots) {
  std::unique_lock lock(impl_->mutex);
  std::erase_if(impl_->all, [](const Held& held) { return held.ended; });
  if (!impl_->stub) return "no plugin is registered";
  if (slots.empty()) {
    std::vector<std::string> free;
    for (const auto& slot : impl_->healthy) {
      const bool taken = std::any_of(impl_->all.begin(), impl_->all.end(), [&](const Held& held) {
        return std::count(held.slots.begin(), held.slots.end(), slot) > 0;
      });
      if (!taken) free.push_back(slot);
    }
    if (free.size() < static_cast<std::size_t>(count)) return "OutOftangram.dev/gpu-slot";
    std::sample(free.begin(), free.end(), std::back_inserter(slots), count, impl_->random);
    std::shuffle(slots.begin(), slots.end(), impl_->random);
  }
  const auto stub = impl_->stub;
  lock.unlock();
  grpc::ClientContext context;
  v1beta1::AllocateRequest request;
  auto& container = *request.add_container_requests();
  for (const auto& slot : slots) container.add_devices_ids(slot);
  v1beta1::AllocateResponse response;
  if (auto status = stub->Allocate(&context, request, &response); !status.ok()) {
    return status.error_message();
  }
  lock.lock();
  impl_->all.push_back({owner, std::move(slots), response.container_responses(0)});
  impl_->write_checkpoint();
  return {};
}

std::string FakeKubelet::start_container(const Owner& owner) {
  std::unique_lock lock(impl_->mutex);
  const Held* const held = impl_->find(owner);
  if (held == nullptr || !impl_->stub) return "no devices found allocated in local cache";
  v1beta1::PreStartContainerRequest request;
  for (const auto& slot : held->slots) request.add_devices_ids(slot);
  const auto stub = impl_->stub;
  lock.unlock();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  v1beta1::PreStartContainerResponse response;
  const auto status = stub->PreStartContainer(&context, request, &response);
  return status.ok() ? std::string{} : status.error_message();
}

std::string FakeKubelet::device_of(const Owner& owner) const {
  const std::lock_guard lock(impl_->mutex);
  const Held* const held = impl_->find(owner);
  if (held == nullptr || held->answer.cdi_devices_size() != 1) return {};
  return held->answer.cdi_devices(0).name();
}

std::vector<std::string> FakeKubelet::slots_of(const Owner& owner) const {
  const std::lock_guard lock(impl_->mutex);
  const Held* const held = impl_->find(owner);
  return held == nullptr ? std::vector<std::string>{} : held->slots;
}

void FakeKubelet::give(const std::string& uid, const std::string& resource,
                       const std::vector<std::string>& devices) {
  const std::lock_guard lock(impl_->mutex);
  impl_->all.push_back(
      {.owner = {.uid = uid, .pod = uid}, .slots = devices, .answer = {}, .resource = resource});
  impl_->write_checkpoint();
}

void FakeKubelet::end(const std::string& uid) {
  const std::lock_guard lock(impl_->mutex);
  for (Held& held : impl_->all) {
    if (held.owner.uid == uid) held.ended = true;
  }
}

}  // namespace tangram::testing
