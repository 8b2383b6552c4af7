// The means `library` from outside: the driver's own count, evasion, storms of SIGKILL, resizes.
#include "tests/testing/random.hpp"
#include "tests/tools/gpu_check/checks.hpp"
#include "tests/tools/gpu_check/container.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <thread>

namespace tangram::gpu_check {

namespace {

using namespace std::chrono_literals;
using shim::CudaClient;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr int kOutOfMemory = 2;
constexpr std::int64_t kShare = 500;  // thousandths of the card
constexpr auto kPatience = 10s;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class OutsideCheck {
 public:
  OutsideCheck(const Setting& in, Containers& containers, Container container,
               model::GrantedCard part)
      : in_(in),
        containers_(containers),
        container_(std::move(container)),
        part_(std::move(part)) {}

  void run() {
    check_truth();
    check_absolute_path();
    check_storm();
    check_resize();
  }

 private:
  [[nodiscard]] std::uint64_t limit() const {
    return static_cast<std::uint64_t>(part_.memory_limit.count()) * kMiB;
  }
  [[nodiscard]] shim::ClientStart client(const std::string& how = "plain") const {
    return client_in(container_, in_.build, in_.work_dir, how);
  }
  /// What the driver counts for a process, or for all.
  [[nodiscard]] std::uint64_t driver_count(std::int64_t pid) const {
    const auto activity = in_.source.activity(in_.card.card.id);
    if (!activity) return 0;
    std::uint64_t bytes = 0;
    for (const node::CardProcess& process : activity->processes) {
      if (process.pid == pid) bytes += process.memory_bytes;
    }
    return bytes;
  }
  [[nodiscard]] std::uint64_t used_of_card() const {
    const auto activity = in_.source.activity(in_.card.card.id);
    return activity ? activity->memory_used_bytes : 0;
  }
  [[nodiscard]] std::uint64_t accounted() const {
    const auto counted = containers_.limiter().in_use(container_.allocation(), part_.uuid);
    return counted ? *counted : 0;
  }
  /// Waits until it is so, but not for ever.
  static bool wait_for(const std::function<bool()>& is_so) {
    const auto end = Clock::now() + kPatience;
    while (!is_so()) {
      if (Clock::now() > end) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }

  /// A process's context, of which no program knows the size, is measured before it allocates.
  void check_truth() {
    const std::string what = "library: driver's count less context and what is accounted";
    CudaClient program(client());
    if (open_card(program) != 0) return in_.report.failed(what, program.errors());
    (void)wait_for([&] { return driver_count(program.pid()) > 0; });
    const std::uint64_t context = driver_count(program.pid());
    for (const std::string command : {"alloc 314572800", "alloc 1000", "alloc-async 268435456",
                                      "create 268435456 1 0", "array 1024 1024 64 0"}) {
      const int result = program.run(command).result;
      if (result != 0) {
        return in_.report.failed(what, command + ": CUDA error " + std::to_string(result));
      }
    }
    (void)program.run("info");  // accounts every pool by what it has now
    const auto expected = static_cast<double>(accounted() + context);
    (void)wait_for([&] {  // some drivers tell a moment later
      return std::abs(static_cast<double>(driver_count(program.pid())) - expected) < 64 * kMiB;
    });
    const double difference = static_cast<double>(driver_count(program.pid())) - expected;
    in_.report.expect(std::abs(difference) <= 64 * kMiB, what,
                      in_mebibytes(difference) + " of " +
                          in_mebibytes(static_cast<double>(accounted())) + ", context " +
                          in_mebibytes(static_cast<double>(context)),
                      "within 64 MiB");
  }

  /// The agent looks every second and reports at the second look.
  void check_absolute_path() {
    const std::string what = "library: a program that loads the driver by its path is seen after";
    CudaClient program(client("/usr/local/tangram/driver/libcuda.so.1"));
    if (open_card(program) != 0) return in_.report.failed(what, program.errors());
    const std::uint64_t threshold = limit() + std::max(64 * kMiB, limit() / 100);
    const int taken = program.run("alloc " + std::to_string(threshold + 64 * kMiB)).result;
    if (taken != 0) return in_.report.failed(what, "CUDA error " + std::to_string(taken));
    const auto begin = Clock::now();
    const bool seen = wait_for([&] { return driver_count(program.pid()) > threshold; });
    constexpr double kAgentsLooks = 1000;
    if (!seen) {
      in_.report.failed(what, "the driver counts " +
                                  in_mebibytes(static_cast<double>(driver_count(program.pid()))));
    } else {
      in_.report.expect_at_most(milliseconds_since(begin) + kAgentsLooks, 2000, "ms",
                                what + " (with 1 s between the agent's looks)");
    }
    const auto file = containers_.limiter().way_past(program.pid());
    in_.report.expect(file && !file->empty(),
                      "library: … and the file by which it evades the limit",
                      file ? *file : file.error().message, "its path");
  }

  void check_storm() {
    const std::string what = "library: after 32 processes were killed while they allocate, ";
    const std::uint64_t before = used_of_card();
    testing::Random random(20'261'125);
    for (int round = 0; round < 4; ++round) {
      std::deque<CudaClient> programs;
      for (int i = 0; i < 8; ++i) programs.emplace_back(client()).send("as-driver");
      for (CudaClient& program : programs) program.send("init");
      for (CudaClient& program : programs) {
        (void)program.receive();
        if (program.receive().result != 0) return in_.report.failed(what, program.errors());
        program.send("churn " + std::to_string(random.below(1000)) + " " +
                     std::to_string(64 * kMiB));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(random.between(200, 500)));
      for (CudaClient& program : programs) program.kill();
    }
    const auto begin = Clock::now();
    const bool is_free = wait_for([&] { return used_of_card() <= before; });
    in_.report.expect(is_free, what + "the driver counts more than before",
                      is_free ? "0 MiB after " + decimal(milliseconds_since(begin)) + " ms"
                              : in_mebibytes(static_cast<double>(used_of_card() - before)),
                      "0 MiB");
    in_.report.expect(accounted() == 0, what + "accounted",
                      in_mebibytes(static_cast<double>(accounted())), "0 MiB");
    CudaClient next(client());
    const bool begun = open_card(next) == 0;
    const std::uint64_t free = begun ? next.run("info").value() : 0;
    in_.report.expect(free == limit(), what + "free to the next one",
                      in_mebibytes(static_cast<double>(free)),
                      in_mebibytes(static_cast<double>(limit())));
  }

  /// Sets the container's limit, and asks the running program at once.
  std::uint64_t total_after_change(CudaClient& program, std::int64_t milli) {
    const auto changed =
        containers_.limiter().change(container_.allocation(), {share_of(in_.card, milli)});
    const auto info = program.run("info");
    return changed && info.result == 0 ? info.values.at(1) : 0;
  }

  void check_resize() {
    const std::string what = "library: a running program's total after a resize to ";
    CudaClient program(client());
    if (open_card(program) != 0) return in_.report.failed(what, program.errors());
    const int taken = program.run("alloc " + std::to_string(limit() / 2)).result;
    for (const std::int64_t milli : {600, 300, 500}) {
      const auto expected = share_of(in_.card, milli).memory_limit;
      const std::uint64_t total = total_after_change(program, milli);
      in_.report.expect(taken == 0 && total == static_cast<std::uint64_t>(expected.count()) * kMiB,
                        what + decimal(static_cast<double>(milli) / 1000),
                        in_mebibytes(static_cast<double>(total)), to_string(expected));
    }
    (void)total_after_change(program, 200);  // less than it has
    const int more = program.run("alloc 1").result;
    in_.report.expect(more == kOutOfMemory, "library: 1 byte more in a share resized below its use",
                      "CUDA error " + std::to_string(more), "CUDA error 2, out of memory");
  }

  const Setting& in_;
  Containers& containers_;
  const Container container_;
  const model::GrantedCard part_;
};

}  // namespace

void check_library_from_outside(const Setting& in) {
  auto containers = Containers::create(in.build, in.work_dir);
  if (!containers) return in.report.not_checked("library, outside", containers.error().message);
  const model::GrantedCard part = share_of(in.card, kShare);
  auto container = containers->make("outside", part);
  if (!container) return in.report.not_checked("library, outside", container.error().message);
  OutsideCheck(in, *containers, std::move(*container), part).run();
}

}  // namespace tangram::gpu_check
