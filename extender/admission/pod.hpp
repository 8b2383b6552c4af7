#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// A pod as an admission request shows it: as its author wrote it, before anything was decided.
namespace tangram::extender {

/// By full name: "tangram.dev/gpu-fraction", "nvidia.com/gpu".
using Texts = std::map<std::string, std::string, std::less<>>;

/// An entry of a container's variables for NVIDIA_VISIBLE_DEVICES.
struct VisibleDevices {
  std::size_t index = 0;             ///< in the list of variables
  std::optional<std::string> value;  ///< nothing = it comes from elsewhere (valueFrom)
  friend bool operator==(const VisibleDevices&, const VisibleDevices&) = default;
};

struct AdmittedContainer {
  enum class Kind : std::uint8_t {
    kApp,
    kSidecar,    ///< an init container with restartPolicy: Always
    kInit,       ///< an ordinary init container: ends before the app starts
    kEphemeral,  ///< added for debugging; cannot have resources
  };
  Kind kind = Kind::kApp;
  std::size_t index = 0;  ///< in its own list: spec.containers, initContainers, ephemeralContainers
  std::string name;
  Texts limits;    ///< quantities as written, numbers included
  Texts requests;  ///< the same

  // What a patch must know: it can add to an object or a list that is there, else makes it.
  bool has_resources = false;                   ///< there is an object, be it empty
  bool has_env = false;                         ///< the list of variables is not empty
  bool has_env_from = false;                    ///< more variables come from elsewhere (envFrom)
  std::vector<VisibleDevices> visible_devices;  ///< every such entry, in order
};

struct AdmittedPod {
  std::string ns;    ///< of the request: the object may leave it out
  std::string name;  ///< or generateName with a star
  Texts annotations;
  Texts labels;
  std::string scheduler_name;
  std::vector<AdmittedContainer>
      containers;    ///< app containers, then init containers, then ephemeral
  std::string node;  ///< spec.nodeName; empty = not bound
  std::string runtime_class;
  Texts node_selector;
};

}  // namespace tangram::extender
