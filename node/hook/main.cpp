// tangram-memory-hook: wiring only.

#include "base/one_line.hpp"
#include "node/hook/cgroup.hpp"
#include "node/hook/container_state.hpp"
#include "node/hook/dmem.hpp"
#include "node/hook/limit_memory.hpp"
#include "node/hook/settings.hpp"
#include "node/vendor/nvidia/memory_limits.hpp"

#include <exception>
#include <iostream>
#include <memory>
#include <string_view>
#include <vector>

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
  const auto cgroup = hook::leaf_of(*container, settings.folders);
  if (!cgroup) return cgroup.error();
  std::vector<hook::CardLimits> cards;
  std::unique_ptr<hook::MemoryLimiter> nvidia_cards;
  if (!settings.limits.empty()) {
    auto opened = nvidia::open_memory_limiter(settings.nvml);
    if (!opened) return opened.error();
    nvidia_cards = std::move(*opened);
    cards.push_back({*nvidia_cards, settings.limits});
  }
  hook::DmemLimiter dmem(settings.folders.cgroup);
  cards.push_back({dmem, settings.dmem});
  return hook::limit_memory(*cgroup, cards);
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
