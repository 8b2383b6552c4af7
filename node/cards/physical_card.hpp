#pragma once

#include "base/units.hpp"

#include <string>
#include <vector>

namespace tangram::node {

/// A partition of a physical card, by the driver's numbers.
struct CardInstance {
  /// What it has beside its profile.
  struct Size {
    Mebibytes memory = {};
    int multiprocessors = 0;
    int gpu_slices = 0;
    int compute_slices = 0;
    int copy_engines = 0;
    int decoders = 0;
    int encoders = 0;
    int jpeg_engines = 0;
    int ofa_engines = 0;  ///< of optical flow
    friend bool operator==(const Size&, const Size&) = default;
  };
  std::string profile = {};  ///< "1g.10gb"
  Size size = {};
  friend bool operator==(const CardInstance&, const CardInstance&) = default;
};

/// A physical card as the driver describes it, whether pods share it or its instances: for labels
/// of the Node.
struct PhysicalCard {
  std::string product = {};             ///< its full name: "NVIDIA A100-SXM4-80GB"
  std::string pci_bus = {};             ///< "0000:17:00.0"; empty = unknown
  Mebibytes memory = {};                ///< installed
  std::string compute_capability = {};  ///< "8.0"; empty = unknown
  bool mig_capable = false;
  bool mig_enabled = false;
  std::vector<CardInstance> instances = {};
  friend bool operator==(const PhysicalCard&, const PhysicalCard&) = default;
};

}  // namespace tangram::node
