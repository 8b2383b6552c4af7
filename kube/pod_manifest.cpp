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

void read_wanted(json::Reader& in, ManifestScope::Wanted wanted, StringMap& into) {
  in.object([&](std::string_view name) {
    if (wanted != nullptr && !wanted(name)) return in.skip();
    into.emplace(name, in.string_or_null());
  });
}

StringMap read_object_annotations(json::Reader& in, const ManifestScope& scope) {
  StringMap annotations;
  const auto read = [&](json::Reader&) {
    if (entries_inside(in) > scope.most_annotations) {
      return in.fail("more than " + std::to_string(scope.most_annotations) +
                     " annotations are to be read");
    }
    read_wanted(in, scope.annotation, annotations);
  };
  json::read_members(in, "metadata", json::members("annotations", read));
  return annotations;
}

std::vector<json::Outline::Member> manifest_outline(const ManifestScope& scope) {
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
            {"annotations", {}, scope.annotation},
            {"labels", {}, scope.label},
            {"deletionTimestamp"},
            {"ownerReferences", {{"kind"}, {"name"}, {"controller"}}}}},
          {"spec",
           {{"nodeName"},
            {"schedulerName"},
            {"runtimeClassName"},
            {"nodeSelector", {}, scope.selector},
            {"containers", container},
            {"initContainers", container},
            {"ephemeralContainers", container}}}};
}

}  // namespace tangram::kube
