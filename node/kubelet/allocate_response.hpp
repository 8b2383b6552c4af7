#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// Slots are anonymous: kubelet gives a container any of them, and no slot belongs to a card.
/// "slot-0" … "slot-N-1".
[[nodiscard]] std::string slot_id(int number);
/// @returns nothing if it is not a slot of Tangram's
[[nodiscard]] std::optional<int> slot_number(std::string_view id);

/// The CDI kind of the devices that stand for allocations.
inline constexpr std::string_view kCdiKind = "tangram.dev/slot";
/// "tangram.dev/slot=NAME"
[[nodiscard]] std::string qualified_name(std::string_view name);

/// How the name of an allocation's CDI device reaches the container runtime. The name is the same
/// in all of them; which one works depends on the node.
enum class NamePath : std::uint8_t {
  kCdiDevices,     ///< a field of its own: kubelet 1.29 and newer
  kCdiAnnotation,  ///< the annotation cdi.k8s.io/tangram: older kubelets, a runtime with CDI on
  kEnvironment,    ///< VendorRuntime::variable
};
[[nodiscard]] std::string_view to_string(NamePath path);
[[nodiscard]] std::optional<NamePath> parse_name_path(std::string_view text);

/// A vendor's own container runtime, which selects devices by an environment variable.
struct VendorRuntime {
  std::string_view variable;  ///< "NVIDIA_VISIBLE_DEVICES"
  std::string_view no_card;   ///< its value for no card
  std::string_view setup;     ///< how to set it up, as an instruction
  /// It accepts the names of CDI devices there, as kEnvironment needs.
  bool takes_names = true;
  std::string_view program = {};  ///< "nvidia-container-runtime"; empty = not known
};

/// The answer to kubelet's Allocate, which kubelet passes to the runtime at every start of the
/// container.
struct AllocateResponse {
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;
  friend bool operator==(const AllocateResponse&, const AllocateResponse&) = default;
};

/// Except with kEnvironment the container's variable selects no card, and the CDI device overrides
/// that: if the runtime ignores the device (CDI is off), the container sees no card instead of all
/// of them, which images request.
[[nodiscard]] AllocateResponse allocate_response(std::string_view name, NamePath path,
                                                 const VendorRuntime& runtime);

/// The name in a response, and how it was passed: an upgrade may change how a node passes names
/// while containers keep the response they were given.
struct PassedName {
  std::string name;
  NamePath path = NamePath::kCdiDevices;
  friend bool operator==(const PassedName&, const PassedName&) = default;
};
/// The response is one of ours; the key of its variable or annotation may be an earlier version's.
/// @returns nothing if there is none
[[nodiscard]] std::optional<PassedName> name_in(const AllocateResponse& response);

}  // namespace tangram::node
