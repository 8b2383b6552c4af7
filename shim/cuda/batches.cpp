#include "shim/cuda/batches.hpp"

#include "shim/cuda/driver.hpp"

#include <time.h>

#include <algorithm>

namespace tangram::shim::cuda {
namespace {

constexpr std::uint64_t kBatchNs = 1'000'000;       // long against two events, short against a turn
constexpr std::uint64_t kLongBatchNs = 10'000'000;  // a turn: the card may idle between two
constexpr unsigned kEventWithTime = 0;
constexpr std::uint32_t kMostLaunches = 1024;  // as many as a driver queues

CUresult record_event(CUevent event, const Work& work) {
  return work.per_thread ? driver::cuEventRecord_ptsz(event, work.stream)
                         : driver::cuEventRecord(event, work.stream);
}

void destroy_event(CUevent& event) {
  if (event != nullptr) (void)driver::cuEventDestroy_v2(event);
  event = nullptr;
}

/// Not cuEventSynchronize(): a kernel may run until the program's next launch.
/// @returns CUDA_ERROR_NOT_READY if it has not ended after half a second
CUresult query(CUevent event, bool waits) {
  constexpr int kPauses = 10'000;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000};
  CUresult result = driver::cuEventQuery(event);
  for (int i = 0; waits && result == CUDA_ERROR_NOT_READY && i < kPauses; ++i) {
    (void)nanosleep(&kPause, nullptr);
    result = driver::cuEventQuery(event);
  }
  return result;
}

std::uint64_t elapsed_ns(CUevent begin, CUevent end) {
  float milliseconds = 0;
  if (driver::cuEventElapsedTime(&milliseconds, begin, end) != CUDA_SUCCESS) return 0;
  constexpr float kNsPerMs = 1e6F;
  return milliseconds > 0 ? static_cast<std::uint64_t>(milliseconds * kNsPerMs) : 0;
}

}  // namespace

CaptureGuard::CaptureGuard() { (void)driver::cuThreadExchangeStreamCaptureMode(&mode_); }
CaptureGuard::~CaptureGuard() { (void)driver::cuThreadExchangeStreamCaptureMode(&mode_); }

bool Batches::begin(const Work& work, Account& account, std::uint32_t heartbeat) {
  const std::uint32_t age = heartbeat - heartbeat_.load(std::memory_order_relaxed);
  if (open_ && age > kMostHeartbeats) abandon(account);
  if (open_ && work.is_graph) end(work, account);
  if (open_) return left_.fetch_sub(1, std::memory_order_relaxed) <= 1;
  account.launches.fetch_add(1, std::memory_order_relaxed);
  while (outstanding_ > 0 && settle_oldest(account, outstanding_ >= most_outstanding_ && !stuck_)) {
  }
  if (outstanding_ == kOutstanding) return false;  // not measured, rather than blocked
  if (!prepare_events()) return false;
  if (record_event(newest().begin, work) != CUDA_SUCCESS) {
    drop_events(account);
    return false;
  }
  open_ = true;
  newest().is_graph = work.is_graph;
  newest().launches = work.is_graph ? 1 : size_;
  heartbeat_.store(heartbeat, std::memory_order_relaxed);
  left_.store(static_cast<std::int32_t>(newest().launches) - 1, std::memory_order_relaxed);
  return newest().launches == 1;
}

void Batches::end(const Work& work, Account& account) {
  if (!open_) return;
  newest().launches = launched();
  open_ = false;
  left_.store(0, std::memory_order_relaxed);
  account.launches.fetch_add(1, std::memory_order_relaxed);
  if (record_event(newest().end, work) != CUDA_SUCCESS) return drop_events(account);
  ++next_;
  ++outstanding_;
  account.in_flight.fetch_add(1, std::memory_order_relaxed);
}

void Batches::settle(Account& account, bool waits) {
  while (outstanding_ > 0 && settle_oldest(account, waits && !stuck_)) {}
}

std::uint32_t Batches::launched() const {
  const std::int32_t left = std::max(left_.load(std::memory_order_relaxed), 0);
  const std::uint32_t planned = ring_[next_ % kOutstanding].launches;
  return std::max(planned - std::min(planned, static_cast<std::uint32_t>(left)), 1U);
}

/// Events belong to a context, and streams of several may meet here.
bool Batches::prepare_events() {
  CUcontext current = nullptr;
  if (driver::cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr) return false;
  if (context_ == current) return true;
  if (outstanding_ > 0) return false;
  for (Batch& batch : ring_) {
    destroy_event(batch.begin);
    destroy_event(batch.end);
  }
  context_ = current;
  for (Batch& batch : ring_) {
    if (driver::cuEventCreate(&batch.begin, kEventWithTime) != CUDA_SUCCESS ||
        driver::cuEventCreate(&batch.end, kEventWithTime) != CUDA_SUCCESS) {
      context_ = nullptr;
      return false;
    }
  }
  return true;
}

/// The program launches so rarely that the batch would be full of gaps.
void Batches::abandon(Account& account) {
  const std::uint32_t launches = launched();
  open_ = false;
  left_.store(0, std::memory_order_relaxed);
  account.busy_ns.fetch_add(launches * launch_ns_, std::memory_order_relaxed);
  size_ = std::max(std::min(size_, launches) / 2, 1U);
}

void Batches::drop_events(Account& account) {
  for (Batch& batch : ring_) {
    destroy_event(batch.begin);
    destroy_event(batch.end);
  }
  if (outstanding_ > 0) account.in_flight.fetch_sub(outstanding_, std::memory_order_relaxed);
  context_ = nullptr;
  outstanding_ = 0;
  open_ = stuck_ = false;
  left_.store(0, std::memory_order_relaxed);
}

/// @returns false if it has not ended
bool Batches::settle_oldest(Account& account, bool waits) {
  const Batch batch = oldest();
  const CUresult ended = query(batch.end, waits);
  if (ended == CUDA_ERROR_NOT_READY) {
    stuck_ = stuck_ || waits;
    return false;
  }
  if (ended != CUDA_SUCCESS) {
    drop_events(account);
    return false;
  }
  const std::uint64_t ns = elapsed_ns(batch.begin, batch.end);
  stuck_ = false;
  --outstanding_;
  most_outstanding_ = ns >= kLongBatchNs ? 1 : kOutstanding;
  account.busy_ns.fetch_add(ns, std::memory_order_relaxed);
  account.batch_us.store(static_cast<std::uint32_t>(ns / 1000), std::memory_order_relaxed);
  account.in_flight.fetch_sub(1, std::memory_order_release);
  if (!batch.is_graph) adapt(batch, ns);
  return true;
}

/// The next batch is to take kBatchNs; it grows slowly, because the launches may change.
void Batches::adapt(const Batch& batch, std::uint64_t ns) {
  launch_ns_ = ns / batch.launches;
  const std::uint64_t fits = kBatchNs / std::max<std::uint64_t>(launch_ns_, 1);
  const std::uint64_t most = std::min(2 * std::max(size_, batch.launches), kMostLaunches);
  size_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fits, 1, most));
}

void Batches::forget(CUcontext context, Account& account) {
  if (context_ == context) drop_events(account);
}

void Batches::forget_after_fork() {
  mutex_.reset();
  left_.store(0, std::memory_order_relaxed);
  context_ = nullptr;
  ring_ = {};
  next_ = outstanding_ = 0;
  open_ = stuck_ = false;
  most_outstanding_ = kOutstanding;
  size_ = 1;
  launch_ns_ = 0;
}

}  // namespace tangram::shim::cuda
