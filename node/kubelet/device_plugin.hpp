#pragma once

#include "base/result.hpp"
#include "node/kubelet/allocation.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tangram::node {

/// What kubelet asks a device plugin for. Called on many threads at once.
class SlotKeeper {
 public:
  virtual ~SlotKeeper() = default;

  /// A container was admitted with these slots. Kubelet's main loop waits for the answer without
  /// limit, so this asks nobody and returns within milliseconds.
  /// @returns an error only if it cannot be noted: the pod fails for good
  virtual Result<AllocationAnswer> allocate(const std::vector<std::string>& slots) = 0;

  /// The container that holds these slots is about to start, or to start again. Kubelet waits 30 s,
  /// and asks again after an error.
  /// @returns kInvalidArgument  it can never start as things are
  ///          another           not now
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
/// All slots are healthy, always: what is wrong with a card is said elsewhere, because kubelet
/// Threads: serve() and stop() on one, the rest from any.
/// kills a pod at its own restart if one of the pod's slots is unhealthy or missing. Threads: safe.
class DevicePlugin {
 public:
  explicit DevicePlugin(SlotKeeper& keeper);
  ~DevicePlugin();
  DevicePlugin(const DevicePlugin&) = delete;
  DevicePlugin& operator=(const DevicePlugin&) = delete;

  /// Tells kubelet of so many slots, now and whenever it asks.
  void set_slots(int count);

  /// Makes the socket, in place of one that is there. Answers calls from then on. Calls that came
  /// by an older socket end by themselves.
  Result<void> serve(const std::string& socket);
  /// Ends streams and waits for calls under way.
  void stop();

  /// Kubelet is listening to ListAndWatch now.
  [[nodiscard]] bool watched() const;
  /// Waits until that is so.
  bool wait_until_watched(std::chrono::milliseconds limit);
  /// Called on some thread whenever kubelet stops listening though the service goes on.
  void on_unwatched(std::function<void()> callback);

 private:
  struct Core;
  class Endpoint;
  void retire();

  const std::shared_ptr<Core> core_;
  std::unique_ptr<Endpoint> endpoint_;
  std::vector<std::jthread> retired_;  ///< each ends an old endpoint
};

/// Asks kubelet to use the service: it calls back before it answers.
/// @returns kUnavailable if kubelet is not there or refuses
Result<void> register_plugin(const PluginPaths& paths, const std::string& resource,
                             std::chrono::milliseconds limit);

}  // namespace tangram::node
