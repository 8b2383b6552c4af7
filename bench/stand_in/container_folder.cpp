#include "bench/stand_in/container_folder.hpp"

#include "base/file.hpp"
#include "shim/pages.hpp"

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

Result<void> write_pages() {
  const auto limits = std::make_unique<shim::LimitsPage>();
  limits->magic = shim::kLimitsMagic;
  limits->version = shim::kPageVersion;
  limits->card_count = 1;
  limits->cards[0].uuid.fill(kUuidByte);
  limits->cards[0].memory_bytes = kLimit;
  if (auto written = write_page("tangram/limits", *limits); !written) return written;
  const auto usage = std::make_unique<shim::UsagePage>();
  usage->magic = shim::kUsageMagic;
  usage->version = shim::kPageVersion;
  return write_page("tangram/usage", *usage);
}

std::error_code lay_out(const fs::path& folder) {
  std::error_code error;
  fs::current_path(folder, error);
  if (!error) fs::create_directories("tangram/driver", error);
  if (!error) fs::create_directory("lib", error);
  if (!error) fs::create_symlink(TANGRAM_NULL_DRIVER, kBareDriver, error);
  if (!error) fs::create_symlink(TANGRAM_STAND_IN, kStandInDriver, error);
  return error;
}

}  // namespace

Result<ContainerFolder> ContainerFolder::create() {
  std::string path = fs::temp_directory_path() / "tangram-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail(Errc::kUnavailable, "cannot make " + path);
  ContainerFolder folder(path);
  if (const auto error = lay_out(path)) {
    return fail(Errc::kUnavailable, path + ": " + error.message());
  }
  if (auto written = write_pages(); !written) return written.error();
  return folder;
}

ContainerFolder::~ContainerFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace tangram::bench
