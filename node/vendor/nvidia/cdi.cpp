#include "node/vendor/nvidia/cdi.hpp"

#include "base/file.hpp"
#include "base/json_members.hpp"
#include "kube/local/yaml_to_json.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace tangram::node::nvidia {
namespace {

constexpr std::string_view kKind = "nvidia.com/gpu";

using Lists = std::map<std::string, std::vector<std::string>, std::less<>>;

struct Spec {
  std::string kind;
  std::string version;
  Lists common;
  std::map<std::string, Lists, std::less<>> devices;
};

/// Copies the next value.
void copy(json::Reader& in, json::Writer& out) {
  switch (in.kind()) {
    case json::Kind::kObject:
      out.begin_object();
      in.object([&](std::string_view key) {
        out.key(key);
        copy(in, out);
      });
      out.end_object();
      return;
    case json::Kind::kArray:
      out.begin_array();
      in.array([&] { copy(in, out); });
      out.end_array();
      return;
    case json::Kind::kString:
      out.string(in.string());
      return;
    case json::Kind::kNumber:
      out.raw(in.scalar_text());
      return;
    case json::Kind::kBool:
      out.boolean(in.boolean());
      return;
    case json::Kind::kNull:
    case json::Kind::kNone:
      break;
  }
  in.skip();
  out.null();
}

Lists read_edits(json::Reader& in) {
  Lists lists;
  in.object([&](std::string_view key) {
    // Objects (intelRdt) cannot be merged; NVIDIA writes none.
    if (in.kind() != json::Kind::kArray) return in.skip();
    std::vector<std::string>& list = lists[std::string(key)];
    in.array([&] {
      std::string text;
      json::Writer out(text);
      copy(in, out);
      list.push_back(std::move(text));
    });
  });
  return lists;
}

void read_device(json::Reader& in, Spec& spec) {
  std::string name;
  Lists edits;
  const auto read = [&](json::Reader&) { edits = read_edits(in); };
  json::read_members(in, "name", name, "containerEdits", read);
  spec.devices[name] = std::move(edits);
}

Result<Spec> decode(std::string text) {
  Spec spec;
  json::Reader in(text);
  const auto version = [&](json::Reader&) { spec.version = in.scalar_text(); };
  const auto common = [&](json::Reader&) { spec.common = read_edits(in); };
  const auto devices = [&](json::Reader&) { in.array([&] { read_device(in, spec); }); };
  json::read_members(in, "kind", spec.kind, "cdiVersion", version, "containerEdits", common,
                     "devices", devices);
  if (auto done = in.finish(); !done) return done.error();
  return spec;
}

/// The spec files of a folder that contain NVIDIA's kind, by name.
std::vector<std::string> files(const std::string& folder) {
  std::set<std::string> paths;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    const auto extension = entry.path().extension();
    if (extension == ".json" || extension == ".yaml") paths.insert(entry.path());
  }
  std::vector<std::string> relevant;
  for (const std::string& path : paths) {
    const auto text = read_file(path);
    if (text && text->find(kKind) != std::string::npos) relevant.push_back(path);
  }
  return relevant;
}

Result<Spec> read_spec(const std::string& path) {
  auto text = read_file(path);
  if (!text) return text.error();
  if (path.ends_with(".yaml")) {
    auto documents = kube::yaml_to_json(*text);
    if (!documents) return fail(Errc::kInvalidArgument, path + ": " + documents.error().message);
    if (documents->size() != 1) {
      return fail(Errc::kInvalidArgument, path + ": contains not one CDI spec");
    }
    *text = std::move(documents->front().json);
  }
  auto spec = decode(std::move(*text));
  if (!spec) return fail(Errc::kInvalidArgument, path + ": " + spec.error().message);
  return spec;
}

/// Adds elements that are not there already, as those common to all cards may be.
void add(Lists& to, const Lists& from) {
  for (const auto& [list, elements] : from) {
    std::vector<std::string>& all = to[list];
    for (const std::string& element : elements) {
      if (std::find(all.begin(), all.end(), element) == all.end()) all.push_back(element);
    }
  }
}

/// Those of NVIDIA's kind, in the order in which they count.
Result<std::vector<Spec>> read_specs(const std::vector<std::string>& folders) {
  std::vector<Spec> specs;
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    for (const std::string& path : files(*folder)) {
      auto spec = read_spec(path);
      if (!spec) return spec.error();
      if (spec->kind == kKind) specs.push_back(std::move(*spec));
    }
  }
  return specs;
}

/// Adds the edits of those devices that are still missing.
void add_devices(const Spec& spec, std::set<std::string, std::less<>>& missing, CdiEdits& to) {
  for (const auto& [device, edits] : spec.devices) {
    if (missing.erase(device) == 0) continue;
    add(to.lists, spec.common);
    add(to.lists, edits);
    if (older_version(to.cdi_version, spec.version)) to.cdi_version = spec.version;
  }
}

CdiEdits edits_of(const std::vector<Spec>& specs, const std::vector<std::string>& cards) {
  CdiEdits edits_of_cards;
  std::set<std::string, std::less<>> missing(cards.begin(), cards.end());
  for (const Spec& spec : specs) add_devices(spec, missing, edits_of_cards);
  return missing.empty() ? edits_of_cards : CdiEdits{};
}

}  // namespace

Result<CdiEdits> cdi_edits(const std::vector<std::string>& folders,
                           const std::vector<std::string>& cards) {
  const auto specs = read_specs(folders);
  if (!specs) return specs.error();
  return edits_of(*specs, cards);
}

Result<std::map<std::string, CdiEdits>> cdi_edits_of_each(const std::vector<std::string>& folders,
                                                          const std::vector<std::string>& cards) {
  const auto specs = read_specs(folders);
  if (!specs) return specs.error();
  std::map<std::string, CdiEdits> each;
  for (const std::string& card : cards) each[card] = edits_of(*specs, {card});
  return each;
}

}  // namespace tangram::node::nvidia
