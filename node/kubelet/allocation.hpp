#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// Slots are anonymous tokens: kubelet hands a container some of them, any of them, and no slot
/// belongs to a card. "slot-0" … "slot-N-1".
[[nodiscard]] std::string slot_id(int number);
/// @returns nothing if it is none of ours
[[nodiscard]] std::optional<int> slot_number(std::string_view id);

/// The CDI kind of the devices that stand for allocations.
inline constexpr std::string_view kCdiKind = "tangram.dev/slot";
/// "tangram.dev/slot=NAME"
[[nodiscard]] std::string qualified_name(std::string_view name);

/// How the name of an allocation's CDI device reaches the container runtime. It is the same name in
/// all of them; which one works depends on the node.
enum class NamePath : std::uint8_t {
  kCdiDevices,     ///< a field of its own: kubelet 1.29 and newer
  kCdiAnnotation,  ///< the annotation cdi.k8s.io/tangram: older kubelets, a runtime with CDI on
  kEnvironment,    ///< NVIDIA_VISIBLE_DEVICES: NVIDIA's own runtime in its auto or cdi mode
};
[[nodiscard]] std::string_view to_string(NamePath path);
[[nodiscard]] std::optional<NamePath> parse_name_path(std::string_view text);

/// What kubelet is told of an allocation, and gives to the runtime at every start of the container.
struct AllocationAnswer {
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;
  friend bool operator==(const AllocationAnswer&, const AllocationAnswer&) = default;
};

/// In all ways but the last the container also gets NVIDIA_VISIBLE_DEVICES=void, which the CDI
/// device replaces: should the runtime ignore the device (CDI is off), the container sees no card
/// instead of all of them, as CUDA images ask for.
[[nodiscard]] AllocationAnswer answer_with(std::string_view name, NamePath path);

/// The name in an answer, and the way it was passed: a node's way may change with an upgrade while
/// containers keep the answer they were given.
struct PassedName {
  std::string name;
  NamePath path = NamePath::kCdiDevices;
  friend bool operator==(const PassedName&, const PassedName&) = default;
};
/// @returns nothing if there is none
[[nodiscard]] std::optional<PassedName> name_in(const AllocationAnswer& answer);

}  // namespace tangram::node
