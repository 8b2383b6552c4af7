#include "node/vendor/nvidia/mps_folders.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <system_error>

namespace tangram::node::nvidia {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBase = "/mps/";

/// The agent's own checks make a daemon write some megabytes a day.
constexpr std::int64_t kLargestLog = 16 << 20;

fs::path base_of(const std::string& run_dir) { return run_dir + std::string(kBase); }

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) entries.push_back(entry.path());
  return entries;
}

Error failed(const fs::path& path, const std::error_code& error) {
  return fail(Errc::kUnavailable, path.string() + " cannot be made: " + error.message());
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return failed(folder, error);
  return {};
}

void remove_tree(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) spdlog::warn("{} cannot be removed: {}", folder.string(), error.message());
}

/// Makes the link `name` in the folder, or replaces it: it is never absent.
template <class Link>
Result<void> put_link(const fs::path& folder, const char* name, const Link& link) {
  const fs::path part = folder / (std::string(".") + name);
  std::error_code error;
  fs::remove(part, error);
  link(part, error);
  if (!error) fs::rename(part, folder / name, error);
  if (error) return failed(folder / name, error);
  return {};
}

Result<void> link_file(const fs::path& client, const fs::path& pipe, const char* name) {
  return put_link(client, name, [&](const fs::path& link, std::error_code& error) {
    fs::create_hard_link(pipe / name, link, error);
  });
}

/// A daemon may have no FIFO before its server starts.
Result<void> link_client(const fs::path& client, const fs::path& pipe) {
  std::error_code ignored;
  if (fs::exists(pipe / "log", ignored)) {
    if (auto linked = link_file(client, pipe, "log"); !linked) return linked;
  }
  return link_file(client, pipe, "control");
}

/// A program that does not append goes on at its former offset: what counts is what a file takes.
std::int64_t taken_by(const fs::path& file) {
  constexpr std::int64_t kBlock = 512;  // of st_blocks
  struct stat found {};
  const bool is_file = ::lstat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode);
  return is_file ? found.st_blocks * kBlock : 0;
}

int number_of(const fs::path& daemon) {
  const std::string name = daemon.filename();
  int number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

}  // namespace

MpsFolders::MpsFolders(const std::string& run_dir, const std::string& card)
    : root_((base_of(run_dir) / card).string()) {}

bool MpsFolders::fit(const std::string& run_dir, const std::string& card) {
  constexpr std::size_t kLongestSocketPath = 107;  // sockaddr_un, without the final 0
  constexpr std::size_t kDigits = 8;               // of the starts of a daemon
  constexpr std::string_view kBelow = "/daemon//pipe/control_privileged";
  return run_dir.size() + kBase.size() + card.size() + kBelow.size() + kDigits <=
         kLongestSocketPath;
}

std::set<std::string> MpsFolders::cards_in(const std::string& run_dir) {
  std::set<std::string> cards;
  for (const fs::path& card : entries_of(base_of(run_dir))) cards.insert(card.filename());
  return cards;
}

bool MpsFolders::exist() const {
  std::error_code ignored;
  return fs::exists(root_, ignored);
}

std::string MpsFolders::current() const {
  std::error_code missing;
  const fs::path target = fs::read_symlink(root_ + "/current", missing);
  return missing ? "" : root_ + "/" + target.string();
}

std::vector<std::string> MpsFolders::daemons() const {
  std::vector<std::string> daemons;
  for (const fs::path& daemon : entries_of(root_ + "/daemon")) daemons.push_back(daemon);
  return daemons;
}

std::string MpsFolders::former() const {
  std::error_code ignored;
  return fs::exists(root_ + "/pipe", ignored) ? root_ : "";
}

Result<std::string> MpsFolders::make_daemon() const {
  for (const char* of_former : {"/pipe", "/log"}) remove_tree(root_ + of_former);
  const std::string kept = current();
  int last = 0;
  for (const std::string& daemon : daemons()) {
    last = std::max(last, number_of(daemon));
    if (daemon != kept) remove_tree(daemon);
  }
  std::string daemon = fmt::format("{}/daemon/{}", root_, last + 1);
  for (const char* folder : {"/pipe", "/log"}) {
    if (auto made = make_folder(daemon + folder); !made) return made.error();
  }
  return daemon;
}

Result<void> MpsFolders::make_current(const std::string& daemon, bool relink) const {
  for (const fs::path& client : entries_of(root_ + "/clients")) {
    if (!relink) break;
    if (auto linked = link_client(client, daemon + "/pipe"); !linked) return linked;
  }
  auto linked = put_link(root_, "current", [&](const fs::path& link, std::error_code& error) {
    fs::create_symlink(fs::path(daemon).lexically_relative(root_), link, error);
  });
  if (!linked) return linked;
  for (const std::string& other : daemons()) {
    if (other != daemon) remove_tree(other);
  }
  return {};
}

std::string MpsFolders::client(std::string_view allocation) const {
  return fmt::format("{}/clients/{}", root_, allocation);
}

Result<void> MpsFolders::add_client(std::string_view allocation) const {
  const std::string folder = client(allocation);
  if (auto made = make_folder(folder); !made) return made;
  const std::string daemon = current();
  return daemon.empty() ? Result<void>() : link_client(folder, daemon + "/pipe");
}

void MpsFolders::remove_clients_but(const std::set<std::string, std::less<>>& allocations) const {
  for (const fs::path& client : entries_of(root_ + "/clients")) {
    if (!allocations.contains(client.filename().string())) remove_tree(client);
  }
}

void MpsFolders::bound_logs() const {
  for (const std::string& daemon : daemons()) {
    for (const fs::path& log : entries_of(daemon + "/log")) {
      if (taken_by(log) <= kLargestLog) continue;
      std::error_code error;
      fs::resize_file(log, 0, error);
      spdlog::info("{} was large and is {}", log.string(), error ? error.message() : "empty now");
    }
  }
}

void MpsFolders::remove() const { remove_tree(root_); }

}  // namespace tangram::node::nvidia
