#pragma once

#include "node/cards/card_labels.hpp"
#include "node/vendor/nvidia/sharing/sharing_file.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

/// The labels of NVIDIA's GPU feature discovery. Source: internal/lm and
/// docs/gpu-feature-discovery/README.md of github.com/NVIDIA/k8s-device-plugin v0.20.0.
/// docs/gpu-operator.md lists those that are left out.
namespace tangram::node::nvidia {

/// What the kernel says of the machine.
struct Machine {
  std::string type;                              ///< by its firmware: "DGX-1"; empty = unknown
  std::map<std::string, std::uint32_t> classes;  ///< PCI classes of cards, by bus
};

/// @param sharing  of the node: its MIG strategy, and the replicas of cards
/// @returns only valid labels that is_feature_label(); none without cards. Where cards have
///          different products, the labels of one are those of the first that is not in MIG mode
[[nodiscard]] NodeLabels labels_of(const Inventory& inventory, const SharingFile& sharing,
                                   const Machine& machine);

/// Whether labels_of() can have a label of that name.
[[nodiscard]] bool is_feature_label(std::string_view name);

/// @param host_root  the folder in which the host's /sys is
[[nodiscard]] Machine read_machine(const std::string& host_root, const Inventory& inventory);

/// The labels of a node that goes by these rules.
/// @param sharing    the configuration that the Node's label names
/// @param host_root  as above
[[nodiscard]] CardLabels feature_labels(std::function<SharingFile(std::string_view choice)> sharing,
                                        std::string host_root);

}  // namespace tangram::node::nvidia
