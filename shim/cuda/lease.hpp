#pragma once

#include "shim/cancellation.hpp"
#include "shim/cuda/batches.hpp"

#include <atomic>

/// The lease of a card's time: containers that share a card by time launch in turns. The agent on
/// the node opens and closes a container's turn in its limits page, and sees in its usage page who
/// waits and how long what was launched took. Without a lease a launch costs two loads; with it, in
/// an open turn, a few loads and a decrement; in a closed one the thread sleeps until the turn
/// comes.
///
/// Availability goes before proportion: if the agent gives no sign for two seconds, the process
/// runs freely until it does. A kernel that never ends holds a launching thread up for half a
/// second once, in each stream.
///
/// Launches that a stream captures are not held up and do not count: the graph's launch does. Nor
/// are those that a tool makes within a launch, when the driver calls it back.
/// Threads: safe.
namespace tangram::shim::cuda {

/// After attach(); further calls do nothing.
void start_lease();
/// In a child after fork().
void forget_lease();
/// Before the driver ends a context, or may do so.
void leave_context(CUcontext context);
/// Before a stream is destroyed.
void leave_stream(CUstream stream);
/// After a call in which the program waited for its work: what has ended is made known.
/// @param waited  in the stream that it waited for; null = any
void settle_lease(const Work* waited);

/// Of the container: 0 = no card's time is leased. Points to a 0 before start_lease().
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): its definition is constinit
extern std::atomic<const std::atomic<std::uint32_t>*> leases;
inline bool is_leased() {
  return leases.load(std::memory_order_relaxed)->load(std::memory_order_relaxed) != 0;
}

/// Is the turn open, and does the launch belong to the batch that is open?
[[nodiscard]] bool passes_at_once(const Work& work);

/// A launch that waits for its turn, or begins or ends a batch.
class SlowLaunch {
 public:
  explicit SlowLaunch(const Work& work);
  ~SlowLaunch();
  SlowLaunch(const SlowLaunch&) = delete;
  SlowLaunch& operator=(const SlowLaunch&) = delete;

 private:
  Uncancelled uncancelled_;  ///< or the batches would stay locked
  Work work_;
  Batches* batches_ = nullptr;  ///< locked; null = it goes through
  Account* account_ = nullptr;
  std::uint32_t heartbeat_ = 0;  ///< at the batch's beginning
  bool ends_batch_ = false;
};

/// @param call  calls the driver
template <class Call>
CUresult launch_in_turn(const Work& work, Call&& call) {
  if (!is_leased() || passes_at_once(work)) return call();
  const SlowLaunch launch(work);
  return call();
}

}  // namespace tangram::shim::cuda
