#include "kube/pod_manifest.hpp"

namespace tangram::kube {

StringMap read_string_map(json::Reader& in) {
  StringMap map;
  in.object([&](std::string_view key) { map.emplace(key, in.string_or_null()); });
  return map;
}

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
  in.object([&](std::string_view key) {
    if (key != "metadata") return in.skip();
    in.object([&](std::string_view member) {
      if (member != "annotations") return in.skip();
      annotations = read_string_map(in);
    });
  });
  return annotations;
}

}  // namespace tangram::kube
