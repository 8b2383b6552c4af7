#include "bench/stand_in/container_folder.hpp"

#include "base/file.hpp"
#include "shim/uuid.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

namespace tangram::bench {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLimit = std::uint64_t{16'255} << 20U;
constexpr std::uint8_t kUuidByte = 0xa0;  // tests/shim/null_driver

/// The bytes of a page as the agent writes it.
template <class Page>
Result<void> write_page(const char* path, const Page& page) {
  return replace_file(path, {reinterpret_cast<const char*>(&page), sizeof(Page)});
}

Result<void> write_pages(const shim::Uuid& card) {
  const auto limits = std::make_unique<shim::LimitsPage>();
  limits->magic = shim::kLimitsMagic;
  limits->version = shim::kPageVersion;
  limits->card_count = 1;
  limits->cards[0].uuid = card;
  limits->cards[0].memory_bytes = kLimit;
  if (auto written = write_page("tangram/limits", *limits); !written) return written;
  const auto usage = std::make_unique<shim::UsagePage>();
  usage->magic = shim::kUsageMagic;
  usage->version = shim::kPageVersion;
  return write_page("tangram/usage", *usage);
}

std::error_code lay_out(const fs::path& folder, const std::string& driver) {
  std::error_code error;
  fs::current_path(folder, error);
  if (!error) fs::create_directories("tangram/driver", error);
  if (!error) fs::create_directory("lib", error);
  if (!error) fs::create_symlink(driver, kBareDriver, error);
  if (!error) fs::create_symlink(TANGRAM_STAND_IN, kStandInDriver, error);
  return error;
}

}  // namespace

MeasuredDriver null_driver() {
  MeasuredDriver driver{.library = TANGRAM_NULL_DRIVER, .card = {}};
  driver.card.fill(kUuidByte);
  return driver;
}

Result<MeasuredDriver> driver_of_card(const std::string& library, const std::string& card) {
  const auto uuid = shim::uuid_of(card);
  if (!uuid) {
    return fail(Errc::kInvalidArgument,
                "--card " + card + " is no UUID of a card; see nvidia-smi -L");
  }
  void* const loaded = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  link_map* map = nullptr;
  if (loaded == nullptr || dlinfo(loaded, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) {
    return fail(Errc::kUnavailable, "--driver " + library + " cannot be loaded");
  }
  std::error_code error;
  const std::string file = fs::canonical(map->l_name, error);
  (void)dlclose(loaded);
  if (error) return fail(Errc::kUnavailable, library + ": " + error.message());
  return MeasuredDriver{.library = file, .card = *uuid};
}

Result<ContainerFolder> ContainerFolder::create(const MeasuredDriver& driver) {
  std::string path = fs::temp_directory_path() / "tangram-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail(Errc::kUnavailable, "cannot make " + path);
  ContainerFolder folder(path);
  if (const auto error = lay_out(path, driver.library)) {
    return fail(Errc::kUnavailable, path + ": " + error.message());
  }
  if (auto written = write_pages(driver.card); !written) return written.error();
  return folder;
}

ContainerFolder::~ContainerFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace tangram::bench
