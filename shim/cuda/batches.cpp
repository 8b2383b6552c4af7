#include "shim/cuda/batches.hpp"

#include "shim/cuda/driver.hpp"
#include "shim/patience.hpp"

#include <algorithm>
#include <utility>

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
  CUresult result = driver::cuEventQuery(event);
  if (!waits || result != CUDA_ERROR_NOT_READY) return result;
  (void)try_for_half_a_second([&] {
    result = driver::cuEventQuery(event);
    return result != CUDA_ERROR_NOT_READY;
  });
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

bool is_captured(const Work& work) {
  int capturing = 0;
  const CUresult known = work.per_thread ? driver::cuStreamIsCapturing_ptsz(work.stream, &capturing)
                                         : driver::cuStreamIsCapturing(work.stream, &capturing);
  return known != CUDA_SUCCESS || capturing != 0;
}

bool Batches::begin(const Work& work, Account& account, std::uint32_t heartbeat) {
  const std::uint64_t key = key_of(work);
  if (work.is_graph || !is_of(key) || is_old(heartbeat)) end(&work, account, heartbeat);
  if (open_) return left_.fetch_sub(1, std::memory_order_relaxed) <= 1;
  account.launches.fetch_add(1, std::memory_order_relaxed);
  CUcontext current = nullptr;
  if (driver::cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr) return false;
  const std::uint32_t most = context_ == current ? most_outstanding_ : 1;
  while (outstanding_ > 0 && settle_oldest(account, outstanding_ >= most && !stuck_)) {}
  if (outstanding_ == kOutstanding || (outstanding_ > 0 && context_ != current)) {
    return reopen(key, current, account, heartbeat);
  }
  if (!prepare_events(current)) return false;
  if (record_event(newest().begin, work) != CUDA_SUCCESS) {
    drop_events(account);
    return false;
  }
  if (!is_of(key)) size_ = 1;
  newest().work = work;
  newest().is_uniform = !work.is_graph;
  open(key, work.is_graph ? 1 : size_, heartbeat);
  return newest().launches == 1;
}

void Batches::open(std::uint64_t key, std::uint32_t launches, std::uint32_t heartbeat) {
  open_ = true;
  newest().key = key;
  newest().launches = launches;
  key_.store(key, std::memory_order_relaxed);
  heartbeat_.store(heartbeat, std::memory_order_relaxed);
  left_.store(static_cast<std::int32_t>(launches) - 1, std::memory_order_relaxed);
}

/// All places are taken, and the wait for one was given up: the launch joins the batch of its
/// stream. Without one, which takes more streams than there are groups, it is charged by the time
/// of others.
bool Batches::reopen(std::uint64_t key, CUcontext current, Account& account,
                     std::uint32_t heartbeat) {
  Batch& last = ring_[(next_ - 1) % kOutstanding];
  if (last.key != key) std::swap(last, oldest());
  if (last.key != key || context_ != current) {
    charge_launches(1, account);
    return false;
  }
  --next_;
  --outstanding_;
  account.in_flight.fetch_sub(1, std::memory_order_relaxed);
  last.is_uniform = false;
  open(key, last.launches + 1, heartbeat);
  left_.store(0, std::memory_order_relaxed);
  return true;
}

/// @returns false if its end cannot be recorded: then it is charged
bool Batches::close(const Work* here, Account& account) {
  Batch& batch = newest();
  batch.launches = launched();
  open_ = false;
  left_.store(0, std::memory_order_relaxed);
  account.launches.fetch_add(1, std::memory_order_relaxed);
  batch.is_cut = key_of(batch.work) != batch.key || is_captured(batch.work);
  const Work* const in = batch.is_cut ? here : &batch.work;
  if (in != nullptr && record_event(batch.end, *in) == CUDA_SUCCESS) return true;
  charge_launches(batch.launches, account);
  return false;
}

void Batches::add_closed(Account& account) {
  ++next_;
  ++outstanding_;
  account.in_flight.fetch_add(1, std::memory_order_relaxed);
}

void Batches::end(const Work* here, Account& account, std::uint32_t heartbeat) {
  if (!open_ || !close(here, account)) return;
  if (!is_old(heartbeat) || query(newest().end, false) != CUDA_SUCCESS) return add_closed(account);
  // The program launches so rarely that the batch would be full of gaps.
  size_ = std::max(std::min(size_, newest().launches) / 2, 1U);
  charge_launches(newest().launches, account);
}

void Batches::end_waited(Account& account, std::uint32_t heartbeat) {
  const bool is_young = heartbeat == heartbeat_.load(std::memory_order_relaxed);
  if (open_ && !is_young && close(nullptr, account)) add_closed(account);
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
bool Batches::prepare_events(CUcontext current) {
  if (context_ == current) return true;
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

/// What cannot be measured.
void Batches::charge_launches(std::uint32_t launches, Account& account) const {
  account.busy_ns.fetch_add(launches * launch_ns_, std::memory_order_relaxed);
}

void Batches::drop_events(Account& account) {
  for (Batch& batch : ring_) {
    destroy_event(batch.begin);
    destroy_event(batch.end);
  }
  if (outstanding_ > 0) account.in_flight.fetch_sub(outstanding_, std::memory_order_relaxed);
  context_ = nullptr;
  outstanding_ = 0;
  open_ = false;
  stuck_ = false;
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
  const std::uint64_t between = elapsed_ns(batch.begin, batch.end);
  const std::uint64_t ns = batch.is_cut ? std::max(between, batch.launches * launch_ns_) : between;
  stuck_ = false;
  --outstanding_;
  most_outstanding_ = ns >= kLongBatchNs ? 1 : kOutstanding;
  account.busy_ns.fetch_add(ns, std::memory_order_relaxed);
  account.batch_us.store(static_cast<std::uint32_t>(ns / 1000), std::memory_order_relaxed);
  account.in_flight.fetch_sub(1, std::memory_order_release);
  if (batch.is_uniform && !batch.is_cut) adapt(batch, ns);
  return true;
}

/// The next batch is to take kBatchNs; it grows slowly, because the launches may change.
void Batches::adapt(const Batch& batch, std::uint64_t ns) {
  launch_ns_ = ns / batch.launches;
  const std::uint64_t fits = kBatchNs / std::max<std::uint64_t>(launch_ns_, 1);
  const std::uint64_t most = std::min(2 * std::max(size_, batch.launches), kMostLaunches);
  size_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fits, 1, most));
}

void Batches::leave(std::uint64_t key, Account& account, std::uint32_t heartbeat) {
  if (is_of(key)) end(nullptr, account, heartbeat);
  for (Batch& batch : ring_) {
    if (batch.key == key) batch.key = 0;  // another stream can have the handle soon
  }
}

void Batches::forget(CUcontext context, Account& account) {
  if (context_ == context) drop_events(account);
}

void Batches::forget_after_fork() {
  mutex_.reset();
  key_.store(0, std::memory_order_relaxed);
  left_.store(0, std::memory_order_relaxed);
  context_ = nullptr;
  ring_ = {};
  next_ = 0;
  outstanding_ = 0;
  open_ = false;
  stuck_ = false;
  most_outstanding_ = kOutstanding;
  size_ = 1;
  launch_ns_ = 0;
}

}  // namespace tangram::shim::cuda
