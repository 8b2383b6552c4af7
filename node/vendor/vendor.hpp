#pragma once

#include "node/cards/card_labels.hpp"
#include "node/cards/card_sharing.hpp"
#include "node/cards/card_source.hpp"
#include "node/cards/health.hpp"
#include "node/container/cdi_spec.hpp"
#include "node/container/memory_limiter.hpp"
#include "node/isolation/enforcer.hpp"
#include "node/isolation/programs.hpp"
#include "node/kubelet/allocate_response.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace tangram::node {

/// What is the same on every node with a vendor's cards.
struct VendorFacts {
  std::string_view source;  ///< what --cards calls the cards that the driver shows: "nvml"
  HealthRules health;       ///< what the errors of its driver mean
  VendorRuntime runtime;
};

/// What every vendor needs of this machine. The initialisers are the defaults.
struct HostPlaces {
  /// The host's root, as this program sees it: by its first process, also from a privileged
  /// container in the host's PID namespace.
  std::string host_root = "/proc/1/root";
  std::string run_dir = "/run/tangram";  ///< ends with the machine; the same path on the host
  /// In the agent's image: what the container runtime starts to limit memory.
  std::string memory_hook = "/usr/bin/tangram-memory-hook";
};

/// All that the agent knows of one vendor's cards. A further vendor is a folder beside `nvidia/`
/// with an implementation, and an entry in vendors.cpp. Threads: add_options() and set_places()
/// first, the rest from any.
class Vendor {
 public:
  explicit Vendor(VendorFacts facts) : facts_(std::move(facts)) {}
  virtual ~Vendor() = default;
  Vendor(const Vendor&) = delete;
  Vendor& operator=(const Vendor&) = delete;

  [[nodiscard]] const VendorFacts& facts() const { return facts_; }

  /// Adds the vendor's own flags. Parsing them sets what the other calls go by.
  virtual void add_options(CLI::App& cli) = 0;

  /// Before the calls below, if the places are not the defaults.
  virtual void set_places(const HostPlaces& /*places*/) {}

  /// Whether this machine has cards of the vendor, with a driver or without: it may be loaded
  /// later.
  [[nodiscard]] virtual bool has_cards() const { return false; }

  /// The cards that the driver shows, with the isolation modes that this machine can enforce, and
  /// the means of memory limits that it can use on each card now (InstalledCard::memory_means).
  [[nodiscard]] virtual std::unique_ptr<CardSource> open_cards() const = 0;

  /// Runs the programs of the vendor's driver, and all others of this machine.
  [[nodiscard]] virtual std::unique_ptr<Programs> programs() const {
    return std::make_unique<SystemPrograms>();
  }

  /// How pods that count cards share them, by the configuration of the vendor's device plugin.
  /// @returns nothing where the agent has no such configuration; an error if it cannot be read
  [[nodiscard]] virtual Result<std::optional<CardSharing>> card_sharing() const {
    return std::optional<CardSharing>();
  }

  /// Labels of the Node by which pods select the vendor's cards.
  /// @returns nothing if the vendor has none; an error as card_sharing()
  [[nodiscard]] virtual Result<std::optional<CardLabels>> card_labels() const {
    return std::optional<CardLabels>();
  }

  /// Enforces a mode on cards that pods share.
  /// @returns null if the vendor does not enforce this mode
  [[nodiscard]] virtual std::unique_ptr<Enforcer> enforcer(model::Isolation mode,
                                                           const EnforcerParts& parts) const = 0;

  /// What limits the memory of containers by a means, at each of their starts.
  /// @param state_dir  the agent's folder on the host, at the same path in its container
  /// @returns null if the means needs nothing there: none, and what enforcer() does;
  ///          kNotFound     the agent's image lacks what it needs
  ///          kUnavailable  it cannot be installed on the host
  [[nodiscard]] virtual Result<std::unique_ptr<MemoryLimiter>> memory_limiter(
      model::MemoryLimits means, const std::string& state_dir) const = 0;

  /// What gives a container these cards: device nodes and the driver's files.
  /// @returns kNotFound with the reason if only the vendor's container runtime could give it them;
  ///          kInvalidArgument if a CDI spec of the vendor's cannot be read;
  ///          kUnavailable     the driver lacks something now
  [[nodiscard]] virtual Result<CdiEdits> cdi_edits(const std::vector<std::string>& cards) const = 0;

 private:
  const VendorFacts facts_;
};

}  // namespace tangram::node
