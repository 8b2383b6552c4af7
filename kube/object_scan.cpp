#include "kube/object_scan.hpp"

#include "base/json.hpp"
#include "base/json_scan.hpp"

#include <algorithm>

namespace tangram::kube {

namespace {

bool plain(char c) { return c >= ' ' && c <= '~' && c != '\\'; }

}  // namespace

std::string scan_text(std::string_view value) {
  // What servers write is plain text, so there is hardly ever an escape.
  if (std::all_of(value.begin(), value.end(), plain)) return std::string(json::raw_string(value));
  std::string copy(value);
  json::Reader in(copy);
  std::string text(in.string());
  return in.finish() ? text : "";
}

ObjectId scan_id(std::string_view object) {
  const std::string_view metadata = json::find(object, {"metadata"});
  return {.uid = scan_text(json::find(metadata, {"uid"})),
          .ns = scan_text(json::find(metadata, {"namespace"})),
          .name = scan_text(json::find(metadata, {"name"}))};
}

std::string without_managed_fields(std::string_view object) {
  const std::string_view fields = json::find(object, {"metadata", "managedFields"});
  if (fields.empty()) return std::string(object);
  const auto begin = static_cast<std::size_t>(fields.data() - object.data());
  std::string text(object.substr(0, begin));
  return text.append("null").append(object.substr(begin + fields.size()));
}

}  // namespace tangram::kube
