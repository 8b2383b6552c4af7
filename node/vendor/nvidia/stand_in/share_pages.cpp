#include "node/vendor/nvidia/stand_in/share_pages.hpp"

#include "base/file.hpp"
#include "base/folder.hpp"
#include "base/quote.hpp"
#include "shim/uuid.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

namespace tangram::node::nvidia {
namespace {

constexpr unsigned kBytesPerMiB = 20;

Error system_error(const std::string& what) {
  return fail(Errc::kUnavailable, what + ": " + std::generic_category().message(errno));
}

/// What the agent works for one container's accounts, at most. What it does not get to counts as
/// overhead, at the container's expense.
constexpr std::chrono::milliseconds kMostWork{20};

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

/// What the living processes account, by the card's place.
using Accounts = std::array<std::uint64_t, shim::kMaxCards>;

Accounts accounts_of_the_living(const AllocationPages& pages) {
  Accounts sums{};
  const Effort effort(kMostWork);
  const AllocationPages::Taken taken = pages.taken();
  for (std::size_t slot = 0; slot < taken.size() && !effort.is_spent(); ++slot) {
    if (taken.at(slot) == 0 || !pages.is_alive(slot)) continue;
    for (std::size_t place = 0; place < pages.limits().card_count; ++place) {
      sums.at(place) += pages.account(slot, place).bytes;
    }
  }
  return sums;
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

}  // namespace

SharePages::SharePages(std::string folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    (void)open(entry.path().filename().string());
  }
}

std::string SharePages::path(std::string_view allocation) const {
  return folder_ + "/" + std::string(allocation);
}

/// Under mutex_. @returns null if there are none
SharePages::Open* SharePages::open(std::string_view allocation) {
  const auto known = open_.find(allocation);
  if (known != open_.end()) return &known->second;
  auto pages = AllocationPages::open(path(allocation));
  if (!pages) return nullptr;
  return &open_.emplace(allocation, Open{.pages = std::move(*pages)}).first->second;
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
  const Open* const known = open(allocation);
  if (known == nullptr || !lists(known->pages->limits(), cards) || !known->pages->cut_to_size()) {
    open_.erase(std::string(allocation));
    if (auto made = make(folder, cards); !made) return made.error();
    (void)open(allocation);
    return paths;
  }
  for (std::size_t i = 0; i < cards.size(); ++i) {
    known->pages->limits().cards.at(i).memory_bytes = limit_of(cards[i]);
  }
  return paths;
}

Result<void> SharePages::change(std::string_view allocation,
                                const std::vector<model::GrantedCard>& cards) {
  const std::lock_guard lock(mutex_);
  const Open* const known = is_plain(allocation) ? open(allocation) : nullptr;
  const auto is_listed = [&](const model::GrantedCard& card) {
    return known->pages->place_of(card.uuid).has_value();
  };
  if (known == nullptr || !std::ranges::all_of(cards, is_listed)) {
    return fail(Errc::kNotFound, "allocation " + quote(allocation) + " has no pages of its cards");
  }
  for (const model::GrantedCard& card : cards) {
    known->pages->limits().cards.at(*known->pages->place_of(card.uuid)).memory_bytes =
        limit_of(card);
  }
  return {};
}

void SharePages::keep(const std::set<std::string, std::less<>>& allocations) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [&](const auto& entry) { return !allocations.contains(entry.first); });
  remove_all_but(folder_, allocations);
}

bool SharePages::settle(std::string_view allocation, const MemoryByCard& used) {
  const std::lock_guard lock(mutex_);
  Open* const known = open(allocation);
  if (known == nullptr) return false;
  const AllocationPages& pages = *known->pages;
  (void)pages.cut_to_size();
  const Accounts accounts = accounts_of_the_living(pages);
  for (const auto& [card, bytes] : used) {
    const auto place = pages.place_of(card);
    if (!place) continue;
    const std::uint64_t accounted = accounts.at(*place);
    const std::uint64_t overhead = bytes > accounted ? bytes - accounted : 0;
    const std::uint64_t last = std::exchange(known->last_overhead.at(*place), overhead);
    pages.limits().cards.at(*place).overhead_bytes = std::min(overhead, last);
  }
  return true;
}

std::optional<std::uint64_t> SharePages::accounted(std::string_view allocation,
                                                   std::string_view card) {
  const auto pages = find(allocation);
  const auto place = pages ? pages->place_of(card) : std::nullopt;
  if (!place) return std::nullopt;
  return accounts_of_the_living(*pages).at(*place);
}

std::shared_ptr<AllocationPages> SharePages::find(std::string_view allocation) {
  const std::lock_guard lock(mutex_);
  const Open* const known = open(allocation);
  return known == nullptr ? nullptr : known->pages;
}

std::optional<std::uint64_t> SharePages::in_use(std::string_view allocation,
                                                std::string_view card) {
  const auto pages = find(allocation);
  const auto place = pages ? pages->place_of(card) : std::nullopt;
  if (!place) return std::nullopt;
  // It is the container's to write.
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t overhead = pages->limits().cards.at(*place).overhead_bytes;
  const std::uint64_t accounted = accounts_of_the_living(*pages).at(*place);
  return accounted > kMost - overhead ? kMost : accounted + overhead;
}

}  // namespace tangram::node::nvidia
