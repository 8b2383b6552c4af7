#include "tests/shim/stand_in_rig.hpp"

#include "shim/futex.hpp"
#include "shim/page_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace tangram::shim {
namespace {

/// A file of zeros with a page's header, mapped.
template <class Page>
Page* make_page(const std::string& path, std::uint64_t magic) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Page)) != 0) throw std::runtime_error(path);
  void* const mapped = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  (void)close(fd);
  if (mapped == MAP_FAILED) throw std::runtime_error("mmap " + path);
  auto* const page = static_cast<Page*>(mapped);
  page->magic = magic;
  page->version = kPageVersion;
  return page;
}

Uuid uuid_of(std::size_t card) {
  Uuid uuid{};
  uuid.fill(static_cast<std::uint8_t>(0xa0U + card));
  return uuid;
}

std::vector<std::string> with_library_path(const StandInRig& rig,
                                           const std::vector<std::string>& variables) {
  std::vector<std::string> environment{"LD_LIBRARY_PATH=" + rig.path() + "/lib"};
  environment.insert(environment.end(), variables.begin(), variables.end());
  return environment;
}

}  // namespace

StandInRig::StandInRig(std::initializer_list<RigCard> of) {
  const std::vector<RigCard> cards(of);
  namespace fs = std::filesystem;
  const fs::path root = path();
  fs::create_directories(root / "tangram/driver");
  fs::create_directories(root / "lib");
  fs::create_symlink(TANGRAM_STAND_IN, root / "lib/libcuda.so.1");
  fs::create_symlink(TANGRAM_STAND_IN, root / "lib/libcuda.so");
  fs::create_symlink(TANGRAM_FAKE_CUDA, root / "tangram/driver/libcuda.so.1");
  limits_ = make_page<LimitsPage>(root / "tangram/limits", kLimitsMagic);
  usage_ = make_page<UsagePage>(root / "tangram/usage", kUsageMagic);
  const std::string card_file = root / fake_cuda::kCardFile;
  cards_ = fake_cuda::create_card_file(card_file.c_str());
  if (cards_ == nullptr) throw std::runtime_error(card_file);
  cards_fd_ = open(card_file.c_str(), O_RDWR | O_CLOEXEC);
  cards_->count = limits_->card_count = static_cast<std::uint32_t>(cards.size());
  for (std::size_t i = 0; i < cards.size(); ++i) {
    limits_->cards[i].uuid = uuid_of(i);
    limits_->cards[i].memory_bytes = cards[i].limit;
    cards_->cards[i] = {uuid_of(i),     cards[i].bytes,         cards[i].pool_chunk,
                        cards[i].pitch, cards[i].context_bytes, 0};
  }
}

void StandInRig::use_cards_of(const StandInRig& other) {
  namespace fs = std::filesystem;
  const fs::path own = fs::path(path()) / fake_cuda::kCardFile;
  fs::remove(own);
  fs::create_hard_link(fs::path(other.path()) / fake_cuda::kCardFile, own);
  cards_ = other.cards_;
  (void)close(cards_fd_);
  cards_fd_ = open(own.c_str(), O_RDWR | O_CLOEXEC);
}

void StandInRig::set_turn(Turn turn, std::size_t card) {
  limits_->leases = std::uint32_t{1} << card;
  limits_->cards.at(card).turn = turn;
  wake_all(limits_->cards.at(card).turn);
}

Account& StandInRig::only_account() {
  std::size_t slot = 0;
  while (slot + 1 < kMaxProcesses && usage_->taken[slot] == 0) ++slot;
  return usage_->slots[slot].accounts[0];
}

std::uint64_t StandInRig::really_used(std::size_t card) {
  const fake_cuda::CardLock lock(*cards_);
  return fake_cuda::used_now(*cards_, cards_fd_, card, fake_cuda::kMaxProcesses);
}

std::uint64_t StandInRig::accounted(std::size_t card) {
  UsageFile file = open_usage((path() + "/tangram/usage").c_str());
  (void)recover_dead(file);
  close_usage(file);
  return usage_->totals[card].bytes;
}

std::string words(const std::string& command, std::initializer_list<std::uint64_t> numbers) {
  std::string line = command;
  for (const std::uint64_t number : numbers) line += " " + std::to_string(number);
  return line;
}

Client::Client(const StandInRig& rig, const std::string& how,
               const std::vector<std::string>& variables)
    : CudaClient({.command = {TANGRAM_CUDA_CLIENT, how},
                  .environment = with_library_path(rig, variables),
                  .folder = rig.path(),
                  .errors = rig.path() + "/errors-" + std::to_string(::random())}) {}

}  // namespace tangram::shim
