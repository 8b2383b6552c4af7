// What programs in a container see and get by the means `library`.
#include "tests/tools/gpu_check/checks.hpp"
#include "tests/tools/gpu_check/container.hpp"

#include <chrono>
#include <filesystem>

namespace tangram::gpu_check {

namespace {

using namespace std::chrono_literals;
using shim::CudaClient;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr int kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
/// A piece of each kind of memory: large enough that the driver's blocks and pools weigh little.
constexpr std::uint64_t kPiece = 256 * kMiB;

/// One way to allocate, by commands of cuda_client.
struct Way {
  const char* name;
  std::vector<std::string> piece;  ///< of 256 MiB; "$" = what the command before returned
  std::vector<std::string> more;   ///< what is refused once the share is used up
  const char* said;                ///< how much `more` is
  std::uint64_t most;              ///< what the piece may count as
};

/// A pool has room left in its last block, so that a byte more may be there.
std::vector<Way> ways() {
  const std::string piece = std::to_string(kPiece);
  const std::string pool_more = std::to_string(64 * kMiB);
  const auto graph_of = [](const std::string& bytes) {
    return std::vector<std::string>{"graph", "node $ " + bytes, "instantiate $", "launch $"};
  };
  return {
      {"cuMemAlloc", {"alloc " + piece}, {"alloc 1"}, "1 byte", kPiece},
      {"cuMemAllocPitch", {"alloc-pitch 1048576 256"}, {"alloc-pitch 1 1"}, "1 byte", kPiece},
      {"cuMemAllocManaged", {"alloc-managed " + piece}, {"alloc-managed 1"}, "1 byte", kPiece},
      {"cuArrayCreate", {"array-2d 16384 4096"}, {"array-2d 16384 64"}, "4 MiB", kPiece + 8 * kMiB},
      {"cuArray3DCreate",
       {"array 1024 1024 64 0"},
       {"array 1024 1024 1 0"},
       "4 MiB",
       kPiece + 8 * kMiB},
      {"cuMipmappedArrayCreate",
       {"mipmap 8192 8192 0 1 0"},
       {"mipmap 1024 1024 0 1 0"},
       "4 MiB",
       2 * kPiece},
      {"cuMemCreate", {"create " + piece + " 1 0"}, {"create 2097152 1 0"}, "2 MiB", kPiece},
      {"cuMemAllocAsync",
       {"alloc-async " + piece},
       {"alloc-async " + pool_more},
       "64 MiB",
       kPiece + 64 * kMiB},
      {"cuMemAllocFromPoolAsync",
       {"alloc-from-default " + piece},
       {"alloc-from-default " + pool_more},
       "64 MiB",
       kPiece + 64 * kMiB},
      {"cuGraphAddMemAllocNode", graph_of(piece), graph_of(pool_more), "64 MiB",
       kPiece + 64 * kMiB},
  };
}

/// Each command with the value of the first one for "$", but that of "node", which returns none.
/// @returns the first result that is not 0, else 0
int run_all(CudaClient& client, const std::vector<std::string>& commands) {
  std::uint64_t last = 0;
  for (std::string command : commands) {
    if (const std::size_t at = command.find('$'); at != std::string::npos) {
      command.replace(at, 1, std::to_string(last));
    }
    const auto answer = client.run(command);
    if (answer.result != 0) return answer.result;
    if (!answer.values.empty()) last = answer.value();
  }
  return 0;
}

class LibraryCheck {
 public:
  LibraryCheck(const Setting& in, Container container, std::uint64_t limit)
      : in_(in), container_(std::move(container)), limit_(limit) {}

  void run() {
    check_smi();
    check_loading();
    for (const std::string& program : in_.runtimes) check_runtime(program);
    for (const Way& way : ways()) check_way(way);
    check_last_byte();
    check_processes_together();
  }

 private:
  [[nodiscard]] shim::ClientStart client(const std::string& how = "plain") const {
    return client_in(container_, in_.build, in_.work_dir, how);
  }

  void check_smi() {
    const std::string what = "library: nvidia-smi's total memory";
    const auto end =
        in_.programs.run({container_.command({"nvidia-smi", "--query-gpu=memory.total",
                                              "--format=csv,noheader", "-i", in_.card.card.id}),
                          {},
                          {}},
                         60s);
    if (end && end->exit_code == kNotInstalled) {
      return in_.report.not_checked(what, "nvidia-smi is not installed");
    }
    const std::string seen =
        end ? end->output.substr(0, end->output.find('\n')) : end.error().message;
    const std::string mark = in_mebibytes(static_cast<double>(limit_));
    in_.report.expect(seen == mark, what, seen, mark);
  }

  /// By each way to get at the driver that leads to its file.
  void check_loading() {
    for (const std::string how :
         {"plain", "unversioned", "deepbind", "namespace", "global", "next", "by-name"}) {
      const std::string what = "library: cuMemGetInfo's total, driver loaded: " + how;
      CudaClient program(client(how));
      const int begun = open_card(program);
      const auto info = program.run("info");
      const std::string mark = in_mebibytes(static_cast<double>(limit_));
      if (begun != 0 || info.result != 0) {
        in_.report.failed(what, "CUDA error " + std::to_string(begun) + " " + program.errors());
        continue;
      }
      const auto total = info.values.at(1);
      in_.report.expect(total == limit_, what, in_mebibytes(static_cast<double>(total)), mark);
    }
  }

  /// tests/cuda_runtime/print_answers.cpp, linked with NVIDIA's runtime.
  void check_runtime(const std::string& program) {
    const std::string name = std::filesystem::path(program).filename();
    const std::string what = "library: cudaMemGetInfo's total, CUDA runtime " + name;
    const auto end =
        in_.programs.run({container_.command({program}), container_.environment(), {}}, 60s);
    if (!end) return in_.report.failed(what, end.error().message);
    const std::size_t at = end->output.find("total: ");
    const std::string total = end->output.substr(at == std::string::npos ? end->output.size() : at);
    const std::string line = total.substr(0, total.find('\n'));
    const std::string mark = "total: " + std::to_string(limit_);
    in_.report.expect(line == mark, what, line.empty() ? end->output : line, mark);
  }

  void check_way(const Way& way) {
    const std::string what = std::string("library: ") + way.name;
    CudaClient program(client());
    if (open_card(program) != 0) return in_.report.failed(what, program.errors());
    const std::uint64_t before = program.run("info").value();
    const int taken = run_all(program, way.piece);
    if (taken != 0) return in_.report.failed(what, "256 MiB: CUDA error " + std::to_string(taken));
    const std::uint64_t counted = before - program.run("info").value();
    const bool fits = counted >= kPiece && counted <= way.most;
    in_.report.expect(fits, what + ": 256 MiB count as", in_mebibytes(static_cast<double>(counted)),
                      "256 to " + in_mebibytes(static_cast<double>(way.most)));
    const int filled = program.run("alloc " + std::to_string(limit_ - counted)).result;
    const int more = run_all(program, way.more);
    in_.report.expect(filled == 0 && more == kOutOfMemory,
                      what + ": " + way.said + " beyond the share",
                      filled == 0 ? "CUDA error " + std::to_string(more)
                                  : "the share: CUDA error " + std::to_string(filled),
                      "CUDA error 2, out of memory");
  }

  void check_last_byte() {
    const std::string what = "library: the whole share in one piece, then 1 byte";
    CudaClient program(client());
    if (open_card(program) != 0) return in_.report.failed(what, program.errors());
    const int beyond = program.run("alloc " + std::to_string(limit_ + 1)).result;
    const int all = program.run("alloc " + std::to_string(limit_)).result;
    const int more = program.run("alloc 1").result;
    in_.report.expect(beyond == kOutOfMemory && all == 0 && more == kOutOfMemory, what,
                      in_mebibytes(static_cast<double>(limit_)) + ": " + std::to_string(all) +
                          ", then " + std::to_string(more) + "; a byte more at once " +
                          std::to_string(beyond),
                      "CUDA errors 0, 2, 2");
  }

  void check_processes_together() {
    const std::string what = "library: two processes share the limit";
    CudaClient one(client());
    CudaClient two(client());
    if (open_card(one) != 0 || open_card(two) != 0) {
      return in_.report.failed(what, one.errors() + two.errors());
    }
    const std::uint64_t most = limit_ * 3 / 5;
    const int first = one.run("alloc " + std::to_string(most)).result;
    const int second = two.run("alloc " + std::to_string(most)).result;
    in_.report.expect(first == 0 && second == kOutOfMemory, what,
                      "60 % each: " + std::to_string(first) + ", " + std::to_string(second),
                      "CUDA errors 0, 2");
  }

  const Setting& in_;
  const Container container_;
  const std::uint64_t limit_;
};

}  // namespace

void check_library(const Setting& in) {
  auto containers = Containers::create(in.build, in.work_dir);
  if (!containers) return in.report.not_checked("library", containers.error().message);
  const model::GrantedCard half = share_of(in.card, 500);
  const auto container = containers->make("half", half);
  if (!container) return in.report.not_checked("library", container.error().message);
  const auto limit = static_cast<std::uint64_t>(half.memory_limit.count()) * kMiB;
  LibraryCheck(in, *container, limit).run();
}

void check_no_limits(const Setting& in) {
  const std::string what = "none: a program gets more than half of the card";
  CudaClient program(client_outside(in.card.card.id, in.build, in.work_dir));
  if (open_card(program) != 0) return in.report.failed(what, program.errors());
  const std::uint64_t half = static_cast<std::uint64_t>(in.card.card.memory.count()) * kMiB / 2;
  const int taken = program.run("alloc " + std::to_string(half + kPiece)).result;
  in.report.expect(taken == 0, what, "CUDA error " + std::to_string(taken), "CUDA error 0");
}

}  // namespace tangram::gpu_check
