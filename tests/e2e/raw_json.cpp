#include "tests/e2e/raw_json.hpp"

#include <stdexcept>

namespace tangram::e2e {

using rapidjson::Document;
using rapidjson::Value;

namespace {

constexpr std::string_view kPrefix = "tangram.dev/";

bool holds_slot(const Value& container) {
  if (!container.HasMember("resources")) return false;
  const Value& resources = container["resources"];
  return resources.HasMember("limits") && resources["limits"].HasMember("tangram.dev/gpu-slot");
}

}  // namespace

Document parse_json(const std::string& text) {
  Document made;
  if (made.Parse(text.c_str()).HasParseError()) throw std::runtime_error("no JSON: " + text);
  return made;
}

std::string list_all(kube::KubeApi& api, const std::string& path) {
  kube::Request request;
  request.path = path;
  request.timeout = std::chrono::seconds(60);
  const auto answer = api.call(request);
  if (!answer) throw std::runtime_error(path + ": " + answer.error().message);
  if (answer->status != 200) throw std::runtime_error(path + ": " + answer->body);
  return answer->body;
}

std::string text_of(const Value& object, const char* key) {
  const auto found = object.FindMember(key);
  return found == object.MemberEnd() ? "" : found->value.GetString();
}

StringMap annotations_of(const Value& object) {
  StringMap found;
  const Value& metadata = object["metadata"];
  const auto all = metadata.FindMember("annotations");
  if (all == metadata.MemberEnd()) return found;
  for (const auto& entry : all->value.GetObject()) {
    const std::string name = entry.name.GetString();
    if (name.starts_with(kPrefix)) found[name.substr(kPrefix.size())] = entry.value.GetString();
  }
  return found;
}

std::set<std::string> containers_with_slot(const Value& pod) {
  std::set<std::string> names;
  for (const char* kind : {"initContainers", "containers"}) {
    const auto all = pod["spec"].FindMember(kind);
    if (all == pod["spec"].MemberEnd()) continue;
    for (const Value& container : all->value.GetArray()) {
      if (holds_slot(container)) names.insert(text_of(container, "name"));
    }
  }
  return names;
}

}  // namespace tangram::e2e
