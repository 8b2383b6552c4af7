#pragma once

#include "base/required.hpp"
#include "base/result.hpp"
#include "base/sleeper.hpp"
#include "kube/api.hpp"
#include "model/card.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace tangram::node {

/// Cards that drivers of dynamic resource allocation (DRA) publish for pods with ResourceClaims.
/// Kubelet's device plugins know nothing of these pods, and capacities do not count them.
struct DriverCards {
  using Drivers = std::map<std::string, std::string, std::less<>>;  ///< by UUID
  Drivers cards;
  Drivers parents;     ///< the physical cards of published MIG instances
  Drivers buses = {};  ///< by PCI address: devices without a UUID, as AMD's driver publishes them

  /// The driver that publishes the card, its physical card, an instance of it, or a device at its
  /// place; "" = none.
  [[nodiscard]] std::string_view driver_of(const model::Card& card) const;
  friend bool operator==(const DriverCards&, const DriverCards&) = default;
};

/// Adds the devices of a ResourceSlice of v1, v1beta2 or v1beta1 that have an attribute with their
/// UUID or their PCI address.
/// @returns kInvalidArgument if it is none; some devices may have been added then
Result<void> add_slice(std::string slice, DriverCards& cards);

/// Lists the ResourceSlices of a node; of all nodes if it is "".
/// @returns kNotFound     the API server has no ResourceSlices: it is older than Kubernetes 1.32
///          kConflict     403
///          kUnavailable  anything else: try again
Result<DriverCards> list_driver_cards(kube::KubeApi& api, std::string_view node);

/// Follows the ResourceSlices of the agent's node. Threads: safe; run() on one.
class OtherDrivers {
 public:
  struct Parts {
    kube::KubeApi& api;
    /// published() has changed. Called on run()'s thread.
    Required<std::function<void()>> changed;
    Sleeper sleeper = sleep_until_stopped;
  };
  OtherDrivers(std::string node, Parts parts);

  /// Lists repeatedly until stopped.
  void run(const std::stop_token& stop);

  /// By the last list that succeeded; nothing = not known yet. None where the API server has no
  /// ResourceSlices, or has refused every list.
  [[nodiscard]] std::optional<DriverCards> published() const;

 private:
  [[nodiscard]] std::chrono::milliseconds look();
  void update(DriverCards now);

  const std::string node_;
  const Parts parts_;
  bool refused_ = false;  ///< a list was, and the log says so; of run()'s thread
  mutable std::mutex mutex_;
  std::optional<DriverCards> published_;  ///< under mutex_
};

}  // namespace tangram::node
