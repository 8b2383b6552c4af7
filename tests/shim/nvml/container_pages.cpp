#include "tests/shim/nvml/container_pages.hpp"

#include "shim/accounts.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace tangram::shim::testing {
namespace {

/// A file that is mapped to be written.
template <class Page>
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    const bool is_sized = fd >= 0 && ftruncate(fd, sizeof(Page)) == 0;
    mapped_ = is_sized ? mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                       : MAP_FAILED;
    if (fd >= 0) close(fd);
    if (mapped_ == MAP_FAILED) throw std::runtime_error("cannot write " + path);
  }
  ~MappedFile() { munmap(mapped_, sizeof(Page)); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Page* operator->() { return static_cast<Page*>(mapped_); }

 private:
  void* mapped_;
};

Uuid uuid_of(std::string text) {
  text.erase(0, text.find('-'));
  text.erase(std::remove(text.begin(), text.end(), '-'), text.end());
  Uuid uuid{};
  if (text.size() != 2 * uuid.size()) throw std::runtime_error("not a UUID: " + text);
  for (std::size_t byte = 0; byte < uuid.size(); ++byte) {
    uuid[byte] = static_cast<std::uint8_t>(std::stoul(text.substr(2 * byte, 2), nullptr, 16));
  }
  return uuid;
}

}  // namespace

void change_limits(const std::string& folder, const std::vector<CardShare>& cards) {
  MappedFile<LimitsPage> limits(folder + "/limits");
  limits->magic = kLimitsMagic;
  limits->version = kPageVersion;
  limits->card_count = static_cast<std::uint32_t>(cards.size());
  for (std::size_t card = 0; card < cards.size(); ++card) {
    limits->cards[card].uuid = uuid_of(cards[card].uuid);
    limits->cards[card].memory_bytes = cards[card].limit_mib * kMebibyte;
    limits->cards[card].overhead_bytes = cards[card].overhead_mib * kMebibyte;
  }
}

void write_pages(const std::string& folder, const std::vector<CardShare>& cards) {
  std::filesystem::remove(folder + "/limits");
  std::filesystem::remove(folder + "/usage");
  change_limits(folder, cards);
  MappedFile<UsagePage> usage(folder + "/usage");
  usage->magic = kUsageMagic;
  usage->version = kPageVersion;
}

ContainerProcess::ContainerProcess(const std::string& folder, std::size_t slot, std::int64_t pid)
    : usage_(open_usage((folder + "/usage").c_str())), slot_(slot) {
  if (usage_.page == nullptr || !lock_slot(usage_, slot)) {
    throw std::runtime_error("cannot take slot " + std::to_string(slot) + " in " + folder);
  }
  usage_.page->taken[slot] = 1;
  SlotAccounts(*usage_.page, slot).recover();
  usage_.page->slots[slot].pid = pid;
}

void ContainerProcess::account(std::size_t card, std::uint64_t mib) {
  (void)SlotAccounts(*usage_.page, slot_).add(card, mib * kMebibyte, kNoLimit);
}

}  // namespace tangram::shim::testing
