#pragma once

#include <csignal>

namespace tangram {

/// Blocks SIGTERM and SIGINT in this thread and those it starts, so that no code of ours runs in a
/// signal handler: the program takes them where it looks for them, with sigwait() or
/// sigtimedwait(). To be called before the first thread. @returns the two
sigset_t block_stop_signals();

}  // namespace tangram
