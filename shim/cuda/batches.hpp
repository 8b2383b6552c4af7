#pragma once

#include "shim/cuda/abi.hpp"
#include "shim/mutex.hpp"
#include "shim/pages.hpp"

#include <array>
#include <atomic>

/// How long the launches of a process take on a card. Launches into streams are grouped in batches
/// of about a millisecond; two events of the driver around each give its time. Two batches can be
/// on their way, of batches of 10 ms or more one: before the next begins, the oldest must have
/// ended. So the work that a process has queued is bounded, and a launch within a batch costs one
/// decrement.
///
/// The time of a batch counts from its first launch to the end of its last: gaps in it count, too,
/// because nobody else can use the card in them. A batch that was begun and not continued is
/// charged by the time of its launches.
namespace tangram::shim::cuda {

/// A launch, or a graph: one unit that is timed on its own.
struct Work {
  CUstream stream = nullptr;
  bool per_thread = false;  ///< what the null stream is
  bool is_graph = false;
};

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

/// The batches of some streams of a card, in the order in which they were launched. Valid without
/// construction. Threads: take_place() from any; the others with the mutex.
class Batches {
 public:
  /// For a launch that belongs to the batch that is open.
  /// @param heartbeat  now
  /// @returns false if it must begin or end a batch: then the others are called
  bool take_place(std::uint32_t heartbeat) {
    return heartbeat - heartbeat_.load(std::memory_order_relaxed) <= kMostHeartbeats &&
           left_.fetch_sub(1, std::memory_order_relaxed) > 1;
  }

  Mutex& mutex() { return mutex_; }

  /// Before a launch. Begins a batch unless one is open; may wait for an earlier one.
  /// @returns whether the batch ends with this launch
  bool begin(const Work& work, Account& account, std::uint32_t heartbeat);
  /// Ends the batch that is open, if any, on this stream.
  void end(const Work& work, Account& account);
  /// Accounts the batches that have ended.
  /// @param waits  for all of them, up to half a second
  void settle(Account& account, bool waits);
  /// Gives up the events of a context that is about to end.
  void forget(CUcontext context, Account& account);
  /// In a child after fork(): the events are the parent's.
  void forget_after_fork();

 private:
  struct Batch {
    CUevent begin = nullptr;
    CUevent end = nullptr;
    std::uint32_t launches = 0;
    bool is_graph = false;
  };
  static constexpr std::size_t kOutstanding = 2;
  static constexpr std::uint32_t kMostHeartbeats = 4;  ///< a batch that lasts longer has gaps

  [[nodiscard]] Batch& newest() { return ring_[next_ % kOutstanding]; }
  [[nodiscard]] Batch& oldest() { return ring_[(next_ - outstanding_) % kOutstanding]; }
  [[nodiscard]] std::uint32_t launched() const;
  [[nodiscard]] bool prepare_events();
  void abandon(Account& account);
  void drop_events(Account& account);
  [[nodiscard]] bool settle_oldest(Account& account, bool waits);
  void adapt(const Batch& batch, std::uint64_t ns);

  std::atomic<std::int32_t> left_{0};        ///< launches until the batch must end; none: no batch
  std::atomic<std::uint32_t> heartbeat_{0};  ///< at its beginning
  Mutex mutex_;                              ///< of all below
  CUcontext context_ = nullptr;              ///< of the events
  std::array<Batch, kOutstanding> ring_;
  std::uint32_t next_ = 0;  ///< of the batch that is open or will be
  std::uint32_t outstanding_ = 0;
  std::uint32_t most_outstanding_ = kOutstanding;
  bool open_ = false;
  bool stuck_ = false;           ///< the oldest took longer than anybody waits
  std::uint32_t size_ = 1;       ///< launches of the next batch
  std::uint64_t launch_ns_ = 0;  ///< of each launch of the last batch
};

}  // namespace tangram::shim::cuda
