#include "cli/fill/pod_templates.hpp"

#include "base/split.hpp"
#include "cli/format.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace tangram::cli {

namespace {

/// Where the objects of a kind have pod templates. `*` stands for each element of a list, or each
/// member of a map.
struct KindOfObject {
  std::string_view group;
  std::string_view kind;
  std::vector<std::string_view> paths;
};

/// Sources: the Go types of each project; those that are not here are left as they are.
const std::vector<KindOfObject>& kinds() {
  static const std::vector<KindOfObject> kKinds{
      {"", "Pod", {""}},
      {"", "ReplicationController", {"spec.template"}},
      {"apps", "Deployment", {"spec.template"}},
      {"apps", "StatefulSet", {"spec.template"}},
      {"apps", "DaemonSet", {"spec.template"}},
      {"apps", "ReplicaSet", {"spec.template"}},
      {"batch", "Job", {"spec.template"}},
      {"batch", "CronJob", {"spec.jobTemplate.spec.template"}},
      {"jobset.x-k8s.io", "JobSet", {"spec.replicatedJobs.*.template.spec.template"}},
      {"ray.io", "RayCluster", {"spec.headGroupSpec.template", "spec.workerGroupSpecs.*.template"}},
      {"ray.io",
       "RayJob",
       {"spec.rayClusterSpec.headGroupSpec.template",
        "spec.rayClusterSpec.workerGroupSpecs.*.template", "spec.submitterPodTemplate"}},
      {"ray.io",
       "RayService",
       {"spec.rayClusterConfig.headGroupSpec.template",
        "spec.rayClusterConfig.workerGroupSpecs.*.template"}},
      {"kubeflow.org", "MPIJob", {"spec.mpiReplicaSpecs.*.template"}},
      {"kubeflow.org", "PyTorchJob", {"spec.pytorchReplicaSpecs.*.template"}},
      {"kubeflow.org", "TFJob", {"spec.tfReplicaSpecs.*.template"}},
      {"leaderworkerset.x-k8s.io",
       "LeaderWorkerSet",
       {"spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"}},
  };
  return kKinds;
}

/// "apps" of "apps/v1"; "" of "v1".
std::string group_of(const std::string& api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string::npos ? "" : api_version.substr(0, slash);
}

std::string below(const std::string& path, const std::string& step) {
  return path.empty() ? step : path + "." + step;
}

void find(const YAML::Node& node, std::span<const std::string> steps, const std::string& path,
          std::vector<PodTemplate>& found) {
  if (!node.IsDefined() || node.IsNull()) return;
  if (steps.empty()) return found.push_back({node, path});
  const auto rest = steps.subspan(1);
  if (steps.front() != "*") {
    if (node.IsMap()) find(node[steps.front()], rest, below(path, steps.front()), found);
  } else if (node.IsSequence()) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      find(node[i], rest, path + "[" + std::to_string(i) + "]", found);
    }
  } else if (node.IsMap()) {
    for (const auto& entry : node) {
      find(entry.second, rest, below(path, entry.first.Scalar()), found);
    }
  }
}

const KindOfObject* kind_of(const YAML::Node& object) {
  const std::string kind = text_of(object, "kind");
  const std::string group = group_of(text_of(object, "apiVersion"));
  const auto known = std::ranges::find_if(
      kinds(), [&](const KindOfObject& each) { return each.kind == kind && each.group == group; });
  return known == kinds().end() ? nullptr : &*known;
}

/// Merge keys may add a kind.
bool may_be_known(const YAML::Node& raw) {
  if (!raw.IsMap()) return false;
  return kind_of(raw) != nullptr || std::any_of(raw.begin(), raw.end(), [](const auto& entry) {
           return entry.first.IsScalar() && entry.first.Scalar() == "<<";
         });
}

}  // namespace

std::optional<std::vector<PodTemplate>> pod_templates(const YAML::Node& object) {
  const KindOfObject* const known = kind_of(object);
  if (known == nullptr) return std::nullopt;
  std::vector<PodTemplate> found;
  for (const std::string_view path : known->paths) {
    find(object, path.empty() ? std::vector<std::string>() : split(path, '.'), "", found);
  }
  return found;
}

bool may_have_templates(const YAML::Node& raw) {
  if (may_be_known(raw)) return true;
  const std::vector<YAML::Node> items = items_of(raw);
  return std::any_of(items.begin(), items.end(), may_be_known);
}

std::vector<YAML::Node> items_of(const YAML::Node& object) {
  if (text_of(object, "kind") != "List") return {};
  const YAML::Node items = object["items"];
  if (!items.IsDefined() || !items.IsSequence()) return {};
  return {items.begin(), items.end()};
}

std::string kinds_with_templates() {
  std::vector<std::string> names;
  for (const KindOfObject& each : kinds()) names.emplace_back(each.kind);
  return joined(names);
}

std::string text_of(const YAML::Node& object, const std::string& member) {
  if (!object.IsMap()) return "";
  const YAML::Node found = object[member];
  return found.IsDefined() && found.IsScalar() ? found.Scalar() : "";
}

std::string object_name(const YAML::Node& object) {
  const YAML::Node metadata = object.IsMap() ? object["metadata"] : YAML::Node();
  if (!metadata.IsDefined()) return "";
  std::string name = text_of(metadata, "name");
  if (!name.empty()) return name;
  name = text_of(metadata, "generateName");
  return name.empty() ? "" : name + "*";
}

std::string kind_and_name(const YAML::Node& object) {
  const std::string kind = text_of(object, "kind");
  const std::string name = object_name(object);
  return (kind.empty() ? "no kind" : kind) + (name.empty() ? "" : " " + name);
}

}  // namespace tangram::cli
