#pragma once

#include "base/json.hpp"
#include "model/request.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// A v1.Pod as its author wrote it: annotations by full name, quantities as text, variables.
/// kube::Pod is what scheduling makes of the same text.
namespace tangram::kube {

/// By full name: "tangram.dev/gpu-fraction", "nvidia.com/gpu".
using StringMap = std::map<std::string, std::string, std::less<>>;

/// @returns null if there is no such name
[[nodiscard]] inline const std::string* find(const StringMap& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : &found->second;
}

enum class ContainerKind : std::uint8_t {
  kApp,
  kSidecar,    ///< an init container with restartPolicy: Always
  kInit,       ///< an ordinary init container: ends before the app starts
  kEphemeral,  ///< added for debugging; cannot have resources
};

/// Visits containers in the order in which kubelet and the annotations' parser number those that
/// start with the pod: app containers, then sidecars, then ordinary init containers.
template <class Containers, class Visit>
void visit_started(Containers& containers, Visit&& visit) {
  for (const auto kind : {ContainerKind::kApp, ContainerKind::kSidecar, ContainerKind::kInit}) {
    for (auto& container : containers) {
      if (container.kind == kind) visit(container);
    }
  }
}

/// An entry of a container's env.
struct Variable {
  std::string name;
  std::optional<std::string> value;  ///< nothing = it comes from elsewhere (valueFrom)
  std::size_t index = 0;             ///< in the list

  bool operator==(const Variable&) const = default;
};

struct ContainerManifest {
  ContainerKind kind = ContainerKind::kApp;
  std::size_t index = 0;  ///< in its own list: spec.containers, initContainers, ephemeralContainers
  std::string name;
  StringMap limits;            ///< quantities as written, numbers included
  StringMap requests;          ///< the same
  bool has_resources = false;  ///< there is an object, be it empty
  std::vector<Variable> env;   ///< in order; a later entry of the same name wins
  bool has_env = false;        ///< there is a list, be it empty
  bool has_env_from = false;   ///< more variables come from a ConfigMap or Secret
  std::size_t more_env = 0;    ///< variables that were counted, but not kept

  /// The quantity of that name in the limits, else in the requests; null if there is none.
  [[nodiscard]] const std::string* quantity(std::string_view resource) const {
    const std::string* limit = find(limits, resource);
    return limit != nullptr ? limit : find(requests, resource);
  }

  bool operator==(const ContainerManifest&) const = default;
};

struct AnnotationCount {
  std::size_t entries = 0;
  std::size_t bytes = 0;  ///< of names and values; 0 = not known

  bool operator==(const AnnotationCount&) const = default;
};

struct PodManifest {
  std::string ns;    ///< as in the object, which may leave it out
  std::string name;  ///< or generateName with a star
  std::string uid;   ///< of one that is stored; of a new one whatever its author wrote
  StringMap annotations;
  StringMap labels;
  std::string scheduler_name;
  std::string node;  ///< spec.nodeName; empty = not bound
  std::string runtime_class;
  StringMap node_selector;
  bool has_node_selector = false;  ///< there is an object, be it empty
  /// Keys of the taints with the effect NoSchedule that the pod tolerates whatever their value; an
  /// empty key stands for every taint.
  std::set<std::string> tolerated;
  bool has_tolerations = false;  ///< there is a list, be it empty
  std::vector<ContainerManifest>
      containers;  ///< app containers, then init containers, then ephemeral

  // What was counted, but not kept.
  std::size_t more_containers = 0;
  AnnotationCount more_annotations = {};
  std::size_t more_tolerated = 0;
  std::size_t more_resources = 0;  ///< entries in limits and requests; all of a list, or none

  bool operator==(const PodManifest&) const = default;
};

/// What of a pod is kept, so that a hostile one takes a bounded amount of memory. By default all.
struct ManifestScope {
  /// By full name; null = all.
  using Wanted = bool (*)(std::string_view name);
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  Wanted label = nullptr;
  Wanted selector = nullptr;  ///< of the nodeSelector
  Wanted variable = nullptr;
  std::size_t most_containers = kAll;        ///< of all kinds
  std::size_t most_annotations = kAll;       ///< none is kept of more
  std::size_t most_annotation_bytes = kAll;  ///< of names and values; no more are kept
  std::size_t most_resources = kAll;         ///< entries in limits and requests of all containers
  std::size_t most_tolerated = kAll;
  std::size_t most_variables = kAll;  ///< of the wanted ones of a container
};

/// Reads a pod where the reader stands. Members that are not needed are skipped; one of the wrong
/// type, and a pod without metadata or spec, make the reader fail. Quantities are not looked into.
[[nodiscard]] PodManifest read_manifest(json::Reader& in, const ManifestScope& scope = {});
/// All that it reads.
[[nodiscard]] std::vector<json::Outline::Member> manifest_outline(const ManifestScope& scope);

/// Those under model::kPrefix, without the prefix.
[[nodiscard]] model::Annotations own_annotations(const StringMap& all);

/// The annotations of any object where the reader stands.
/// @param most  more make the reader fail
[[nodiscard]] StringMap read_object_annotations(json::Reader& in, std::size_t most);

/// How many entries the map that comes next has, if it is one of texts.
[[nodiscard]] inline std::size_t entries_inside(const json::Reader& in) {
  return in.tokens_inside() / 2;
}
/// Adds the wanted ones of the map that comes next.
void read_wanted(json::Reader& in, ManifestScope::Wanted wanted, StringMap& into);
/// Adds those of the annotations that come next that the scope has room for.
/// @returns the others
[[nodiscard]] AnnotationCount read_annotations(json::Reader& in, const ManifestScope& scope,
                                               StringMap& into);

}  // namespace tangram::kube
