#pragma once

#include "base/result.hpp"
#include "model/card.hpp"
#include "node/cards/memory_means.hpp"
#include "node/cards/physical_card.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// The agent of one node: publishes its cards, and gives each container its share of them.
namespace tangram::node {

/// One allocatable device as the vendor's library shows it: a physical card without MIG, or a MIG
/// instance.
struct InstalledCard {
  model::Card card;    ///< healthy unless the source itself says otherwise
  int index = -1;      ///< the driver's number; display only, since reboots may change it
  Mebibytes total;     ///< installed; card.memory is that less `reserved`
  Mebibytes reserved;  ///< the driver's own
  std::string compute_capability;  ///< "8.0"; empty = unknown
  std::string mig_profile;         ///< "1g.10gb"; empty = no MIG instance
  /// From which CardWatcher chooses card.memory_limits.
  MemoryMeans memory_means;
  friend bool operator==(const InstalledCard&, const InstalledCard&) = default;
};

struct Inventory {
  std::string driver;  ///< "550.54.15"; empty = unknown
  std::string cuda;    ///< newest CUDA version that the driver serves, "12.4"; empty = unknown
  std::vector<InstalledCard> cards;
  std::vector<PhysicalCard> physical = {};  ///< empty = the source does not describe them
  friend bool operator==(const Inventory&, const Inventory&) = default;
};

/// The node's cards at a moment. Immutable.
struct CardsNow {
  Inventory inventory;   ///< each card with its health
  bool answers = false;  ///< the source does; if not, the cards are from before
};
using CardsPtr = std::shared_ptr<const CardsNow>;

/// A fault of a card that the vendor's library reported.
struct Fault {
  enum class Kind {
    kDriverError,  ///< numbered by the vendor: `code`
    kEcc,          ///< an uncorrectable memory error
    kLost,         ///< the card does not answer any more
  };
  std::string card;  ///< empty = of all cards: the event named none
  Kind kind = Kind::kDriverError;
  std::uint64_t code = 0;  ///< of kDriverError
  friend bool operator==(const Fault&, const Fault&) = default;
};

/// A process that uses a card. Its number is the host's: the agent runs in the host's PID
/// namespace.
struct CardProcess {
  std::int64_t pid = 0;
  std::uint64_t memory_bytes = 0;
  friend bool operator==(const CardProcess&, const CardProcess&) = default;
};

/// The use of a card at a moment.
struct CardActivity {
  std::uint64_t memory_used_bytes = 0;  ///< without the driver's own
  double utilization = 0;               ///< 0 … 1; below 0 = unknown
  std::vector<CardProcess> processes;
};

/// The cards of this machine: a vendor's library, or a file. Threads: safe.
class CardSource {
 public:
  virtual ~CardSource() = default;

  /// All cards, in the driver's order.
  /// @returns kUnavailable if the library does not answer (no driver, driver restarting),
  ///          kInvalidArgument if what it reads is wrong, with what to write
  virtual Result<Inventory> inventory() = 0;

  /// What happened since the last call; waits up to `limit` for something to happen.
  /// @returns kUnavailable as above
  virtual Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds limit) = 0;

  /// @returns kNotFound if there is no such card, kUnavailable as above
  virtual Result<CardActivity> activity(std::string_view card) = 0;

  /// Lets one process open contexts on a card (a server that shares it), or any.
  /// @returns kInvalidArgument if this card or source has no such setting
  virtual Result<void> set_exclusive_process(std::string_view card, bool exclusive) = 0;
};

}  // namespace tangram::node
