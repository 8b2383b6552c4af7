#include "cli/fill/fill.hpp"

#include "base/json.hpp"
#include "cli/fill/pod_templates.hpp"
#include "cli/fill/yaml_tree.hpp"
#include "cli/format.hpp"
#include "extender/admission/limits.hpp"
#include "extender/admission/mutate.hpp"
#include "extender/admission/pod_request.hpp"
#include "extender/admission/validate.hpp"
#include "model/annotations.hpp"

#include <boost/algorithm/string/predicate.hpp>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace tangram::cli {

namespace {

using extender::AdmissionSettings;

Result<std::string> json_of(const YAML::Node& tree) {
  auto objects = kube::yaml_to_json(write_tree(tree), kube::YamlMaps::kAsWritten);
  if (!objects) return objects.error();
  if (objects->size() != 1) return fail(Errc::kInvalidArgument, "expected one object");
  return std::move(objects->front().json);
}

/// The pod that a template becomes.
/// @param owner  its name, for a template without one
Result<kube::PodManifest> pod_of(const YAML::Node& tree, const std::string& owner) {
  auto text = json_of(tree);
  if (!text) return text.error();
  json::Reader in(*text, {.members = kube::manifest_outline(extender::admission_scope())});
  kube::PodManifest pod = kube::read_manifest(in, extender::admission_scope());
  if (auto done = in.finish(); !done) return done.error();
  if (pod.name.empty()) pod.name = owner;
  return pod;
}

bool has_own_resource(const kube::StringMap& quantities) {
  static const std::string kOwn = model::full_name(model::kRequestPrefix);
  return std::ranges::any_of(quantities,
                             [](const auto& quantity) { return quantity.first.starts_with(kOwn); });
}

/// Whether the webhook receives such a pod in every namespace (deploy/webhook/webhook.yaml): what
/// it does to others depends on the namespace.
bool is_received(const kube::PodManifest& pod, const AdmissionSettings& settings) {
  if (!extender::too_large(pod).empty()) return true;
  const bool annotated = std::ranges::any_of(pod.annotations, [](const auto& annotation) {
    return boost::algorithm::istarts_with(annotation.first, model::kPrefix);
  });
  const bool asking = std::ranges::any_of(pod.containers, [](const auto& container) {
    return has_own_resource(container.limits) || has_own_resource(container.requests);
  });
  return annotated || asking || !extender::read_pod_request(pod, settings).translation.empty();
}

/// Fills one template in place.
class Template {
 public:
  Template(PodTemplate at, const AdmissionSettings& settings)
      : at_(std::move(at)), settings_(settings) {}

  /// @returns whether it changed, or why the webhook refuses its pods
  Result<bool> fill(const std::string& owner, std::vector<std::string>& warnings) {
    // A template may lack what a pod has.
    const bool bare = !at_.node.IsMap() || !at_.node["metadata"].IsDefined();
    YAML::Node tree = YAML::Clone(at_.node);
    if (bare && tree.IsMap()) tree["metadata"] = YAML::Node(YAML::NodeType::Map);
    const auto pod = pod_of(tree, owner);
    if (!pod) return pod.error();
    if (!is_received(*pod, settings_)) return false;
    const extender::AdmissionResponse answer = extender::mutate(*pod, settings_);
    if (!answer.refusal.empty()) return fail(Errc::kInvalidArgument, answer.refusal);
    warnings.insert(warnings.end(), answer.warnings.begin(), answer.warnings.end());
    if (!answer.patch.empty()) apply_patch(tree, answer.patch);
    if (auto allowed = check(tree, owner); !allowed) return allowed.error();
    if (answer.patch.empty()) return false;
    if (bare && tree["metadata"].size() == 0) tree.remove("metadata");
    replace(tree);
    return true;
  }

 private:
  [[nodiscard]] Result<void> check(const YAML::Node& tree, const std::string& owner) const {
    auto pod = pod_of(tree, owner);
    if (!pod) return pod.error();
    extender::AdmissionRequest request;
    request.subject = extender::AdmissionRequest::Subject::kPod;
    request.pod = std::move(*pod);
    const auto answer = extender::validate(request, settings_);
    if (answer.refusal.empty()) return {};
    return tangram::fail(Errc::kInvalidArgument, answer.refusal);
  }

  /// By member: assigning to the node would take it out of the object that it is a part of.
  void replace(const YAML::Node& tree) {
    for (const auto& entry : tree) at_.node[entry.first.Scalar()] = entry.second;
  }

  PodTemplate at_;
  const AdmissionSettings& settings_;
};

/// One document of a file.
class Document {
 public:
  Document(std::string at, YAML::Node tree, const AdmissionSettings& settings)
      : at_(std::move(at)), tree_(std::move(tree)), settings_(settings) {}

  void fill() {
    if (text_of(tree_, "kind") != "List" || !tree_["items"].IsSequence()) return fill(tree_, at_);
    for (std::size_t i = 0; i < tree_["items"].size(); ++i) {
      fill(tree_["items"][i], at_ + ", item " + std::to_string(i + 1));
    }
  }

  [[nodiscard]] const YAML::Node& tree() const { return tree_; }
  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] const std::vector<std::string>& refusals() const { return refusals_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  /// Kinds and names of objects whose kinds are not known.
  [[nodiscard]] const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  void fill(const YAML::Node& object, const std::string& at) {
    const auto templates = pod_templates(object);
    if (!templates) return unknown_.push_back(kind_and_name(object));
    for (const PodTemplate& each : *templates) {
      const std::string where = at + " (" + kind_and_name(object) + ")" +
                                (templates->size() > 1 ? ", " + each.path : "") + ": ";
      std::vector<std::string> warnings;
      const auto filled = Template(each, settings_).fill(object_name(object), warnings);
      for (const std::string& warning : warnings) warnings_.push_back(where + warning);
      if (!filled) {
        refusals_.push_back(where + filled.error().message);
      } else if (*filled) {
        changed_ = true;
      }
    }
  }

  const std::string at_;
  YAML::Node tree_;
  const AdmissionSettings& settings_;
  bool changed_ = false;
  std::vector<std::string> refusals_;
  std::vector<std::string> warnings_;
  std::vector<std::string> unknown_;
};

/// "ConfigMap a, Service b and 7 others".
std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kMost = 10;
  const std::size_t others = names.size() - std::min(names.size(), kMost);
  if (others > 0) names.resize(kMost);
  return joined(names) + (others > 0 ? " and " + counted(others, "other") : "");
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// Kind and name of the object, or of each item of a List.
std::vector<std::string> names_of(const YAML::Node& raw) {
  std::vector<std::string> names;
  for (const YAML::Node& item : items_of(raw)) names.push_back(kind_and_name(item));
  return names.empty() ? std::vector{kind_and_name(raw)} : names;
}

}  // namespace

Result<void> fill(const std::string& file, const std::string& text,
                  const AdmissionSettings& settings, Filled& filled) {
  std::size_t number = 0;
  std::vector<std::string> unknown;
  for (const kube::YamlDocument& document : kube::split_yaml(text)) {
    const auto raw = read_raw(document);
    if (!raw) return fail(raw.error().code, file + ": " + raw.error().message);
    if (raw->root.IsNull()) continue;  // nothing but comments
    ++number;
    if (!may_have_templates(raw->root)) {
      append(unknown, names_of(raw->root));
      filled.documents.push_back(document.text);
      continue;
    }
    const auto tree = read_tree(document);
    if (!tree) return fail(tree.error().code, file + ": " + tree.error().message);
    Document each(file + ": document " + std::to_string(number), tree->root, settings);
    each.fill();
    append(filled.refusals, each.refusals());
    append(filled.notes, each.warnings());
    append(unknown, each.unknown());
    if (!each.refusals().empty()) continue;
    filled.documents.push_back(each.changed() ? write_tree(each.tree()) : document.text);
  }
  if (!unknown.empty()) {
    filled.notes.push_back(file + ": left as they are, since their kinds are not known to have " +
                           "pod templates: " + listed(unknown));
  }
  return {};
}

std::string filled_yaml(const Filled& filled) {
  std::string text;
  for (const std::string& document : filled.documents) {
    if (!text.empty()) text += "---\n";
    text += document;
  }
  return text;
}

}  // namespace tangram::cli
