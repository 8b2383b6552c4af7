#include "node/vendor/nvidia/driver/installed.hpp"

#include "base/file.hpp"
#include "base/number.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>

namespace tangram::node::nvidia {

namespace fs = std::filesystem;

namespace {

/// Where distributions have libraries, below a root: Fedora's, Debian's, what a runfile makes,
/// Talos', Bottlerocket's.
constexpr std::array kLibraryFolders{
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/lib",
    "/lib64",
    "/lib",
    "/glibc/lib",
    "/glibc/usr/lib",
    "/glibc/usr/lib64",
    "/x86_64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla",
    "/x86_64-bottlerocket-linux-gnu/sys-root/usr/lib",
    "/aarch64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla",
    "/aarch64-bottlerocket-linux-gnu/sys-root/usr/lib"};
constexpr std::array kProgramFolders{
    "/usr/bin",
    "/bin",
    "/usr/local/bin",
    "/glibc/usr/bin",
    "/usr/lib/nvidia/current",
    "/x86_64-bottlerocket-linux-gnu/sys-root/usr/libexec/nvidia/tesla/bin",
    "/x86_64-bottlerocket-linux-gnu/sys-root/usr/bin",
    "/aarch64-bottlerocket-linux-gnu/sys-root/usr/libexec/nvidia/tesla/bin",
    "/aarch64-bottlerocket-linux-gnu/sys-root/usr/bin"};
constexpr std::array kPrograms{"nvidia-smi", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"};

/// Of libnvidia-NAME: OpenGL, Vulkan, EGL, OptiX, window systems. No limit of a share holds them.
constexpr std::array<std::string_view, 17> kGraphics{
    "api", "egl",    "fbc", "glcore", "glsi",   "glvkspirv", "gtk", "ngx",    "present",
    "rtx", "rtcore", "tls", "vksc",   "vulkan", "wayland",   "xcb", "eglcore"};

bool is_for_graphics(std::string_view library) {
  constexpr std::string_view kPrefix = "libnvidia-";
  return library.starts_with(kPrefix) &&
         std::any_of(kGraphics.begin(), kGraphics.end(), [&](std::string_view name) {
           return library.substr(kPrefix.size()).starts_with(name);
         });
}

/// A name of a library of the driver that containers are to have.
bool is_wanted(std::string_view file) {
  const bool is_drivers = file.starts_with("libcuda.so") ||
                          file.starts_with("libcudadebugger.so") ||
                          file.starts_with("libnvcuvid.so") || file.starts_with("libnvidia-");
  return is_drivers && file.find(".so") != std::string_view::npos && !is_for_graphics(file);
}

/// Links for development, "libnvidia-ml.so"; of CUDA's library alone programs load that, too.
bool is_for_linking(std::string_view file) { return file.ends_with(".so") && file != "libcuda.so"; }

/// Beside those that are meant, "/usr/lib" may hold libraries for 32-bit programs.
bool is_for_32_bits(const std::string& file) {
  constexpr std::string_view kElf32 =
      "\x7f"
      "ELF\x01";
  std::array<char, kElf32.size()> begin{};
  std::ifstream(file).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == kElf32;
}

/// A place that may hold the driver. Its links lead into it, as a driver container's do, or else
/// where they lead on the host, as from a folder of links. All paths but a given one are the
/// host's, without links.
class Place {
 public:
  Place(const Root& host, const std::string& root)
      : host_(host), root_(root == "/" ? "" : root), tree_(host.open_path(root_)) {}

  /// @param path  below the place
  [[nodiscard]] std::optional<std::string> resolve(const std::string& path) const {
    if (const auto within = tree_.resolve(path)) return root_ + *within;
    return host_.resolve(root_ + path);
  }
  /// Of these folders those that are there, each once.
  template <class Folders>
  [[nodiscard]] std::vector<std::string> present(const Folders& all) const {
    std::vector<std::string> found;
    std::set<std::string> seen;
    for (const char* const folder : all) {
      const auto resolved = resolve(folder);
      if (resolved && seen.insert(*resolved).second) found.emplace_back(folder);
    }
    return found;
  }
  [[nodiscard]] std::vector<std::string> names_in(const std::string& folder) const {
    const auto resolved = resolve(folder);
    return resolved ? host_.names_in(*resolved) : std::vector<std::string>{};
  }
  [[nodiscard]] std::string open_path(const std::string& resolved) const {
    return host_.open_path(resolved);
  }

 private:
  const Root& host_;
  const std::string root_;
  const Root tree_;
};

/// "libcuda" of "libcuda.so.1"
std::string stem_of(const std::string& library) { return library.substr(0, library.find(".so")); }

/// Adds those libraries of a folder that no earlier folder has: two folders may have copies.
void add_libraries(const Place& place, const std::string& folder, InstalledDriver& driver) {
  const std::string suffix = ".so." + driver.version;
  std::set<std::string> known;
  for (const auto& [name, path] : driver.libraries) known.insert(stem_of(name));
  for (const std::string& name : place.names_in(folder)) {
    if (!is_wanted(name) || is_for_linking(name) || known.contains(stem_of(name))) continue;
    const auto file = place.resolve((fs::path(folder) / name).string());
    if (!file || !file->ends_with(suffix) || is_for_32_bits(place.open_path(*file))) continue;
    driver.libraries.emplace(name, *file);
    // Libraries of one version name each other so.
    driver.libraries.emplace(fs::path(*file).filename().string(), *file);
  }
}

void add_programs(const Place& place, InstalledDriver& driver) {
  for (const std::string& folder : place.present(kProgramFolders)) {
    for (const char* const name : kPrograms) {
      if (const auto file = place.resolve(folder + "/" + name))
        driver.programs.emplace(name, *file);
    }
  }
}

/// Programs load these; while a driver is being installed, some are not there yet.
bool is_complete(const InstalledDriver& driver) {
  constexpr std::array kNeeded{"libcuda.so.1", "libnvidia-ml.so.1",
                               "libnvidia-ptxjitcompiler.so.1"};
  return std::all_of(kNeeded.begin(), kNeeded.end(),
                     [&](const char* name) { return driver.libraries.contains(name); });
}

std::string version_of_kernel(const Root& host) {
  auto text = read_file(host.open_path("/sys/module/nvidia/version"));
  if (!text) return {};
  return text->substr(0, text->find_last_not_of(" \n") + 1);
}

}  // namespace

std::vector<std::string> usual_driver_roots() {
  return {"/run/nvidia/driver",
          "/home/kubernetes/bin/nvidia",
          "/opt/nvidia",
          "/usr/local/nvidia",
          "/usr/local",
          "/run/opengl-driver",
          "/"};
}

Result<InstalledDriver> find_driver(const Root& host, const std::vector<std::string>& places) {
  const std::string version = version_of_kernel(host);
  if (version.empty()) {
    return fail(Errc::kNotFound,
                "the kernel has not loaded NVIDIA's driver (/sys/module/nvidia/version)");
  }
  std::string looked;
  for (const std::string& given : places) {
    const auto folder = host.resolve(given);
    looked += (looked.empty() ? "" : ", ") + given;
    if (!folder) continue;
    InstalledDriver driver{.root = *folder, .version = version, .libraries = {}, .programs = {}};
    const Place place(host, *folder);
    for (const std::string& libraries : place.present(kLibraryFolders)) {
      add_libraries(place, libraries, driver);
    }
    if (!is_complete(driver)) continue;
    add_programs(place, driver);
    return driver;
  }
  return fail(Errc::kNotFound, "no place has all files of driver " + version +
                                   ", which the kernel runs; looked in " + looked);
}

std::string value_of(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  const std::string_view line = rest.substr(0, rest.find('\n'));
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == std::string_view::npos ? "" : std::string(line.substr(begin));
}

Result<int> device_minor(const Root& host, std::string_view card) {
  constexpr std::string_view kUuid = "GPU UUID:";
  constexpr std::string_view kMinor = "Device Minor:";
  std::error_code error;
  const fs::path cards = host.open_path("/proc/driver/nvidia/gpus");
  for (fs::directory_iterator at(cards, error), end; !error && at != end; at.increment(error)) {
    const auto text = read_file((at->path() / "information").string());
    if (!text || value_of(*text, kUuid).compare(card) != 0) continue;
    const auto minor = parse_number<int>(value_of(*text, kMinor));
    if (minor) return *minor;
  }
  return fail(Errc::kNotFound,
              "the driver shows no card " + std::string(card) + " in " + cards.string());
}

}  // namespace tangram::node::nvidia
