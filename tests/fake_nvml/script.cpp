#include "base/rapidjson.hpp"
#include "tests/fake_nvml/world.hpp"

#include <fstream>
#include <sstream>

namespace fake_nvml {

namespace {

using Json = rapidjson::Value;

constexpr std::uint64_t kMebibyte = 1024ULL * 1024;

const Json* member(const Json& object, const char* name) {
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

std::string text(const Json& object, const char* name, std::string otherwise = {}) {
  const Json* value = member(object, name);
  return value != nullptr && value->IsString() ? value->GetString() : std::move(otherwise);
}

std::int64_t number(const Json& object, const char* name, std::int64_t otherwise) {
  const Json* value = member(object, name);
  return value != nullptr && value->IsInt64() ? value->GetInt64() : otherwise;
}

bool flag(const Json& object, const char* name) {
  const Json* value = member(object, name);
  return value != nullptr && value->IsBool() && value->GetBool();
}

template <class Each>
void each(const Json& object, const char* name, const Each& visit) {
  const Json* value = member(object, name);
  if (value == nullptr || !value->IsArray()) return;
  for (const Json& element : value->GetArray()) visit(element);
}

std::uint64_t bytes(const Json& object, const char* name) {
  return static_cast<std::uint64_t>(number(object, name, 0)) * kMebibyte;
}

void read_common(const Json& json, Device& device) {
  device.uuid = text(json, "uuid");
  device.total = bytes(json, "memMiB");
  device.reserved = bytes(json, "reservedMiB");
  if (member(json, "utilization") != nullptr) {
    device.utilization = static_cast<unsigned>(number(json, "utilization", 0));
  }
  each(json, "processes", [&](const Json& process) {
    device.processes.push_back({static_cast<std::uint32_t>(number(process, "pid", 0)),
                                bytes(process, "memMiB"), flag(process, "mps"),
                                flag(process, "graphics")});
  });
}

Device read_instance(const Json& json, const Device& card) {
  Device instance;
  read_common(json, instance);
  instance.profile = text(json, "profile");
  // Old drivers give an instance its card's name alone.
  instance.name = flag(json, "bareName") ? card.name : card.name + " MIG " + instance.profile;
  instance.gi = static_cast<unsigned>(number(json, "gi", 0));
  instance.ci = static_cast<unsigned>(number(json, "ci", 0));
  instance.pci = card.pci;
  instance.capability = card.capability;
  return instance;
}

Device read_card(const Json& json) {
  Device card;
  read_common(json, card);
  card.name = text(json, "model", "NVIDIA A100-SXM4-80GB");
  card.minor = static_cast<unsigned>(number(json, "minor", 0));
  card.pci = text(json, "pci");
  card.numa = static_cast<int>(number(json, "numa", -1));
  card.capability = text(json, "computeCapability", "8.0");
  card.pcie_switch = text(json, "pcieSwitch");
  card.lost = flag(json, "lost");
  card.mig = flag(json, "mig");
  if (flag(json, "noEvents")) card.event_types = 0;
  card.set_limits_answer = static_cast<int>(number(json, "setLimitsAnswer", SUCCESS));
  card.cgroup_used = bytes(json, "cgroupUsedMiB");
  if (member(json, "keptLimitMiB") != nullptr) card.kept_limit = bytes(json, "keptLimitMiB");
  if (member(json, "keptSoftLimitMiB") != nullptr) {
    card.kept_soft_limit = bytes(json, "keptSoftLimitMiB");
  }
  each(json, "links", [&](const Json& link) {
    card.links.push_back({text(link, "to"), static_cast<int>(number(link, "count", 1))});
  });
  each(json, "instances",
       [&](const Json& instance) { card.instances.push_back(read_instance(instance, card)); });
  return card;
}

Happening read_event(const Json& json) {
  Happening event;
  event.at = std::chrono::milliseconds(number(json, "atMs", 0));
  event.card = text(json, "card");
  event.gi = static_cast<unsigned>(number(json, "gi", NO_INSTANCE));
  event.ci = static_cast<unsigned>(number(json, "ci", NO_INSTANCE));
  if (member(json, "xid") != nullptr) {
    event.type = EVENT_XID;
    event.data = static_cast<std::uint64_t>(number(json, "xid", 0));
  }
  if (flag(json, "dbe")) event.type = EVENT_DOUBLE_BIT_ECC;
  if (member(json, "lost") != nullptr) event.lost = flag(json, "lost");
  if (member(json, "driver") != nullptr) event.driver = text(json, "driver");
  return event;
}

/// "12.4" as NVML says it: 12040.
int cuda_number(const std::string& version) {
  int major = 0;
  int minor = 0;
  char dot = 0;
  std::istringstream(version) >> major >> dot >> minor;
  return major * 1000 + minor * 10;
}

}  // namespace

std::optional<Script> read_script(const std::string& path, std::string& problem) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  rapidjson::Document json;
  json.Parse(content.str().c_str());
  if (!file || json.HasParseError() || !json.IsObject()) {
    problem = path + (file ? std::string(" is no JSON object: ") +
                                 rapidjson::GetParseError_En(json.GetParseError())
                           : " cannot be read");
    return std::nullopt;
  }
  Script script;
  script.driver_version = text(json, "driverVersion", script.driver_version);
  script.cuda_version = cuda_number(text(json, "cudaVersion", "12.4"));
  script.driver = text(json, "driver", script.driver);
  script.memory_limits = text(json, "memoryLimits");
  script.boundless = flag(json, "boundless");
  each(json, "lacks", [&](const Json& name) { script.lacks.insert(name.GetString()); });
  each(json, "cards", [&](const Json& card) { script.cards.push_back(read_card(card)); });
  each(json, "events", [&](const Json& event) { script.events.push_back(read_event(event)); });
  return script;
}

}  // namespace fake_nvml
