#include "node/vendor/nvidia/driver/programs.hpp"

#include "base/environment.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>

namespace tangram::node::nvidia {

namespace fs = std::filesystem;

namespace {

/// Makes a link, or replaces one that leads elsewhere: it is never absent.
void put_link(const fs::path& link, const std::string& target, std::error_code& error) {
  std::error_code missing;
  if (fs::read_symlink(link, missing) == target && !missing) return;
  const fs::path part = link.string() + ".part";
  fs::remove(part, missing);
  fs::create_symlink(target, part, error);
  if (!error) fs::rename(part, link, error);
}

std::string with_front(const std::string& folder, const std::string& path) {
  return path.empty() ? folder : folder + ":" + path;
}

}  // namespace

bool DriverPrograms::has(std::string_view program) const {
  const auto driver = find_driver(host_, driver_roots_);
  return driver && driver->programs.contains(program);
}

Result<void> DriverPrograms::link(const InstalledDriver& driver, const std::string& folder) {
  static std::mutex linking;  // several objects have one folder
  const std::lock_guard lock(linking);
  std::error_code error;
  for (const auto& [kind, files] :
       {std::pair{"bin", &driver.programs}, std::pair{"lib", &driver.libraries}}) {
    const fs::path place = fs::path(folder) / kind;
    if (!error) fs::create_directories(place, error);
    for (const auto& [name, path] : *files) {
      if (!error) put_link(place / name, host_.open_path(path), error);
    }
  }
  if (!error) return {};
  return fail(Errc::kUnavailable, "links to the driver in " + folder + ": " + error.message());
}

Result<ProgramEnd> DriverPrograms::run(const Command& command, std::chrono::milliseconds limit) {
  const auto is_drivers = [](const std::string& argument) {
    return argument.starts_with("nvidia-");
  };
  if (std::none_of(command.arguments.begin(), command.arguments.end(), is_drivers)) {
    return system_->run(command, limit);
  }
  const auto driver = find_driver(host_, driver_roots_);
  if (!driver) return system_->run(command, limit);
  const std::string folder = folder_ + "/" + driver->version;
  if (auto linked = link(*driver, folder); !linked) return linked.error();
  Command in_place = command;
  const std::string programs = folder + "/bin/";
  for (std::string& argument : in_place.arguments) {
    if (driver->programs.contains(argument)) argument.insert(0, programs);
  }
  in_place.env.push_back("PATH=" + with_front(folder + "/bin", process_environment("PATH")));
  in_place.env.push_back("LD_LIBRARY_PATH=" +
                         with_front(folder + "/lib", process_environment("LD_LIBRARY_PATH")));
  return system_->run(in_place, limit);
}

}  // namespace tangram::node::nvidia
