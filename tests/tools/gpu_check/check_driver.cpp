// The means `driver`: NVIDIA's driver limits a control group, as the container runtime's hook sets.
#include "base/number.hpp"
#include "tests/tools/gpu_check/checks.hpp"
#include "tests/tools/gpu_check/container.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace tangram::gpu_check {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using shim::CudaClient;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr int kOutOfMemory = 2;
constexpr int kFirstDriver = 615;
const fs::path kCgroups = "/sys/fs/cgroup";

/// A leaf control group below the root's, with the driver's controller if the kernel has it.
class Cgroup {
 public:
  Cgroup() : id_("tangram-gpu-check-" + std::to_string(::getpid())), folder_(kCgroups / id_) {
    std::error_code failed;
    fs::create_directory(folder_, failed);
    // Refused where the kernel has no such controller: then the driver accounts by itself.
    std::ofstream(kCgroups / "cgroup.subtree_control") << "+dmem" << std::flush;
  }
  ~Cgroup() {
    std::error_code ignored;
    fs::remove(folder_, ignored);
  }
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::string folder() const { return folder_; }

 private:
  const std::string id_;
  const fs::path folder_;
};

shim::ClientStart in_cgroup(shim::ClientStart start, const Cgroup& cgroup) {
  const std::vector<std::string> enter{own_path(), kEnter, "--cgroup", cgroup.folder(), "--"};
  start.command.insert(start.command.begin(), enter.begin(), enter.end());
  return start;
}

/// As the container runtime does before the container's first instruction.
Result<void> set_limit(const Setting& in, const Cgroup& cgroup, std::int64_t pid,
                       const model::GrantedCard& part) {
  const std::string state =
      R"({"id": ")" + cgroup.id() + R"(", "pid": )" + std::to_string(pid) + "}";
  const node::Command hook{{in.build + "/bin/tangram-memory-hook", "--limit",
                            part.uuid + "=" + std::to_string(part.memory_limit.count()) + "MiB"},
                           {},
                           state};
  return node::run_to_success(in.programs, hook, 60s, "the hook sets no limit");
}

std::string smi_total(const Setting& in, const Cgroup& cgroup) {
  const auto end =
      in.programs.run({{own_path(), kEnter, "--cgroup", cgroup.folder(), "--", "nvidia-smi",
                        "--query-gpu=memory.total", "--format=csv,noheader", "-i", in.card.card.id},
                       {},
                       {}},
                      60s);
  return end ? end->output.substr(0, end->output.find('\n')) : end.error().message;
}

void check_program(const Setting& in, CudaClient& program, const Cgroup& cgroup,
                   std::uint64_t limit) {
  const std::string mark = in_mebibytes(static_cast<double>(limit));
  if (open_card(program) != 0) return in.report.failed("driver", program.errors());
  const auto info = program.run("info");
  const std::uint64_t total = info.result == 0 ? info.values.at(1) : 0;
  in.report.expect(total == limit, "driver: cuMemGetInfo's total",
                   in_mebibytes(static_cast<double>(total)), mark);
  const std::string smi = smi_total(in, cgroup);
  in.report.expect(smi == mark, "driver: nvidia-smi's total memory", smi, mark);
  const int beyond = program.run("alloc " + std::to_string(limit + 1)).result;
  in.report.expect(beyond == kOutOfMemory, "driver: 1 byte more than the share",
                   "CUDA error " + std::to_string(beyond), "CUDA error 2, out of memory");
  std::uint64_t taken = 0;
  while (taken <= limit && program.run("alloc " + std::to_string(64 * kMiB)).result == 0) {
    taken += 64 * kMiB;
  }
  in.report.expect(taken <= limit && taken >= limit - limit / 10, "driver: what can be allocated",
                   in_mebibytes(static_cast<double>(taken)), "at most " + mark + ", 90 % at least");
}

}  // namespace

void check_driver_limits(const Setting& in) {
  const std::string version = in.driver.substr(0, in.driver.find('.'));
  if (parse_number<int>(version).value_or(0) < kFirstDriver) {
    return in.report.not_offered("driver", "driver " + in.driver + " is older than r615");
  }
  if (!fs::exists(kCgroups / "cgroup.controllers")) {
    return in.report.not_offered("driver", "this machine has no cgroup v2 at " + kCgroups.string());
  }
  if (in.card.card.kind != model::CardKind::kPhysical) {
    return in.report.not_offered("driver", "the driver limits no MIG instances");
  }
  const Cgroup cgroup;
  const model::GrantedCard half = share_of(in.card, 500);
  CudaClient program(in_cgroup(client_outside(in.card.card.id, in.build, in.work_dir), cgroup));
  (void)program.run("as-driver");  // it is in the group once it answers
  if (const auto set = set_limit(in, cgroup, program.pid(), half); !set) {
    return in.report.failed("driver: the hook", set.error().message);
  }
  in.report.passed("driver: the hook", "sets " + to_string(half.memory_limit));
  check_program(in, program, cgroup, static_cast<std::uint64_t>(half.memory_limit.count()) * kMiB);
  program.kill();  // so that the group can be removed
}

}  // namespace tangram::gpu_check
