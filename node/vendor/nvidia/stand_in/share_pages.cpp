#include "node/vendor/nvidia/stand_in/share_pages.hpp"

#include "base/file.hpp"
#include "base/quote.hpp"
#include "shim/uuid.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

namespace tangram::node::nvidia {
namespace {

constexpr unsigned kBytesPerMiB = 20;

Error system_error(const std::string& what) {
  return fail(Errc::kUnavailable, what + ": " + std::generic_category().message(errno));
}

/// Writable: the agent changes limits under running processes.
shim::LimitsPage* map_writable(const std::string& path) {
  if (const auto* const checked = shim::map_limits(path.c_str()); checked != nullptr) {
    (void)munmap(const_cast<shim::LimitsPage*>(checked), sizeof(shim::LimitsPage));
  } else {
    return nullptr;
  }
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* const mapped =
      mmap(nullptr, sizeof(shim::LimitsPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  (void)::close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<shim::LimitsPage*>(mapped);
}

/// A page of zeros but for its header, with a mode that the umask does not narrow.
Result<void> make_usage(const std::string& path) {
  struct Header {
    std::uint64_t magic = shim::kUsageMagic;
    std::uint32_t version = shim::kPageVersion;
  };
  const Header header;
  const std::string part = path + std::string(kPartSuffix);
  const int fd = ::open(part.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return system_error("make " + part);
  // Whoever the container's user is.
  const bool made = ftruncate(fd, sizeof(shim::UsagePage)) == 0 && fchmod(fd, 0666) == 0 &&
                    pwrite(fd, &header, sizeof(header), 0) == sizeof(header) &&
                    rename(part.c_str(), path.c_str()) == 0;
  const Error error = system_error("make " + path);
  (void)::close(fd);
  return made ? Result<void>{} : error;
}

std::uint64_t limit_of(const model::GrantedCard& card) {
  return static_cast<std::uint64_t>(card.memory_limit.count()) << kBytesPerMiB;
}

/// A part of the usage page.
/// @returns false if the container has cut the file short
template <std::size_t Size>
bool read_at(int fd, std::size_t offset, std::array<char, Size>& part) {
  return pread(fd, part.data(), Size, static_cast<off_t>(offset)) == static_cast<ssize_t>(Size);
}

/// What the living processes account, by the card's place.
using Accounts = std::array<std::uint64_t, shim::kMaxCards>;

Accounts accounts_of_the_living(int usage) {
  Accounts sums{};
  std::array<char, shim::kMaxProcesses> taken{};
  if (!read_at(usage, offsetof(shim::UsagePage, taken), taken)) return sums;
  for (std::size_t number = 0; number < taken.size(); ++number) {
    if (taken.at(number) == 0 || !shim::is_locked({.fd = usage}, number)) continue;
    std::array<char, sizeof(shim::Slot)> slot{};
    if (!read_at(usage, offsetof(shim::UsagePage, slots) + number * slot.size(), slot)) break;
    for (std::size_t card = 0; card < sums.size(); ++card) {
      std::uint64_t bytes = 0;
      const std::size_t account = offsetof(shim::Slot, accounts) + card * sizeof(shim::Account);
      std::memcpy(&bytes, slot.data() + account + offsetof(shim::Account, bytes), sizeof(bytes));
      sums.at(card) += bytes;
    }
  }
  return sums;
}

/// What a container writes beyond the page lies in the host's memory.
void cut_to_size(int usage) {
  struct stat status {};
  if (fstat(usage, &status) != 0 || status.st_size <= off_t{sizeof(shim::UsagePage)}) return;
  (void)ftruncate(usage, sizeof(shim::UsagePage));
}

/// The container has cut the page short or destroyed its header: nothing could use it.
bool is_spoiled(int usage) {
  struct stat status {};
  std::array<char, sizeof(std::uint64_t)> magic{};
  return fstat(usage, &status) != 0 || status.st_size < off_t{sizeof(shim::UsagePage)} ||
         !read_at(usage, offsetof(shim::UsagePage, magic), magic) ||
         std::memcmp(magic.data(), &shim::kUsageMagic, magic.size()) != 0;
}

/// It can neither leave the folder nor name one inside another.
bool is_plain(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-:.";
  return !name.empty() && name.front() != '.' &&
         name.find_first_not_of(kPlain) == std::string_view::npos;
}

/// The page lists these cards in this order.
bool lists(const shim::LimitsPage& page, const std::vector<model::GrantedCard>& cards) {
  return page.card_count == cards.size() &&
         std::equal(cards.begin(), cards.end(), page.cards.begin(),
                    [](const auto& card, const auto& limit) {
                      return shim::uuid_of(card.uuid) == limit.uuid;
                    });
}

std::optional<std::size_t> place_of(const shim::LimitsPage& page, std::string_view card) {
  const auto uuid = shim::uuid_of(card);
  for (std::size_t place = 0; uuid && place < page.card_count; ++place) {
    if (page.cards.at(place).uuid == *uuid) return place;
  }
  return std::nullopt;
}

}  // namespace

SharePages::~SharePages() {
  for (auto& [allocation, pages] : open_) close(pages);
}

std::string SharePages::path(std::string_view allocation) const {
  return folder_ + "/" + std::string(allocation);
}

void SharePages::close(Open& open) {
  if (open.limits != nullptr) (void)munmap(open.limits, sizeof(shim::LimitsPage));
  if (open.usage >= 0) (void)::close(open.usage);
  open = {};
}

/// Under mutex_. @returns null if there are none
SharePages::Open* SharePages::open(std::string_view allocation) {
  Open& pages = open_[std::string(allocation)];
  if (pages.limits == nullptr) pages.limits = map_writable(path(allocation) + "/limits");
  if (pages.usage < 0) {
    // Without waiting: a container's root may have taken a lease while no agent ran.
    pages.usage = ::open((path(allocation) + "/usage").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  }
  if (pages.limits != nullptr && pages.usage >= 0) return &pages;
  close(pages);
  open_.erase(std::string(allocation));
  return nullptr;
}

/// The usage page first: whoever sees limits finds both.
Result<void> SharePages::make(const std::string& folder,
                              const std::vector<model::GrantedCard>& cards) const {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return fail(Errc::kUnavailable, "make " + folder + ": " + failed.message());
  // Other users of the host cannot reach the pages; containers have them mounted.
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, failed);
  if (auto made = make_usage(folder + "/usage"); !made) return made.error();
  shim::LimitsPage page{};
  page.magic = shim::kLimitsMagic;
  page.version = shim::kPageVersion;
  page.card_count = static_cast<std::uint32_t>(cards.size());
  for (std::size_t i = 0; i < cards.size(); ++i) {
    page.cards.at(i).uuid = *shim::uuid_of(cards[i].uuid);
    page.cards.at(i).memory_bytes = limit_of(cards[i]);
  }
  std::array<char, sizeof(page)> bytes{};
  std::copy_n(reinterpret_cast<const char*>(&page), sizeof(page), bytes.begin());
  return replace_file(folder + "/limits", {bytes.data(), bytes.size()});
}

Result<SharePages::Paths> SharePages::put(std::string_view allocation,
                                          const std::vector<model::GrantedCard>& cards) {
  if (cards.size() > shim::kMaxCards) {
    return fail(Errc::kInvalidArgument, "a container can have at most " +
                                            std::to_string(shim::kMaxCards) +
                                            " cards with a memory limit of Tangram's library");
  }
  for (const model::GrantedCard& card : cards) {
    if (shim::uuid_of(card.uuid)) continue;
    return fail(Errc::kInvalidArgument, "card " + quote(card.uuid) +
                                            " has no UUID, by which Tangram's library knows cards; "
                                            "update the driver to r535 or newer");
  }
  if (!is_plain(allocation)) {
    return fail(Errc::kInvalidArgument, "allocation " + quote(allocation) + " is no plain name");
  }
  const std::lock_guard lock(mutex_);
  const std::string folder = path(allocation);
  const Paths paths{.limits = folder + "/limits", .usage = folder + "/usage"};
  Open* const pages = open(allocation);
  if (pages == nullptr || !lists(*pages->limits, cards) || is_spoiled(pages->usage)) {
    if (pages != nullptr) close(*pages);
    open_.erase(std::string(allocation));
    if (auto made = make(folder, cards); !made) return made.error();
    (void)open(allocation);
    return paths;
  }
  for (std::size_t i = 0; i < cards.size(); ++i) {
    pages->limits->cards.at(i).memory_bytes = limit_of(cards[i]);
  }
  return paths;
}

void SharePages::keep(const std::set<std::string, std::less<>>& allocations) {
  const std::lock_guard lock(mutex_);
  for (auto entry = open_.begin(); entry != open_.end();) {
    const bool kept = allocations.contains(entry->first);
    if (!kept) close(entry->second);
    entry = kept ? std::next(entry) : open_.erase(entry);
  }
  std::vector<std::filesystem::path> superfluous;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    if (!allocations.contains(entry.path().filename().string()))
      superfluous.push_back(entry.path());
  }
  for (const auto& folder : superfluous) std::filesystem::remove_all(folder, ignored);
}

bool SharePages::settle(std::string_view allocation, const MemoryByCard& used) {
  const std::lock_guard lock(mutex_);
  Open* const pages = open(allocation);
  if (pages == nullptr) return false;
  cut_to_size(pages->usage);
  const Accounts accounts = accounts_of_the_living(pages->usage);
  for (const auto& [card, bytes] : used) {
    const auto place = place_of(*pages->limits, card);
    if (!place) continue;
    const std::uint64_t accounted = accounts.at(*place);
    const std::uint64_t overhead = bytes > accounted ? bytes - accounted : 0;
    const std::uint64_t last = std::exchange(pages->last_overhead.at(*place), overhead);
    pages->limits->cards.at(*place).overhead_bytes = std::min(overhead, last);
  }
  return true;
}

std::optional<std::uint64_t> SharePages::accounted(std::string_view allocation,
                                                   std::string_view card) {
  const std::lock_guard lock(mutex_);
  const Open* const pages = open(allocation);
  if (pages == nullptr) return std::nullopt;
  const auto place = place_of(*pages->limits, card);
  if (!place) return std::nullopt;
  return accounts_of_the_living(pages->usage).at(*place);
}

}  // namespace tangram::node::nvidia
