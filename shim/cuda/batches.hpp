#pragma once

#include "shim/cuda/abi.hpp"
#include "shim/owned_mutex.hpp"
#include "shim/pages.hpp"

#include <array>
#include <atomic>

/// How long the launches of a process take on a card. Launches into a stream are grouped in batches
/// of about a millisecond; two events of the driver around each give its time. Two batches can be
/// on their way, of batches of 10 ms or more one: before the next begins, the oldest must have
/// ended. So the work that a process has queued is bounded, and a launch within a batch costs one
/// decrement.
///
/// The oldest is waited for half a second at most. What is launched behind it then becomes part of
/// the newest batch, whose end is recorded again: it is measured, and no longer bounded.
///
/// The time of a batch counts from its first launch to the end of its last: gaps in it count, too,
/// because nobody else can use the card in them. It ends when the program waits for the stream. A
/// batch that was begun, neither continued nor waited for, and whose stream has nothing to do, is
/// charged by the time of earlier launches.
namespace tangram::shim::cuda {

/// A launch, or a graph: one unit that is timed on its own.
struct Work {
  CUstream stream = nullptr;
  bool per_thread = false;  ///< what the null stream is
  bool is_graph = false;
};

/// Which stream that is: the number of its handle, or the calling thread if it is that thread's
/// default stream. Not 0.
inline std::uint64_t key_of(const Work& work) {
  constexpr std::uint64_t kLegacy = 1;     // CU_STREAM_LEGACY
  constexpr std::uint64_t kPerThread = 2;  // CU_STREAM_PER_THREAD
  const auto handle = reinterpret_cast<std::uint64_t>(work.stream);
  if (handle == kPerThread || (handle == 0 && work.per_thread)) return pthread_self();
  return handle == 0 ? kLegacy : handle;
}

/// What goes into a graph runs when the graph does. The null stream cannot be asked while another
/// stream captures.
[[nodiscard]] bool is_captured(const Work& work);

/// While a launching thread calls the driver for itself. Otherwise a query of an event would end
/// the program's capture of a stream.
class CaptureGuard {
 public:
  CaptureGuard();
  ~CaptureGuard();
  CaptureGuard(const CaptureGuard&) = delete;
  CaptureGuard& operator=(const CaptureGuard&) = delete;

 private:
  int mode_ = kCaptureRelaxed;
};

/// Batches of a card, in the order in which they were launched: each of one stream, mostly all of
/// the same. Valid without construction. Threads: take_place(), is_of() and is_idle() from any; the
/// others with the mutex.
class Batches {
 public:
  /// For a launch that belongs to the batch that is open.
  /// @param key  of its stream
  /// @param heartbeat  now
  /// @returns false if it must begin or end a batch: then the others are called
  bool take_place(std::uint64_t key, std::uint32_t heartbeat) {
    return is_of(key) && !is_old(heartbeat) && left_.fetch_sub(1, std::memory_order_relaxed) > 1;
  }
  /// Was the last batch of this stream?
  [[nodiscard]] bool is_of(std::uint64_t key) const {
    return key_.load(std::memory_order_relaxed) == key;
  }
  /// Is no batch open or on its way?
  [[nodiscard]] bool is_idle() const {
    return !open_.load(std::memory_order_relaxed) &&
           outstanding_.load(std::memory_order_relaxed) == 0;
  }

  OwnedMutex& mutex() { return mutex_; }

  /// Before a launch. Begins a batch unless one of its stream is open; may wait for an earlier one.
  /// @returns whether the batch ends with this launch
  bool begin(const Work& work, Account& account, std::uint32_t heartbeat);
  /// Ends the batch that is open, if any, in its own stream. If that is the default stream of
  /// another thread, the batch lasts until now, at least.
  /// @param here  in a stream whose events the thread can record; null = there is none
  void end(const Work* here, Account& account, std::uint32_t heartbeat);
  /// After the program has waited for the stream: the batch that is open has ended just now. One
  /// that was begun since the last heartbeat goes on: a short wait costs no two events.
  void end_waited(Account& account, std::uint32_t heartbeat);
  /// Accounts the batches that have ended.
  /// @param waits  for all of them, up to half a second
  void settle(Account& account, bool waits);
  /// Before a stream is destroyed: nothing is recorded in it any more.
  void leave(std::uint64_t key, Account& account, std::uint32_t heartbeat);
  /// Gives up the events of a context that is about to end.
  void forget(CUcontext context, Account& account);
  /// In a child after fork(): the events are the parent's.
  void forget_after_fork();

 private:
  struct Batch {
    CUevent begin = nullptr;
    CUevent end = nullptr;
    Work work;              ///< one of its launches
    std::uint64_t key = 0;  ///< of its stream; 0 = which is destroyed
    std::uint32_t launches = 0;
    bool is_uniform = true;  ///< its time says how long its launches take
    bool is_cut = false;     ///< it may take longer than the time between its events
  };
  static constexpr std::size_t kOutstanding = 2;
  static constexpr std::uint32_t kMostHeartbeats = 4;  ///< a batch that lasts longer has gaps

  [[nodiscard]] Batch& newest() { return ring_[next_ % kOutstanding]; }
  [[nodiscard]] Batch& oldest() { return ring_[(next_ - outstanding_) % kOutstanding]; }
  [[nodiscard]] bool is_old(std::uint32_t heartbeat) const {
    return heartbeat - heartbeat_.load(std::memory_order_relaxed) > kMostHeartbeats;
  }
  [[nodiscard]] std::uint32_t launched() const;
  [[nodiscard]] bool prepare_events(CUcontext current);
  void open(std::uint64_t key, std::uint32_t launches, std::uint32_t heartbeat);
  [[nodiscard]] bool reopen(std::uint64_t key, CUcontext current, Account& account,
                            std::uint32_t heartbeat);
  [[nodiscard]] bool close(const Work* here, Account& account);
  void add_closed(Account& account);
  void charge_launches(std::uint32_t launches, Account& account) const;
  void drop_events(Account& account);
  [[nodiscard]] bool settle_oldest(Account& account, bool waits);
  void adapt(const Batch& batch, std::uint64_t ns);

  std::atomic<std::uint64_t> key_{0};        ///< of the stream of the last batch; 0 = none
  std::atomic<std::int32_t> left_{0};        ///< launches until the batch must end; none: no batch
  std::atomic<std::uint32_t> heartbeat_{0};  ///< at its beginning
  std::atomic<std::uint32_t> outstanding_{0};  ///< changed with the mutex only, as all below
  std::atomic<bool> open_{false};
  OwnedMutex mutex_;
  CUcontext context_ = nullptr;  ///< of the events
  std::array<Batch, kOutstanding> ring_;
  std::uint32_t next_ = 0;  ///< of the batch that is open or will be
  std::uint32_t most_outstanding_ = kOutstanding;
  bool stuck_ = false;           ///< the oldest took longer than anybody waits
  std::uint32_t size_ = 1;       ///< launches of the next batch
  std::uint64_t launch_ns_ = 0;  ///< of each launch of the last batch
};

}  // namespace tangram::shim::cuda
