#include "node/vendor/amd/card_edits.hpp"

#include "base/json.hpp"
#include "base/number.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"

#include <cstdint>

namespace tangram::node::amd {
namespace {

constexpr const char* kSpecVersion = "0.5.0";  // the oldest that has all of this

/// Whoever the container's processes are: the device cgroup decides, not the file's mode.
constexpr std::int64_t kMode = 0666;

struct Device {
  std::string path;    ///< in the container
  std::string number;  ///< the kernel's file with it: "226:128"
};

Result<std::string> encode(const KernelFiles& files, const Device& device) {
  const auto text = files.text(device.number);
  if (!text) return fail(Errc::kUnavailable, text.error().message);
  const auto parts = split(*text, ':');
  const auto major = parse_number<std::int64_t>(parts.front());
  const auto minor = parse_number<std::int64_t>(parts.back());
  if (parts.size() != 2 || !major || !minor || *major <= 0 || *minor < 0) {
    return fail(Errc::kUnavailable,
                device.number + " has no number of a device but " + quote(*text));
  }
  std::string json;
  json::Writer out(json);
  out.begin_object().member("path", device.path).member("type", "c");
  out.member("major", *major).member("minor", *minor).member("fileMode", kMode);
  out.member("permissions", "rw").end_object();
  return json;
}

Device of_drm(const std::string& name) {
  return {.path = "/dev/dri/" + name, .number = "/sys/class/drm/" + name + "/dev"};
}

Error missing(const AmdCards& here, const std::string& card) {
  std::string why = "card " + quote_if_needed(card) + " is not on this node now";
  for (const std::string& reason : here.left_out) why += "; " + reason;
  return fail(Errc::kUnavailable, std::move(why));
}

}  // namespace

Result<CdiEdits> card_edits(const KernelFiles& files, const AmdCards& here,
                            const std::vector<std::string>& cards) {
  std::vector<Device> devices{{.path = "/dev/kfd", .number = "/sys/class/kfd/kfd/dev"}};
  for (const std::string& id : cards) {
    const AmdCard* const card = here.find(id);
    if (card == nullptr) return missing(here, id);
    devices.push_back(of_drm(card->render_node));
    if (!card->card_node.empty()) devices.push_back(of_drm(card->card_node));
  }
  CdiEdits edits;
  edits.cdi_version = kSpecVersion;
  for (const Device& device : devices) {
    auto json = encode(files, device);
    if (!json) return json.error();
    edits.lists["deviceNodes"].push_back(std::move(*json));
  }
  return edits;
}

}  // namespace tangram::node::amd
