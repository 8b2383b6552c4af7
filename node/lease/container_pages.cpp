#include "node/lease/container_pages.hpp"

#include "shim/futex.hpp"
#include "shim/page_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace tangram::node::lease {
namespace {

constexpr std::size_t kMostSlots = 64;  // of a look: what a container can make the agent do
constexpr std::uint64_t kMostBusy = 1'000'000'000;  // of a look, in ns

/// The words of an account that the agent reads, in the order of the page.
struct AccountWords {
  std::array<std::uint64_t, 5> memory;
  std::uint64_t busy_ns;
  std::uint32_t launches;
  std::uint32_t in_flight;
  std::uint32_t waiting;
  std::uint32_t batch_us;
};
static_assert(sizeof(AccountWords) == sizeof(shim::Account));
static_assert(offsetof(AccountWords, busy_ns) == offsetof(shim::Account, busy_ns) &&
              offsetof(AccountWords, waiting) == offsetof(shim::Account, waiting));

/// Zeros if the file ends before it.
template <class Value>
Value read_at(int fd, std::size_t offset) {
  Value value{};
  if (pread(fd, &value, sizeof(value), static_cast<off_t>(offset)) != sizeof(value)) return {};
  return value;
}

std::size_t account_offset(std::size_t slot, std::size_t card) {
  return offsetof(shim::UsagePage, slots) + slot * sizeof(shim::Slot) +
         offsetof(shim::Slot, accounts) + card * sizeof(shim::Account);
}

template <class Page>
Page* map_page(int fd, int protection) {
  void* const mapped = mmap(nullptr, sizeof(Page), protection, MAP_SHARED, fd, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<Page*>(mapped);
}

struct Header {
  std::uint64_t magic;
  std::uint32_t version;
};
bool is_page(int fd, std::uint64_t magic, std::size_t size) {
  struct stat status {};
  const auto header = read_at<Header>(fd, 0);
  return fstat(fd, &status) == 0 && static_cast<std::size_t>(status.st_size) >= size &&
         header.magic == magic && header.version == shim::kPageVersion;
}

Error unreadable(const std::string& path) {
  return fail(Errc::kUnavailable,
              "cannot lease time to the container of " + path + ": it is no page of this version");
}

}  // namespace

Result<ContainerPages> ContainerPages::open(const std::string& limits, const std::string& usage,
                                            std::size_t card) {
  ContainerPages pages;
  const int limits_fd = ::open(limits.c_str(), O_RDWR | O_CLOEXEC);
  if (is_page(limits_fd, shim::kLimitsMagic, sizeof(shim::LimitsPage))) {
    pages.limits_ = map_page<shim::LimitsPage>(limits_fd, PROT_READ | PROT_WRITE);
  }
  if (limits_fd >= 0) (void)::close(limits_fd);
  if (pages.limits_ == nullptr || card >= shim::kMaxCards) return unreadable(limits);
  pages.usage_fd_ = ::open(usage.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (is_page(pages.usage_fd_, shim::kUsageMagic, sizeof(shim::UsagePage))) {
    pages.usage_ = map_page<const shim::UsagePage>(pages.usage_fd_, PROT_READ);
  }
  if (pages.usage_ == nullptr) return unreadable(usage);
  pages.card_ = card;
  return pages;
}

ContainerPages::ContainerPages(ContainerPages&& other) noexcept { *this = std::move(other); }

ContainerPages& ContainerPages::operator=(ContainerPages&& other) noexcept {
  if (this == &other) return *this;
  close();
  limits_ = std::exchange(other.limits_, nullptr);
  usage_ = std::exchange(other.usage_, nullptr);
  usage_fd_ = std::exchange(other.usage_fd_, -1);
  card_ = other.card_;
  first_slot_ = other.first_slot_;
  busy_ns_ = std::move(other.busy_ns_);
  turn_ = std::exchange(other.turn_, shim::kTurnFree);
  return *this;
}

ContainerPages::~ContainerPages() { close(); }

void ContainerPages::close() {
  if (turn_ != shim::kTurnFree) {
    limits_->leases.fetch_and(~(1U << card_));
    limit().turn.store(shim::kTurnFree, std::memory_order_release);
    shim::wake_all(limit().turn);
  }
  if (limits_ != nullptr) (void)munmap(limits_, sizeof(shim::LimitsPage));
  if (usage_ != nullptr) {
    (void)munmap(const_cast<shim::UsagePage*>(usage_), sizeof(shim::UsagePage));
  }
  if (usage_fd_ >= 0) (void)::close(usage_fd_);
}

void ContainerPages::set_open(bool open) {
  const std::uint32_t turn = open ? shim::kTurnOpen : shim::kTurnClosed;
  if (turn == turn_) return;
  limit().turn.store(turn, std::memory_order_release);
  if (turn_ == shim::kTurnFree) limits_->leases.fetch_or(1U << card_);
  turn_ = turn;
  if (open) shim::wake_all(limit().turn);
}

void ContainerPages::beat() { limit().heartbeat.fetch_add(1, std::memory_order_release); }

Sight ContainerPages::look() {
  using Taken = std::array<std::uint8_t, shim::kMaxProcesses>;
  const auto taken = read_at<Taken>(usage_fd_, offsetof(shim::UsagePage, taken));
  Sight sight;
  std::size_t looked = 0;
  const std::size_t first = first_slot_;
  for (std::size_t i = 0; i < taken.size() && looked < kMostSlots; ++i) {
    const std::size_t slot = (first + i) % taken.size();
    if (taken[slot] == 0) continue;
    add(sight, slot);
    ++looked;
    first_slot_ = slot + 1;
  }
  return sight;
}

void ContainerPages::add(Sight& sight, std::size_t slot) {
  const auto words = read_at<AccountWords>(usage_fd_, account_offset(slot, card_));
  const auto [known, added] = busy_ns_.try_emplace(slot, words.busy_ns);
  const std::uint64_t busy = std::min(words.busy_ns - known->second, kMostBusy);
  known->second = words.busy_ns;
  sight.busy += std::chrono::nanoseconds(busy);
  sight.launches += words.launches;
  if (words.in_flight == 0 && words.waiting == 0) return;
  const shim::UsageFile file{.fd = usage_fd_, .page = nullptr};
  if (!shim::is_locked(file, slot)) return;  // it is dead
  sight.waits = sight.waits || words.waiting != 0;
  if (words.in_flight == 0) return;
  sight.in_flight = true;
  sight.batch =
      std::max<std::chrono::nanoseconds>(sight.batch, std::chrono::microseconds(words.batch_us));
}

std::uint32_t ContainerPages::news() const {
  return read_at<std::uint32_t>(usage_fd_, offsetof(shim::UsagePage, totals) +
                                               card_ * sizeof(shim::Total) +
                                               offsetof(shim::Total, lease_news));
}

void ContainerPages::wait_for_news(std::uint32_t known) const {
  (void)shim::wait_while(usage_->totals[card_].lease_news, known, 1);
}

}  // namespace tangram::node::lease
