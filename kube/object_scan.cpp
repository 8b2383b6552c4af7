#include "kube/object_scan.hpp"

#include "base/json.hpp"
#include "base/json_scan.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

namespace tangram::kube {

namespace {

bool plain(char c) { return c >= ' ' && c <= '~' && c != '\\'; }

/// Calls `entry(name, text)` for each member of a map of texts.
template <class Entry>
void for_each_text(std::string_view map, Entry&& entry) {
  std::ignore = json::for_each_member(map, [&](std::string_view name, std::string_view value) {
    entry(scan_text({name.data() - 1, name.size() + 2}), scan_text(value));  // with its quotes
  });
}

/// @returns 0 if it is no number of 32 bits
int number_in(std::string_view value) {
  int number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

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

std::optional<Pod> scan_pod(std::string_view object) {
  ObjectId id = scan_id(object);
  if (id.uid.empty()) return std::nullopt;
  Pod pod;
  pod.uid = std::move(id.uid);
  pod.ns = std::move(id.ns);
  pod.name = std::move(id.name);
  pod.node = scan_text(json::find(object, {"spec", "nodeName"}));
  pod.priority = number_in(json::find(object, {"spec", "priority"}));
  const std::string phase = scan_text(json::find(object, {"status", "phase"}));
  pod.finished = phase == "Succeeded" || phase == "Failed";
  const std::string_view metadata = json::find(object, {"metadata"});
  pod.deleting = !scan_text(json::find(metadata, {"deletionTimestamp"})).empty();
  for_each_text(json::find(metadata, {"annotations"}),
                [&](const std::string& name, std::string text) {
                  if (!name.starts_with(model::kPrefix)) return;
                  pod.annotations.emplace(name.substr(model::kPrefix.size()), std::move(text));
                });
  for_each_text(json::find(metadata, {"labels"}), [&](std::string name, std::string text) {
    pod.labels.emplace(std::move(name), std::move(text));
  });
  return pod;
}

std::string without_managed_fields(std::string_view object) {
  const std::string_view fields = json::find(object, {"metadata", "managedFields"});
  if (fields.empty()) return std::string(object);
  const auto begin = static_cast<std::size_t>(fields.data() - object.data());
  std::string text(object.substr(0, begin));
  return text.append("null").append(object.substr(begin + fields.size()));
}

}  // namespace tangram::kube
