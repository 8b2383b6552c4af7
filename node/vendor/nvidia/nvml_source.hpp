#pragma once

#include "node/vendor/nvidia/nvml_events.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

namespace tangram::node {

/// The cards of a machine with NVIDIA's driver, as NVML shows them. The instances of a card in MIG
/// mode stand in its place. Memory is what is installed less what the driver reserves, rounded down
/// to MiB (drivers before 510 do not say what they reserve: all that is installed then).
///
/// Nothing is asked before the first call: where the driver is missing, comes later, or is replaced
/// under a running agent (NVML: uninitialised, driver not loaded, version mismatch), calls return
/// kUnavailable and the next one starts anew, with the library that is installed then. A card that
/// does not answer (NVML: lost) is left out of the inventory; it does not hide the others.
///
/// Threads: safe. A sick card or driver can keep a call inside the library for long, even for ever;
/// calls are made on the caller's thread, so give this work threads of its own.
class NvmlSource final : public CardSource {
 public:
  explicit NvmlSource(std::string library = NvmlLibrary::kName);
  ~NvmlSource() override;

  Result<Inventory> inventory() override;

  /// XIDs and uncorrectable memory errors. Events come from physical cards: those in MIG mode
  /// pass theirs on to the instance that the driver names, or to all of them.
  Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds limit) override;

  /// Of a MIG instance the utilisation is unknown: the driver has none. Processes are those with
  /// compute contexts, MPS clients included; none before driver 510.
  Result<CardActivity> activity(std::string_view card) override;

  /// Needs root. Not for MIG instances.
  Result<void> set_exclusive_process(std::string_view card, bool exclusive) override;

 private:
  using Shared = std::shared_lock<std::shared_mutex>;

  /// A session that lasts at least as long as the lock; opens one if there is none.
  Result<Shared> enter();
  Result<void> open_session();
  void close_session();
  /// After the asking: notes a session that is over.
  Result<void> check(const NvmlAsk& ask);
  Result<nvml::Device> device_of(NvmlAsk& ask, const std::string& card);
  Result<std::vector<Fault>> wait_once(std::chrono::milliseconds limit);
  /// Nothing to wait for but another set of cards.
  void wait_for_layout(const std::vector<NvmlPhysical>& known, std::chrono::milliseconds limit);

  const std::string path_;
  std::shared_mutex session_mutex_;  ///< shared: inside the library; exclusive: opens and closes it
  std::unique_ptr<NvmlLibrary> library_;
  bool initialized_ = false;
  std::atomic<bool> over_{false};  ///< the session is of no more use

  std::mutex wait_mutex_;               ///< one waiter at a time
  std::unique_ptr<NvmlEvents> events_;  ///< of this session; by the waiter, or with it closed

  std::mutex layout_mutex_;
  std::condition_variable layout_changed_;
  std::vector<NvmlPhysical> layout_;  ///< as last listed
};

}  // namespace tangram::node
