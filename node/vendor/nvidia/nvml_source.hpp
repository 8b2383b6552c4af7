#pragma once

#include "node/vendor/nvidia/mig_layout.hpp"
#include "node/vendor/nvidia/nvml_events.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

namespace tangram::node::nvidia {

/// The cards of a machine with NVIDIA's driver, by NVML. A card in MIG mode is replaced by its
/// instances. Memory is the installed memory less what the driver reserves, rounded down to MiB
/// (drivers before 510 do not report the reserved memory).
///
/// The first call loads the library. While the driver is missing, or after it was replaced (NVML:
/// uninitialised, driver not loaded, version mismatch), calls return kUnavailable, and the next one
/// loads the library again. A card that does not answer (NVML: lost) is left out of the inventory.
///
/// Threads: safe. A faulty card or driver can block a call in the library for long, even forever:
/// call this on threads of its own.
class NvmlSource final : public CardSource {
 public:
  /// @param find_library  the path of the library, asked for each time that it is loaded: a driver
  ///                      that is replaced has another
  /// @param mig           what each inventory keeps up to date
  explicit NvmlSource(std::function<std::string()> find_library,
                      std::shared_ptr<MigLayout> mig = std::make_shared<MigLayout>());
  explicit NvmlSource(std::string library = NvmlLibrary::kName)
      : NvmlSource([library = std::move(library)] { return library; }) {}
  ~NvmlSource() override;

  Result<Inventory> inventory() override;

  /// XIDs and uncorrectable memory errors. Events of a card in MIG mode are faults of the instance
  /// that the driver names, or of all of them.
  Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds limit) override;

  /// The utilisation of MIG instances is unknown. Processes are those with compute contexts,
  /// including MPS clients, and those that use graphics (Vulkan, EGL); none before driver 510. A
  /// process whose memory the driver does not tell has 0 bytes.
  Result<CardActivity> activity(std::string_view card) override;

  /// Needs root. Not for MIG instances.
  Result<void> set_exclusive_process(std::string_view card, bool exclusive) override;

 private:
  using Shared = std::shared_lock<std::shared_mutex>;

  /// A session that lasts at least as long as the lock; opens one if there is none.
  Result<Shared> enter();
  Result<void> open_session();
  void close_session();
  /// After a series of calls: an error if the session has ended.
  Result<void> check(const NvmlAsk& ask);
  Result<nvml::Device> device_of(NvmlAsk& ask, const std::string& card);
  Result<std::vector<Fault>> wait_once(std::chrono::milliseconds limit);
  /// Waits for another set of cards.
  void wait_for_layout(const std::vector<NvmlPhysical>& known, std::chrono::milliseconds limit);

  const std::function<std::string()> find_library_;
  const std::shared_ptr<MigLayout> mig_;
  std::shared_mutex session_mutex_;  ///< shared: inside the library; exclusive: opens and closes it
  std::unique_ptr<NvmlLibrary> library_;
  bool initialized_ = false;
  std::atomic<bool> over_{false};  ///< the session must be replaced

  std::mutex wait_mutex_;               ///< one waiter at a time
  std::unique_ptr<NvmlEvents> events_;  ///< of this session; by the waiter, or with it closed

  std::mutex layout_mutex_;
  std::condition_variable layout_changed_;
  std::vector<NvmlPhysical> layout_;  ///< as last listed
};

}  // namespace tangram::node::nvidia
