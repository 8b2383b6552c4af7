#include "node/pages/allocation_pages.hpp"

#include "shim/futex.hpp"
#include "shim/page_files.hpp"
#include "shim/uuid.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace tangram::node {
namespace {

/// An account, in the order of the page.
struct AccountWords {
  std::uint64_t bytes;
  std::array<std::uint64_t, 4> changes;
  std::uint64_t busy_ns;
  std::uint32_t launches;
  std::uint32_t in_flight;
  std::uint32_t waiting;
  std::uint32_t batch_us;
};
static_assert(sizeof(AccountWords) == sizeof(shim::Account));
static_assert(offsetof(AccountWords, bytes) == offsetof(shim::Account, bytes) &&
              offsetof(AccountWords, busy_ns) == offsetof(shim::Account, busy_ns) &&
              offsetof(AccountWords, waiting) == offsetof(shim::Account, waiting));

/// Zeros if the file ends before it.
template <class Value>
Value read_at(int fd, std::size_t offset) {
  Value value{};
  if (pread(fd, &value, sizeof(value), static_cast<off_t>(offset)) != sizeof(value)) return {};
  return value;
}

std::size_t account_offset(std::size_t slot, std::size_t place) {
  return offsetof(shim::UsagePage, slots) + slot * sizeof(shim::Slot) +
         offsetof(shim::Slot, accounts) + place * sizeof(shim::Account);
}

void free_turns(shim::LimitsPage& limits) {
  limits.leases.store(0, std::memory_order_release);
  for (shim::CardLimit& card : limits.cards) {
    if (card.turn.exchange(shim::kTurnFree) != shim::kTurnFree) shim::wake_all(card.turn);
  }
}

std::chrono::nanoseconds worked() {
  timespec now{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Result<std::shared_ptr<AllocationPages>> AllocationPages::open(const std::string& folder) {
  const std::shared_ptr<AllocationPages> pages(new AllocationPages);
  pages->limits_ = shim::map_limits_to_write((folder + "/limits").c_str());
  if (pages->limits_ == nullptr) {
    return fail(Errc::kUnavailable, folder + "/limits is no page of this version");
  }
  free_turns(*pages->limits_);
  pages->usage_fd_ =
      ::open((folder + "/usage").c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (pages->usage_fd_ < 0) return fail(Errc::kUnavailable, "cannot open " + folder + "/usage");
  void* const mapped =
      mmap(nullptr, sizeof(shim::UsagePage), PROT_READ, MAP_SHARED, pages->usage_fd_, 0);
  if (mapped == MAP_FAILED) return fail(Errc::kUnavailable, "cannot map " + folder + "/usage");
  pages->usage_ = static_cast<const shim::UsagePage*>(mapped);
  return pages;
}

AllocationPages::~AllocationPages() {
  if (limits_ != nullptr) shim::unmap_limits(limits_);
  if (usage_ != nullptr) {
    (void)munmap(const_cast<shim::UsagePage*>(usage_), sizeof(shim::UsagePage));
  }
  if (usage_fd_ >= 0) (void)::close(usage_fd_);
}

std::optional<std::size_t> AllocationPages::place_of(std::string_view card) const {
  const auto uuid = shim::uuid_of(card);
  for (std::size_t place = 0; uuid && place < limits_->card_count; ++place) {
    if (limits_->cards.at(place).uuid == *uuid) return place;
  }
  return std::nullopt;
}

AllocationPages::Taken AllocationPages::taken() const {
  return read_at<Taken>(usage_fd_, offsetof(shim::UsagePage, taken));
}

ReadAccount AllocationPages::account(std::size_t slot, std::size_t place) const {
  const auto words = read_at<AccountWords>(usage_fd_, account_offset(slot, place));
  return {.bytes = words.bytes,
          .busy_ns = words.busy_ns,
          .launches = words.launches,
          .in_flight = words.in_flight,
          .waiting = words.waiting,
          .batch_us = words.batch_us};
}

bool AllocationPages::is_alive(std::size_t slot) const {
  return shim::is_locked({.fd = usage_fd_, .page = nullptr}, slot);
}

std::uint32_t AllocationPages::lease_news(std::size_t place) const {
  return read_at<std::uint32_t>(usage_fd_, offsetof(shim::UsagePage, totals) +
                                               place * sizeof(shim::Total) +
                                               offsetof(shim::Total, lease_news));
}

void AllocationPages::wait_for_lease_news(std::size_t place, std::uint32_t known) const {
  (void)shim::wait_while(usage_->totals.at(place).lease_news, known, 1);
}

bool AllocationPages::cut_to_size() const {
  constexpr off_t kHugePage = off_t{2} << 20U;  // what tmpfs may take at once
  struct stat status {};
  constexpr auto kSize = static_cast<off_t>(sizeof(shim::UsagePage));
  if (fstat(usage_fd_, &status) != 0 || status.st_size < kSize) return false;
  // Beyond its end, too, a file can have memory.
  constexpr blkcnt_t kBlock = 512;  // of st_blocks
  constexpr auto kMost = (kSize / kHugePage + 1) * kHugePage;
  const bool too_large = status.st_size > kSize || status.st_blocks * kBlock > kMost;
  if (too_large && ftruncate(usage_fd_, kSize) != 0) return false;
  return read_at<std::uint64_t>(usage_fd_, offsetof(shim::UsagePage, magic)) == shim::kUsageMagic;
}

Effort::Effort(std::chrono::nanoseconds most) : most_(most), begin_(worked()) {}

std::chrono::nanoseconds Effort::spent() const { return worked() - begin_; }

}  // namespace tangram::node
