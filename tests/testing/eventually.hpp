#pragma once

#include <chrono>
#include <thread>

namespace tangram::testing {

/// Waits for something that other threads bring about. The deadline is far beyond what a loaded
/// machine takes: only a failing test waits so long.
template <class Condition>
[[nodiscard]] bool eventually(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace tangram::testing
