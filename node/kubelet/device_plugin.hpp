#pragma once

#include "base/result.hpp"
#include "node/kubelet/allocate_response.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tangram::node {

/// Serves kubelet's calls of a device plugin. Called on many threads at once.
class SlotKeeper {
 public:
  virtual ~SlotKeeper() = default;

  /// A container was admitted with these slots. Kubelet's main loop waits for the response without
  /// limit, so this calls no other program and returns within milliseconds.
  /// @returns an error only for an invalid request: the pod fails permanently
  virtual Result<AllocateResponse> allocate(const std::vector<std::string>& slots) = 0;

  /// The container with these slots is about to start, or to start again. Kubelet waits 30 s, and
  /// calls again after an error.
  /// @returns kInvalidArgument  it cannot start
  ///          another           not yet
  virtual Result<void> prepare_start(const std::vector<std::string>& slots) = 0;
};

/// Kubelet's names in its device plugin folder.
struct PluginPaths {
  std::string folder = "/var/lib/kubelet/device-plugins";
  std::string socket_name = "tangram.sock";
  [[nodiscard]] std::string socket() const { return folder + "/" + socket_name; }
  [[nodiscard]] std::string kubelet_socket() const { return folder + "/kubelet.sock"; }
};

/// The gRPC service DevicePlugin/v1beta1 on a socket in kubelet's folder, for one resource.
///
/// All slots are always healthy: a restarting kubelet kills pods with unhealthy or missing slots.
/// The health of cards is published with the Node. Threads: serve() and stop() on one, the rest
/// from any.
class DevicePlugin {
 public:
  explicit DevicePlugin(SlotKeeper& keeper);
  ~DevicePlugin();
  DevicePlugin(const DevicePlugin&) = delete;
  DevicePlugin& operator=(const DevicePlugin&) = delete;

  /// Publishes so many slots to kubelet.
  void set_slots(int count);

  /// Serves on a new socket at this path. Calls on an older socket of this object end by
  /// themselves.
  Result<void> serve(const std::string& socket);
  /// Ends streams and waits for calls under way.
  void stop();

  /// Kubelet has a ListAndWatch stream open.
  [[nodiscard]] bool watched() const;
  /// Waits for that.
  bool wait_until_watched(std::chrono::milliseconds limit);
  /// Called on some thread when kubelet's last stream ends while the service goes on.
  void on_unwatched(std::function<void()> callback);

 private:
  struct Core;
  class Endpoint;
  void retire();

  const std::shared_ptr<Core> core_;
  std::unique_ptr<Endpoint> endpoint_;
  std::vector<std::jthread> retired_;  ///< each ends an old endpoint
};

/// Registers the service with kubelet, which connects to it before it answers.
/// @returns kUnavailable if kubelet is not there or refuses
Result<void> register_plugin(const PluginPaths& paths, const std::string& resource,
                             std::chrono::milliseconds limit);

}  // namespace tangram::node
