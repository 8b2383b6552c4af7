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

AnnotationCount read_annotations(json::Reader& in, const ManifestScope& scope, StringMap& into) {
  const std::size_t entries = entries_inside(in);
  if (entries > scope.most_annotations) {
    in.skip();
    return {.entries = entries};
  }
  AnnotationCount more;
  std::size_t kept_bytes = 0;
  in.object([&](std::string_view name) {
    const std::string_view value = in.string_or_null();
    const std::size_t bytes = name.size() + value.size();
    if (bytes <= scope.most_annotation_bytes - kept_bytes) {
      kept_bytes += bytes;
      into.emplace(name, value);
    } else {
      ++more.entries;
      more.bytes += bytes;
    }
  });
  return more;
}

StringMap read_object_annotations(json::Reader& in, std::size_t most) {
  StringMap annotations;
  const auto read = [&](json::Reader&) {
    const std::size_t entries = entries_inside(in);
    if (entries > most) {
      return in.fail(std::to_string(entries) + " entries; write at most " + std::to_string(most));
    }
    read_wanted(in, nullptr, annotations);
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
            {"annotations"},
            {"labels", {}, scope.label},
            {"deletionTimestamp"},
            {"ownerReferences", {{"kind"}, {"name"}, {"controller"}}}}},
          {"spec",
           {{"nodeName"},
            {"schedulerName"},
            {"runtimeClassName"},
            {"nodeSelector", {}, scope.selector},
            {"tolerations", {{"key"}, {"operator"}, {"effect"}}},
            {"containers", container},
            {"initContainers", container},
            {"ephemeralContainers", container}}}};
}

}  // namespace tangram::kube
