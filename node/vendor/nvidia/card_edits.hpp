#pragma once

#include "base/result.hpp"
#include "node/container/cdi_spec.hpp"
#include "node/vendor/nvidia/driver/installed.hpp"
#include "node/vendor/nvidia/mig_layout.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tangram::node::nvidia {

/// Where this node has the driver's files.
struct DriverPlaces {
  /// The host's root, as this program sees it: by its first process, also from a privileged
  /// container in the host's PID namespace.
  std::string host_root = "/proc/1/root";
  std::vector<std::string> driver_roots = usual_driver_roots();
};

/// What gives a container its cards: NVIDIA's own CDI spec, where one names them by their UUIDs,
/// else edits made of the driver's files (edits_from_driver()). Reads all files anew at each call,
/// because specs and driver change under a running agent; where MIG instances are, it takes from
/// the last inventory. Threads: safe.
class CardEdits {
 public:
  /// @param mig  kept up to date by the node's NvmlSource
  CardEdits(std::vector<std::string> cdi_dirs, DriverPlaces places,
            std::shared_ptr<const MigLayout> mig = std::make_shared<MigLayout>())
      : cdi_dirs_(std::move(cdi_dirs)),
        places_(std::move(places)),
        host_(places_.host_root),
        mig_(std::move(mig)) {}

  /// @returns kNotFound with the reason if there is neither: the driver's files are not found, or
  ///          the driver shows no such card
  ///          kInvalidArgument if a spec of NVIDIA's kind cannot be read
  ///          kUnavailable     a device node or a MIG instance is missing, with what to do
  [[nodiscard]] Result<CdiEdits> of(const std::vector<std::string>& cards) const;

  /// Of each card by itself; a card without edits has empty lists.
  /// @returns kInvalidArgument as above
  [[nodiscard]] Result<std::map<std::string, CdiEdits>> of_each(
      const std::vector<std::string>& cards) const;

  /// Of the driver that the kernel runs, as this program opens it; empty = not found.
  [[nodiscard]] std::string nvml_path() const;

 private:
  [[nodiscard]] Result<InstalledDriver> driver() const {
    return find_driver(host_, places_.driver_roots);
  }
  [[nodiscard]] Result<CardPlace> place_of(const std::string& card) const;
  [[nodiscard]] Result<CdiEdits> from_driver(const Result<InstalledDriver>& driver,
                                             const std::vector<std::string>& cards) const;

  const std::vector<std::string> cdi_dirs_;
  const DriverPlaces places_;
  const Root host_;
  const std::shared_ptr<const MigLayout> mig_;
};

}  // namespace tangram::node::nvidia
