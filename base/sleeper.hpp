#pragma once

#include <chrono>
#include <functional>
#include <stop_token>

namespace tangram {

/// Waits, cut short by stop. Injected so that tests do not sleep.
using Sleeper = std::function<void(std::chrono::milliseconds, std::stop_token)>;

/// Sleeps for real.
void sleep_until_stopped(std::chrono::milliseconds wait, std::stop_token stop);

}  // namespace tangram
