#include "tests/tools/gpu_check/container.hpp"

#include "base/json.hpp"
#include "base/json_members.hpp"
#include "node/container/host_files.hpp"
#include "shim/pages.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tangram::gpu_check {

namespace fs = std::filesystem;

namespace {

/// The folder of shim/pages.hpp, below which a container has its files.
const fs::path kRoot = fs::path(shim::kLimitsPath).parent_path();

int failed(const std::string& what) {
  std::perror(what.c_str());
  return 1;
}

/// Makes the file that another one is mounted over, where it is not there.
bool make_place(const fs::path& path) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
  return fd >= 0 && ::close(fd) == 0;
}

/// @param text  HOST-PATH:CONTAINER-PATH
/// @param root  the container's; empty = the host's, where only what is ours may be made
bool bind_mount(const std::string& text, bool read_only, const std::string& root) {
  const std::size_t colon = text.find(':');
  const std::string from = text.substr(0, colon);
  const std::string to = root + text.substr(colon + 1);
  const bool may_make = !root.empty() || to.starts_with(kRoot.string());
  std::error_code ignored;
  if (fs::is_directory(from, ignored)) {
    fs::create_directories(to, ignored);
  } else if (may_make && !make_place(to)) {
    return false;
  }
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) return false;
  constexpr unsigned long kReadOnly = MS_REMOUNT | MS_BIND | MS_RDONLY;
  return !read_only || ::mount(nullptr, to.c_str(), nullptr, kReadOnly, nullptr) == 0;
}

/// With a folder for the container's files that no other process sees.
bool has_own_mounts(const std::string& root) {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         (!root.empty() || ::mount("tmpfs", kRoot.c_str(), "tmpfs", 0, nullptr) == 0);
}

bool join(const std::string& cgroup) {
  std::ofstream procs(cgroup + "/cgroup.procs");
  procs << "0" << std::flush;
  return procs.good();
}

/// The file that the loader finds by this name.
Result<std::string> library_file(const char* name) {
  void* const library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  link_map* map = nullptr;
  if (library == nullptr || ::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) {
    return fail(Errc::kUnavailable, std::string(name) + " cannot be loaded; install the driver");
  }
  std::error_code error;
  const std::string path = fs::canonical(map->l_name, error);
  (void)::dlclose(library);
  if (error) return fail(Errc::kUnavailable, std::string(name) + ": " + error.message());
  return path;
}

/// As NVIDIA's CDI spec mounts a library of the driver.
std::string mount_of(const std::string& path) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("hostPath", path).member("containerPath", path).end_object();
  return text;
}

}  // namespace

Result<std::string> as_bind(std::string mount) {
  std::string host;
  std::string container;
  json::Reader in(mount);
  json::read_members(in, "hostPath", host, "containerPath", container);
  if (auto done = in.finish(); !done) return done.error();
  return host + ":" + container;
}

namespace {

std::vector<std::string> environment_of(const std::string& card) {
  std::vector<std::string> all{"CUDA_VISIBLE_DEVICES=" + card};
  for (const char* const name : {"LD_LIBRARY_PATH", "TANGRAM_FAKE_NVML"}) {
    const char* const value = ::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
    if (value != nullptr) all.push_back(std::string(name) + "=" + value);
  }
  return all;
}

}  // namespace

namespace {

/// What enter()'s options do, in their order.
class Entering {
 public:
  bool take(const std::string& option, const std::string& value) {
    if (option == "--cgroup") return join(value);
    if (option == "--root") {
      root_ = value;
      return true;
    }
    if (!has_mounts_ && !has_own_mounts(root_)) return false;
    has_mounts_ = true;
    return bind_mount(value, option == "--read-only", root_);
  }
  [[nodiscard]] bool change_root() const {
    return root_.empty() || (::chroot(root_.c_str()) == 0 && ::chdir("/") == 0);
  }

 private:
  std::string root_;  ///< empty = the host's
  bool has_mounts_ = false;
};

}  // namespace

int enter(const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  if (end == arguments.end() || end + 1 == arguments.end()) return failed("enter: no command");
  Entering entering;
  for (auto at = arguments.begin(); at < end; at += 2) {
    if (!entering.take(*at, *(at + 1))) return failed(*at + " " + *(at + 1));
  }
  if (!entering.change_root()) return failed("chroot");
  std::vector<char*> command;
  for (auto at = end + 1; at != arguments.end(); ++at)
    command.push_back(const_cast<char*>(at->c_str()));
  command.push_back(nullptr);
  (void)::execvp(command[0], command.data());
  (void)failed(command[0]);
  return kNotInstalled;
}

std::vector<std::string> Container::command(std::vector<std::string> program) const {
  std::vector<std::string> all = enter_;
  all.insert(all.end(), std::make_move_iterator(program.begin()),
             std::make_move_iterator(program.end()));
  return all;
}

std::vector<std::string> Container::environment() const { return environment_of(card_); }

Result<Containers> Containers::create(const std::string& build, const std::string& work_dir) {
  auto cuda = library_file("libcuda.so.1");
  if (!cuda) return cuda.error();
  auto nvml = library_file("libnvidia-ml.so.1");
  if (!nvml) return nvml.error();
  const std::string installed = work_dir + "/lib";
  const auto stand_ins = node::install_on_host(
      {build + "/shim/stand_in_cuda/libcuda.so.1", build + "/shim/stand_in_nvml/libnvidia-ml.so.1"},
      installed);
  if (!stand_ins) return stand_ins.error();
  std::error_code error;
  // Where each container mounts its own. It stays: another run may be using it.
  fs::create_directories(kRoot, error);
  if (error) return fail(Errc::kUnavailable, "make " + kRoot.string() + ": " + error.message());
  Containers containers;
  containers.limiter_ = std::make_unique<node::nvidia::LibraryLimiter>(
      node::nvidia::stand_ins_in(*stand_ins), installed, work_dir + "/shares");
  containers.cuda_ = std::move(*cuda);
  containers.nvml_ = std::move(*nvml);
  return containers;
}

Result<Container> Containers::make(const std::string& allocation, const model::GrantedCard& part) {
  node::CdiEdits vendor;
  vendor.lists["mounts"] = {mount_of(cuda_), mount_of(nvml_)};
  const auto edits = limiter_->limit(allocation, {part}, vendor);
  if (!edits) return edits.error();
  std::vector<std::string> command{own_path(), kEnter};
  for (const std::string& mount : vendor.lists["mounts"]) {
    const auto bind = as_bind(mount);
    if (!bind) return bind.error();
    command.insert(command.end(), {"--read-only", *bind});
  }
  for (const node::BindMount& mount : edits->mounts) {
    const bool read_only = mount.access == node::Access::kReadOnly;
    command.insert(command.end(), {read_only ? "--read-only" : "--writable",
                                   mount.host_path + ":" + mount.container_path});
  }
  command.emplace_back("--");
  return Container(allocation, part.uuid, std::move(command));
}

shim::ClientStart client_in(const Container& container, const std::string& build,
                            const std::string& work_dir, const std::string& how) {
  return {.command = container.command({build + "/tests/shim/cuda_client", how}),
          .environment = container.environment(),
          .folder = fs::current_path(),
          .errors = work_dir + "/errors-" + std::to_string(::random())};
}

shim::ClientStart client_outside(const std::string& card, const std::string& build,
                                 const std::string& work_dir) {
  return {.command = {build + "/tests/shim/cuda_client", "plain"},
          .environment = environment_of(card),
          .folder = fs::current_path(),
          .errors = work_dir + "/errors-" + std::to_string(::random())};
}

int open_card(shim::CudaClient& program) {
  const int known = program.run("as-driver").result;
  return known != 0 ? known : program.run("init").result;
}

std::string own_path() { return fs::read_symlink("/proc/self/exe"); }

model::GrantedCard share_of(const node::InstalledCard& card, std::int64_t milli) {
  const Mebibytes memory(card.card.memory.count() * milli / kWholeGpu.count());
  return {card.card.id, memory, MilliGpu(milli), memory, MilliGpu(milli)};
}

}  // namespace tangram::gpu_check
