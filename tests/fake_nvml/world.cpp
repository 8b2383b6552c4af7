#include "tests/fake_nvml/world.hpp"

#include <cstdio>
#include <cstdlib>

namespace fake_nvml {

World& World::the() {
  static World world;
  return world;
}

void World::refresh() {
  // Set once, before the first call, by the starter of the program.
  const char* path = std::getenv("TANGRAM_FAKE_NVML");
  struct stat status {};
  if (path != nullptr && ::stat(path, &status) == 0) {
    const bool same = status.st_ino == seen_.st_ino && status.st_size == seen_.st_size &&
                      status.st_mtim.tv_sec == seen_.st_mtim.tv_sec &&
                      status.st_mtim.tv_nsec == seen_.st_mtim.tv_nsec;
    if (!same) load(path, status);
  } else {
    script = {};
    script.driver = "down";
  }
  const auto age = std::chrono::steady_clock::now() - loaded_;
  for (Happening& event : script.events) {
    if (event.at <= age) apply(event);
  }
  if (script.driver != "up") stale_ = true;
}

void World::apply(Happening& event) {
  if (event.driver) script.driver = *event.driver;
  if (Device* card = event.lost ? find_uuid(event.card) : nullptr) card->lost = *event.lost;
  // Gone, if only for a moment that no call fell into: the session did not survive it.
  if (event.driver && *event.driver != "up" && !event.reported) stale_ = true;
  if (event.type == 0) event.reported = true;
}

void World::load(const std::string& path, const struct stat& status) {
  std::string problem;
  if (auto read = read_script(path, problem)) {
    script = std::move(*read);
  } else {
    std::fprintf(stderr, "fake NVML: %s; it goes on with what it had\n", problem.c_str());
  }
  seen_ = status;
  loaded_ = std::chrono::steady_clock::now();
}

Return World::state(const char* function) {
  refresh();
  if (script.lacks.count(function) != 0) return ERROR_FUNCTION_NOT_FOUND;
  if (sessions_ == 0 || stale_) return ERROR_UNINITIALIZED;
  return SUCCESS;
}

Return World::init() {
  refresh();
  if (script.driver == "mismatch") return ERROR_LIB_RM_VERSION_MISMATCH;
  if (script.driver != "up") return ERROR_DRIVER_NOT_LOADED;
  // As in the real one, a further init only counts: it mends nothing under a session that stands.
  if (sessions_++ == 0) stale_ = false;
  return SUCCESS;
}

Return World::shutdown() {
  if (sessions_ == 0) return ERROR_UNINITIALIZED;
  --sessions_;
  return SUCCESS;
}

Handle* World::handle(const std::string& uuid) {
  auto& slot = handles_[uuid];
  if (!slot) slot = std::make_unique<Handle>(Handle{uuid});
  return slot.get();
}

Device* World::find(const void* handle) {
  for (const auto& [uuid, known] : handles_) {
    if (known.get() == handle) return find_uuid(uuid);
  }
  return nullptr;
}

Device* World::find_uuid(const std::string& uuid) {
  for (Device& card : script.cards) {
    if (card.uuid == uuid) return &card;
    for (Device& instance : card.instances) {
      if (instance.uuid == uuid) return &instance;
    }
  }
  return nullptr;
}

Device* World::parent(const Device& instance) {
  for (Device& card : script.cards) {
    for (const Device& one : card.instances) {
      if (one.uuid == instance.uuid) return &card;
    }
  }
  return nullptr;
}

bool World::take_event(const EventSet& set, EventData& out) {
  const auto age = std::chrono::steady_clock::now() - loaded_;
  for (Happening& event : script.events) {
    const auto wanted = set.types_by_card.find(event.card);
    if (event.reported || event.at > age || wanted == set.types_by_card.end()) continue;
    if ((wanted->second & event.type) == 0) continue;
    event.reported = true;
    out = {handle(event.card), event.type, event.data, event.gi, event.ci};
    return true;
  }
  return false;
}

}  // namespace fake_nvml
