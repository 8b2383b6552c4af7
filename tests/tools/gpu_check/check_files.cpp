// What the agent makes of the driver's files, in a root that has nothing of the driver's.
#include "base/environment.hpp"
#include "base/json.hpp"
#include "base/json_members.hpp"
#include "node/vendor/nvidia/card_edits.hpp"
#include "tests/tools/gpu_check/checks.hpp"
#include "tests/tools/gpu_check/container.hpp"

#include <dlfcn.h>
#include <link.h>

#include <chrono>
#include <filesystem>
#include <system_error>

namespace tangram::gpu_check {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using shim::CudaClient;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr const char* kProgram = "/cuda_client";

/// The C and C++ libraries, by their paths: the client and the driver need them.
std::vector<std::string> own_libraries() {
  // Parts of libc in other files, which the driver names.
  for (const char* const part : {"libdl.so.2", "libpthread.so.0", "librt.so.1"}) {
    (void)::dlopen(part, RTLD_LAZY);
  }
  std::vector<std::string> paths;
  const auto note = [](dl_phdr_info* info, std::size_t, void* to) {
    const std::string_view path = info->dlpi_name;
    const bool is_drivers =
        path.find("/libcuda.so") != path.npos || path.find("/libnvidia-") != path.npos;
    if (path.starts_with('/') && !is_drivers) {
      static_cast<std::vector<std::string>*>(to)->emplace_back(path);
    }
    return 0;
  };
  (void)::dl_iterate_phdr(note, &paths);
  return paths;
}

/// A root with the client and the C and C++ libraries, as Debian has them.
Result<std::string> make_root(const Setting& in) {
  const fs::path root = in.work_dir + "/root";
  const fs::path libraries = root / "usr/lib/x86_64-linux-gnu";
  std::error_code error;
  for (const char* const folder : {"proc", "sys", "dev", "tmp", "lib64"}) {
    if (!error) fs::create_directories(root / folder, error);
  }
  if (!error) fs::create_directories(libraries, error);
  const auto replace = fs::copy_options::overwrite_existing;
  for (const std::string& path : own_libraries()) {
    const std::string name = fs::path(path).filename();
    const bool is_loader = name.starts_with("ld-linux");
    if (!error)
      fs::copy_file(path, (is_loader ? root / "lib64" : libraries) / name, replace, error);
  }
  if (!error) fs::copy_file(in.build + "/tests/shim/cuda_client", root / "cuda_client", error);
  if (error) return fail(Errc::kUnavailable, root.string() + ": " + error.message());
  return root.string();
}

Result<std::string> path_of(std::string node) {
  std::string path;
  json::Reader in(node);
  json::read_members(in, "path", path);
  if (auto done = in.finish(); !done) return done.error();
  return path;
}

/// What enters a root with these edits.
Result<std::vector<std::string>> command_of(const std::string& root, const node::CdiEdits& edits) {
  std::vector<std::string> all{own_path(), kEnter, "--root", root};
  for (const char* const folder : {"/proc", "/sys"}) {
    all.insert(all.end(), {"--writable", std::string(folder) + ":" + folder});
  }
  for (const std::string& node : edits.lists.at("deviceNodes")) {
    const auto path = path_of(node);
    if (!path) return path.error();
    all.insert(all.end(), {"--writable", *path + ":" + *path});
  }
  for (const std::string& mount : edits.lists.at("mounts")) {
    const auto bind = as_bind(mount);
    if (!bind) return bind.error();
    all.insert(all.end(), {"--read-only", *bind});
  }
  all.emplace_back("--");
  return all;
}

void check_cuda(const Setting& in, const std::vector<std::string>& enter) {
  const std::string what = "files: memory that a program sees";
  shim::ClientStart start{
      .command = enter,
      .environment = {"LD_LIBRARY_PATH=" + process_environment("LD_LIBRARY_PATH")},
      .folder = fs::current_path(),
      .errors = in.work_dir + "/files-errors"};
  start.command.insert(start.command.end(), {kProgram, "plain"});
  const auto begin = std::chrono::steady_clock::now();
  CudaClient program(start);
  const int begun = open_card(program);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  const auto info = program.run("info");
  const std::uint64_t total = info.result == 0 && begun == 0 ? info.values.at(1) / kMiB : 0;
  in.report.expect(total >= static_cast<std::uint64_t>(in.card.card.memory.count()), what,
                   std::to_string(total) + " MiB after " + decimal(took.count()) + " ms " +
                       (begun == 0 ? "" : "CUDA error " + std::to_string(begun) + " ") +
                       program.errors(),
                   to_string(in.card.card.memory));
  const int taken = program.run("alloc " + std::to_string(64 * kMiB)).result;
  in.report.expect(taken == 0, "files: a program allocates", "CUDA error " + std::to_string(taken));
}

void check_smi(const Setting& in, const std::vector<std::string>& enter) {
  const std::string what = "files: nvidia-smi lists the card";
  std::vector<std::string> list = enter;
  list.insert(list.end(), {"/usr/bin/nvidia-smi", "-L"});
  const auto end = in.programs.run({list, {}, {}}, 60s);
  const std::string seen =
      end ? end->output.substr(0, end->output.find('\n')) : end.error().message;
  in.report.expect(seen.find(in.card.card.id) != std::string::npos, what, seen);
}

}  // namespace

void check_files(const Setting& in) {
  const auto edits = node::nvidia::CardEdits({}, {.host_root = ""}).of({in.card.card.id});
  if (!edits && edits.error().code == Errc::kNotFound) {
    return in.report.not_offered("files", edits.error().message);
  }
  if (!edits) return in.report.failed("files", edits.error().message);
  const auto root = make_root(in);
  if (!root) return in.report.not_checked("files", root.error().message);
  const auto enter = command_of(*root, *edits);
  if (!enter) return in.report.failed("files", enter.error().message);
  in.report.passed("files: mounts of the driver's",
                   std::to_string(edits->lists.at("mounts").size()));
  check_cuda(in, *enter);
  check_smi(in, *enter);
}

}  // namespace tangram::gpu_check
