#pragma once

/// A function of NVML's that the stand-in defines itself: see intercepts.inc.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): no declaration can carry it
#define TANGRAM_NVML extern "C" __attribute__((visibility("default")))
