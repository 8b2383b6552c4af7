#pragma once

#include "tests/fake_nvml/abi.hpp"

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fake_nvml {

using SteadyTime = std::chrono::steady_clock::time_point;

struct Process {
  std::uint32_t pid = 0;
  std::uint64_t bytes = 0;
  bool mps = false;       ///< a client of an MPS server: in that list only
  bool graphics = false;  ///< in the list of graphics processes only
};

struct LinkTo {
  std::string peer;  ///< a card's uuid, or "switch"
  int count = 1;
};

/// A physical card or, in `instances` of one, a MIG instance.
struct Device {
  std::string uuid;
  std::string name;
  std::uint64_t total = 0;     ///< bytes
  std::uint64_t reserved = 0;  ///< bytes
  unsigned minor = 0;
  std::string pci;  ///< "0000:17:00.0"
  int numa = -1;
  std::string capability = "8.0";
  std::string pcie_switch;
  std::vector<LinkTo> links;
  std::vector<Process> processes;
  std::optional<unsigned> utilization;  ///< per cent; none = not supported
  std::uint64_t event_types = EVENT_XID | EVENT_DOUBLE_BIT_ECC;
  bool lost = false;
  bool mig = false;
  int set_limits_answer = SUCCESS;
  std::uint64_t cgroup_used = 0;            ///< bytes: what each cgroup has of the card
  std::optional<std::uint64_t> kept_limit;  ///< bytes: stands whatever is set
  std::optional<std::uint64_t> kept_soft_limit;
  std::vector<Device> instances;
  unsigned gi = NO_INSTANCE;
  unsigned ci = NO_INSTANCE;
  std::string profile;
};

/// Something that happens `at` after the file was read.
struct Happening {
  std::chrono::milliseconds at{0};
  std::string card;
  std::uint64_t type = 0;  ///< of an event for waiters; 0 = none
  std::uint64_t data = 0;
  unsigned gi = NO_INSTANCE;
  unsigned ci = NO_INSTANCE;
  std::optional<bool> lost;
  std::optional<std::string> driver;
  bool reported = false;
};

struct Script {
  std::string driver_version = "550.54.15";
  int cuda_version = 12040;
  std::string driver = "up";  ///< "up", "down" or "mismatch"
  std::set<std::string> lacks;
  std::string memory_limits;  ///< the file that they are written to; "" = the driver has none
  bool boundless = false;     ///< every number of things is the largest, and no text ends
  std::vector<Device> cards;
  std::vector<Happening> events;
};

/// Reads a script. @returns nothing, and the reason in `problem`, if it cannot be read
std::optional<Script> read_script(const std::string& path, std::string& problem);

/// What a handle points to: one for each uuid that was ever asked for, until the process ends.
struct Handle {
  std::string uuid;
};

struct EventSet {
  std::map<std::string, std::uint64_t> types_by_card;
};

/// The scripted machine. All members are guarded by `mutex`; calls lock it, then refresh().
class World {
 public:
  static World& the();

  std::mutex mutex;
  Script script;
  std::map<std::string, int> compute_modes;

  /// Reads the file again if it is another one, and lets happen what is due.
  void refresh();
  /// Whether a session stands and the driver serves it; if not, what a call returns.
  Return state(const char* function);
  Return init();
  Return shutdown();

  Handle* handle(const std::string& uuid);
  /// A card or instance by its handle; null if it is not there now.
  Device* find(const void* handle);
  Device* find_uuid(const std::string& uuid);
  /// The card that an instance belongs to; null for cards.
  Device* parent(const Device& instance);
  /// The next event for a waiter that is due and was not reported yet.
  bool take_event(const EventSet& set, EventData& out);

 private:
  World() = default;
  void load(const std::string& path, const struct stat& status);
  void apply(Happening& event);

  struct stat seen_ {};
  SteadyTime loaded_;
  std::map<std::string, std::unique_ptr<Handle>> handles_;
  int sessions_ = 0;
  bool stale_ = false;  ///< the driver went away under the session
};

}  // namespace fake_nvml
