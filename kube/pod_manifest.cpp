#include "kube/pod_manifest.hpp"

#include "base/json_members.hpp"

namespace tangram::kube {

model::Annotations own_annotations(const StringMap& all) {
  model::Annotations own;
  for (auto at = all.lower_bound(model::kPrefix); at != all.end(); ++at) {
    if (!at->first.starts_with(model::kPrefix)) break;
    own.emplace_hint(own.end(), at->first.substr(model::kPrefix.size()), at->second);
  }
  return own;
}

StringMap read_object_annotations(json::Reader& in) {
  StringMap annotations;
  json::read_members(in, "metadata", json::members("annotations", annotations));
  return annotations;
}

std::vector<json::Outline::Member> manifest_outline() {
  const std::vector<json::Outline::Member> container{{"name"},
                                                     {"resources", {{"limits"}, {"requests"}}},
                                                     {"restartPolicy"},
                                                     {"env", {{"name"}, {"value"}, {"valueFrom"}}},
                                                     {"envFrom"}};
  return {{"metadata",
           {{"uid"},
            {"namespace"},
            {"name"},
            {"generateName"},
            {"resourceVersion"},
            {"annotations"},
            {"labels"},
            {"deletionTimestamp"},
            {"ownerReferences", {{"kind"}, {"name"}, {"controller"}}}}},
          {"spec",
           {{"nodeName"},
            {"schedulerName"},
            {"runtimeClassName"},
            {"nodeSelector"},
            {"containers", container},
            {"initContainers", container},
            {"ephemeralContainers", container}}}};
}

}  // namespace tangram::kube
