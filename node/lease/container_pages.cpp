#include "node/lease/container_pages.hpp"

#include "shim/futex.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tangram::node::lease {
namespace {

constexpr std::size_t kMostSlots = 64;              // of a look
constexpr std::uint64_t kMostBusy = 1'000'000'000;  // of a look, in ns
/// Each lock that a container has makes each question about its locks some ns slower.
constexpr std::chrono::microseconds kMostWork{500};
constexpr int kPauseForWork = 20;

}  // namespace

ContainerPages::ContainerPages(std::shared_ptr<AllocationPages> pages, std::size_t place)
    : pages_(std::move(pages)), place_(place) {}

ContainerPages::~ContainerPages() {
  if (!pages_ || turn_ == shim::kTurnFree) return;
  pages_->limits().leases.fetch_and(~bit());
  limit().turn.store(shim::kTurnFree, std::memory_order_release);
  shim::wake_all(limit().turn);
}

void ContainerPages::set_open(bool open) {
  const std::uint32_t turn = open ? shim::kTurnOpen : shim::kTurnClosed;
  if (turn == turn_) return;
  limit().turn.store(turn, std::memory_order_release);
  if (turn_ == shim::kTurnFree) pages_->limits().leases.fetch_or(bit());
  turn_ = turn;
  if (open) shim::wake_all(limit().turn);
}

void ContainerPages::beat() { limit().heartbeat.fetch_add(1, std::memory_order_release); }

Sight ContainerPages::look(TimePoint now) {
  if (now < next_look_) return last_;
  const Effort effort(kMostWork);
  const AllocationPages::Taken taken = pages_->taken();
  Sight sight;
  std::size_t looked = 0;
  const std::size_t first = first_slot_;
  for (std::size_t i = 0; i < taken.size() && looked < kMostSlots; ++i) {
    const std::size_t slot = (first + i) % taken.size();
    if (taken.at(slot) == 0) continue;
    add(sight, slot);
    ++looked;
    first_slot_ = slot + 1;
    if (effort.is_spent()) {
      next_look_ = now + kPauseForWork * effort.spent();
      break;
    }
  }
  sight.launches = launches_;
  last_ = sight;
  last_.busy = {};
  return sight;
}

void ContainerPages::add(Sight& sight, std::size_t slot) {
  const ReadAccount account = pages_->account(slot, place_);
  const auto [known, added] = last_done_.try_emplace(slot, Done{.busy_ns = account.busy_ns});
  const Done last = std::exchange(known->second, {account.busy_ns, account.launches});
  sight.busy += std::chrono::nanoseconds(std::min(account.busy_ns - last.busy_ns, kMostBusy));
  launches_ += account.launches - last.launches;
  if (account.in_flight == 0 && account.waiting == 0) return;
  if (!pages_->is_alive(slot)) return;
  sight.waits = sight.waits || account.waiting != 0;
  if (account.in_flight == 0) return;
  sight.in_flight = true;
  sight.batch =
      std::max<std::chrono::nanoseconds>(sight.batch, std::chrono::microseconds(account.batch_us));
}

}  // namespace tangram::node::lease
