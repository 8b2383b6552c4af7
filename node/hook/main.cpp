// tangram-memory-hook: wiring only.

#include "base/one_line.hpp"
#include "node/hook/cgroup.hpp"
#include "node/hook/container_state.hpp"
#include "node/hook/limits_folder.hpp"
#include "node/hook/settings.hpp"
#include "node/vendor/nvidia/memory_limits.hpp"

#include <exception>
#include <iostream>
#include <string>
#include <string_view>

namespace {

using namespace tangram;
using namespace tangram::node;

constexpr int kFailed = 1;

int failed(std::string_view message) {
  std::cerr << "tangram-memory-hook: " << one_line(message) << "\n";
  return kFailed;
}

Result<void> run(const hook::Settings& settings) {
  const auto container = hook::read_state(std::cin);
  if (!container) return container.error();
  const auto leaf = hook::leaf_of(*container, settings.folders);
  if (!leaf) return leaf.error();
  const std::string& cgroups = settings.folders.cgroup;
  const nvidia::LimiterPlaces places{.find_nvml = [&] { return settings.nvml; },
                                     .cgroups = cgroups};
  return hook::limit_start(hook::LimitsFolder(settings.limits), *leaf,
                           [&](const hook::Limits& limits) {
                             return nvidia::set_memory_limits(places, cgroups + leaf->path, limits);
                           });
}

}  // namespace

int main(int argc, char** argv) try {
  const auto parsed = hook::parse_settings(argc, argv);
  if (parsed.exit) return *parsed.exit;
  const auto done = run(parsed.settings);
  return done ? 0 : failed(done.error().message);
} catch (const std::exception& error) {
  return failed(error.what());
}
