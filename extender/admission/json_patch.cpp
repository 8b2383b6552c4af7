#include "extender/admission/json_patch.hpp"

#include "base/json.hpp"

namespace tangram::extender {

std::string JsonPatch::step(std::string_view name) {
  std::string path = "/";
  for (const char c : name) {
    if (c == '~') {
      path += "~0";
    } else if (c == '/') {
      path += "~1";
    } else {
      path += c;
    }
  }
  return path;
}

void JsonPatch::add(std::string_view path, std::string_view text) {
  std::string json;
  json::Writer(json).string(text);
  add_json(path, json);
}

void JsonPatch::add_json(std::string_view path, std::string_view json) {
  if (!operations_.empty()) operations_ += ',';
  json::Writer out(operations_);
  out.begin_object().member("op", "add").member("path", path).key("value").raw(json).end_object();
}

void JsonPatch::remove(std::string_view path) {
  if (!operations_.empty()) operations_ += ',';
  json::Writer(operations_).begin_object().member("op", "remove").member("path", path).end_object();
}

void JsonPatch::add_to_map(const std::string& path, bool is_there, const kube::StringMap& more) {
  if (more.empty()) return;
  if (!is_there) return add_json(path, to_json(more));
  for (const auto& [name, text] : more) add(path + step(name), text);
}

void JsonPatch::edit_map(const std::string& path, const kube::StringMap& current,
                         const kube::StringMap& more, const std::vector<std::string>& without) {
  for (const std::string& name : without) {
    if (current.contains(name)) remove(path + step(name));
  }
  add_to_map(path, !current.empty(), more);
}

std::string JsonPatch::text() const { return empty() ? "" : "[" + operations_ + "]"; }

std::string to_json(const kube::StringMap& texts) {
  std::string json;
  json::Writer out(json);
  out.begin_object();
  for (const auto& [name, text] : texts) out.member(name, text);
  out.end_object();
  return json;
}

}  // namespace tangram::extender
