#include "base/file.hpp"
#include "model/compute_chunks.hpp"
#include "node/vendor/nvidia/mps_enforcer.hpp"
#include "node/vendor/nvidia/sm_chunks.hpp"
#include "node/vendor/nvidia/time_slice_enforcer.hpp"
#include "tests/tools/gpu_check/checks.hpp"
#include "tests/tools/gpu_check/container.hpp"
#include "tests/tools/gpu_check/worker.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <thread>

namespace tangram::gpu_check {

namespace {

using namespace std::chrono_literals;
using node::InstalledCard;
using Env = std::vector<std::string>;

constexpr std::int64_t kSeconds = 5;     // of computing: hundreds of kernels even at a quarter
constexpr std::int64_t kHeadStart = 12;  // seconds until all workers have their contexts
/// What a client may lack of its limit: its context, its module, the granularity of allocations.
constexpr std::int64_t kOverhead = 1024;
/// Multiprocessors are given whole, in pairs on some cards; clocks rise when fewer are at work.
constexpr double kTolerance = 0.3;

/// Time that this check can put forward, past the enforcer's grace.
class SkippingClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return SystemClock().now() + skipped_; }
  [[nodiscard]] WallTime wall() const override { return SystemClock().wall(); }
  void skip(std::chrono::seconds by) { skipped_ += by; }

 private:
  std::chrono::seconds skipped_{0};
};

/// The environment of a client that is in no container: paths are the host's.
Env client_env(const node::ContainerEdits& edits) {
  Env env = edits.env;
  for (std::string& one : env) {
    for (const node::BindMount& mount : edits.mounts) {
      const std::size_t at = one.find("=" + mount.container_path);
      if (at != std::string::npos) one = one.substr(0, at + 1) + mount.host_path;
    }
  }
  return env;
}

std::string problem(const Result<Findings>& worker) {
  return worker ? worker->text("error") : worker.error().message;
}

/// Workers that compute at the same time, in the order of their environments.
std::vector<Result<Findings>> compute_together(node::Programs& programs,
                                               const std::vector<Env>& environments) {
  WorkerOptions options;
  options.seconds = kSeconds;
  options.start_at = static_cast<std::int64_t>(std::time(nullptr)) + kHeadStart;
  std::vector<Result<Findings>> found(environments.size(),
                                      fail(Errc::kUnavailable, "was not started"));
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < environments.size(); ++i) {
    threads.emplace_back([&, i] { found[i] = start_worker(programs, options, environments[i]); });
  }
  threads.clear();
  return found;
}

double speed_alone(node::Programs& programs, const Env& env, const std::string& what,
                   Report& report) {
  WorkerOptions options;
  options.seconds = kSeconds;
  const auto worker = start_worker(programs, options, env);
  const double speed = worker ? worker->number("kernels_per_s") : 0;
  report.expect(speed > 0, what,
                speed > 0 ? decimal(speed) + " kernels per second" : problem(worker));
  return speed;
}

void expect_ratio(double seen, double expected, const std::string& what, Report& report) {
  const bool good = seen > expected * (1 - kTolerance) && seen < expected * (1 + kTolerance);
  report.expect(good, what, decimal(seen), decimal(expected) + " ± 30 %");
}

node::nvidia::MpsSettings settings_in(const std::string& work_dir) {
  node::nvidia::MpsSettings settings{.sharers = 16};
  settings.run_dir = work_dir;
  settings.own_shm = false;
  return settings;
}

class MpsCheck {
 public:
  explicit MpsCheck(const Setting& in)
      : card_(in.card),
        programs_(in.programs),
        report_(in.report),
        settings_(settings_in(in.work_dir)),
        enforcer_(in.source, in.programs, clock_, settings_),
        keeps_mode_(in.keeps_mode) {}

  void run() {
    const auto prepared = enforcer_.prepare(card_.card.id, sharers(500));
    report_.expect(prepared.has_value(), "MPS: a daemon is started",
                   prepared ? "it answers" : prepared.error().message);
    if (prepared) {
      check_bypass("before its first client");
      check_server_limits();
      check_commands();
      check_limits(250);
      check_limits(500);
      check_bypass("after its clients");
      check_shares();
      check_restart();
    }
    give_back();
  }

 private:
  static constexpr std::string_view kAllocation = "slot-1.check";

  /// One container.
  [[nodiscard]] node::CardSharers sharers(std::int64_t milli) const {
    node::CardSharers sharers;
    sharers.add(kAllocation, share_of(card_, milli));
    sharers.starting = kAllocation;
    return sharers;
  }

  /// Of a client that unset its limits.
  [[nodiscard]] Env bare_env() const {
    Env env = env_of(1000);
    std::erase_if(env, [](const std::string& one) {
      return one.find("_LIMIT=") != std::string::npos ||
             one.find("_PERCENTAGE=") != std::string::npos;
    });
    return env;
  }

  /// Half of the card is the largest share: a client that keeps its variables has no more. Then
  /// the whole card is, and a client that connects to the same server has more.
  void check_server_limits() {
    const std::int64_t half = share_of(card_, 500).memory_limit.count();
    const std::string what = "MPS: memory of a client without limits of its own";
    WorkerOptions options;
    options.allocate_up_to = half * 5 / 4;
    const auto bare = start_worker(programs_, options, bare_env());
    if (!problem(bare).empty()) return report_.failed(what, problem(bare));
    const auto has = [&](const Result<Findings>& worker) {
      return worker->text("allocated_mib") + " MiB, the largest share has " + std::to_string(half);
    };
    report_.expect(!bare->text("refused").empty() && bare->number("allocated_mib") <= double(half),
                   what, has(bare));
    Env other_card = bare_env();
    other_card.emplace_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=1=4G");
    const auto lifted = start_worker(programs_, options, other_card);
    if (!problem(lifted).empty()) return report_.failed(what, problem(lifted));
    const std::string kept = "MPS: a memory limit that no variable of a client lifts";
    if (lifted->text("refused").empty()) {
      report_.not_offered(kept, "a client that names another card has " + has(lifted));
    } else {
      report_.passed(kept, has(lifted));
    }
    const auto raised = enforcer_.prepare(card_.card.id, sharers(1000));
    if (!raised) return report_.failed(what, raised.error().message);
    const auto worker = start_worker(programs_, options, bare_env());
    const bool more = worker && worker->text("error").empty() && worker->text("refused").empty();
    report_.expect(more, "MPS: a larger share raises the server's limit",
                   more ? "a client has more than before" : problem(worker));
  }

  /// What the front end prints that finds its daemon by this folder.
  [[nodiscard]] std::string answer(const std::string& pipe, const std::string& line) const {
    const auto end = programs_.run(
        {{"nvidia-cuda-mps-control"}, {"CUDA_MPS_PIPE_DIRECTORY=" + pipe}, line + "\n"}, 10s);
    return end ? end->output.substr(0, end->output.find('\n')) : end.error().message;
  }

  /// A client's folder leads to no command, not even root's. The front end's exit code does not say
  /// whether one was taken: what the daemon does says it.
  void check_commands() {
    const node::nvidia::MpsFolders folders(settings_.run_dir, card_.card.id);
    const std::string own = folders.current() + "/pipe";
    const auto told = [&] { return answer(own, "get_default_active_thread_percentage"); };
    const std::string before = told();
    (void)answer(folders.client(kAllocation), "set_default_active_thread_percentage 7");
    const std::string after = told();
    report_.expect(before == after && before.find_first_of("0123456789") != std::string::npos,
                   "MPS: a client cannot change the daemon's limits",
                   before + " %, then " + after + " %");
    (void)answer(folders.client(kAllocation), "quit");
    const auto worker = start_worker(programs_, {}, env_of(250));
    report_.expect(problem(worker).empty(), "MPS: a client cannot end the daemon",
                   problem(worker).empty() ? "it serves clients after that" : problem(worker));
  }

  [[nodiscard]] Env env_of(std::int64_t milli) const {
    return client_env(enforcer_.edits(kAllocation, {share_of(card_, milli)}).value());
  }

  void check_limits(std::int64_t milli) {
    const std::int64_t limit = share_of(card_, milli).memory_limit.count();
    const std::string what = "MPS: memory of a client with " + decimal(double(milli) / 1000);
    WorkerOptions options;
    options.allocate_up_to = limit * 5 / 4;
    const auto worker = start_worker(programs_, options, env_of(milli));
    if (!worker || !worker->text("error").empty()) return report_.failed(what, problem(worker));
    const auto taken = static_cast<std::int64_t>(worker->number("allocated_mib"));
    report_.passed(
        "MPS: total memory that a client with " + decimal(double(milli) / 1000) + " sees",
        worker->text("total_mib") + " MiB of the card's " + std::to_string(card_.total.count()));
    const bool held = !worker->text("refused").empty() && taken <= limit;
    report_.expect(held && taken >= limit - kOverhead, what,
                   std::to_string(taken) + " MiB of its " + std::to_string(limit) +
                       " MiB, then: " + (held ? worker->text("refused") : "no refusal"));
  }

  /// A process that does not go through the daemon gets no context.
  void check_bypass(const std::string& when) {
    if (keeps_mode_) return report_.not_checked("MPS: nothing gets past the daemon", "--keep-mode");
    const auto worker =
        start_worker(programs_, {},
                     {"CUDA_MPS_PIPE_DIRECTORY=/nowhere", "CUDA_VISIBLE_DEVICES=" + card_.card.id});
    const std::string error = problem(worker);
    report_.expect(!error.empty(), "MPS: nothing gets past the daemon " + when,
                   error.empty() ? "a client without it got a context" : error);
  }

  void check_shares() {
    const double whole = speed_alone(programs_, env_of(1000), "MPS: the whole card alone", report_);
    const double quarter = speed_alone(programs_, env_of(250), "MPS: 0.25 alone", report_);
    const double half = speed_alone(programs_, env_of(500), "MPS: 0.5 alone", report_);
    if (whole <= 0 || quarter <= 0 || half <= 0) return;
    expect_ratio(quarter / whole, 0.25, "MPS: speed of 0.25 alone, of the whole card's", report_);
    expect_ratio(half / whole, 0.5, "MPS: speed of 0.5 alone, of the whole card's", report_);

    const auto both = compute_together(programs_, {env_of(250), env_of(500)});
    for (const auto& one : both) {
      if (!one || one->number("kernels_per_s") <= 0) {
        return report_.failed("MPS: 0.25 and 0.5 together", problem(one));
      }
      if (one->number("late") != 0) {
        return report_.not_checked("MPS: 0.25 and 0.5 together", "one of them started late");
      }
    }
    const double slow = both[0]->number("kernels_per_s");
    const double fast = both[1]->number("kernels_per_s");
    expect_ratio(slow / whole, 0.25, "MPS: speed of 0.25 beside 0.5, of the whole card's", report_);
    expect_ratio(fast / whole, 0.5, "MPS: speed of 0.5 beside 0.25, of the whole card's", report_);
    expect_ratio(fast / slow, 2, "MPS: 0.5 is faster than 0.25 by", report_);
  }

  void check_restart() {
    const std::string what = "MPS: a daemon that was killed is replaced";
    const std::string daemon = node::nvidia::MpsFolders(settings_.run_dir, card_.card.id).current();
    const auto pid = read_file(daemon + "/pipe/nvidia-cuda-mps-control.pid");
    if (!pid) return report_.not_checked(what, "it wrote no pid file");
    if (!programs_.kill(std::atoll(pid->c_str()), "nvidia-cuda-mps-control",
                        "CUDA_MPS_PIPE_DIRECTORY=" + daemon + "/pipe")) {
      return report_.not_checked(what, "its pid file names no daemon: " + *pid);
    }
    for (int look = 0; look < 3; ++look) {
      enforcer_.maintain();
      clock_.skip(10s);
    }
    const auto now = enforcer_.enforcement(share_of(card_, 1000));
    const auto worker = start_worker(programs_, {}, env_of(250));
    const bool works =
        now.compute == node::Holder::kServer && worker && worker->text("error").empty();
    report_.expect(works, what, works ? "and serves clients" : now.note + " " + problem(worker));
  }

  void give_back() {
    clock_.skip(5min);
    enforcer_.keep({});
    const auto end = programs_.run(
        {{"nvidia-smi", "--query-gpu=compute_mode", "--format=csv,noheader", "-i", card_.card.id},
         {},
         {}},
        60s);
    const std::string mode = end ? end->output.substr(0, end->output.find('\n')) : "";
    if (mode.empty()) return report_.not_checked("MPS: the card is given back", "no nvidia-smi");
    report_.expect(mode == "Default", "MPS: the card is given back", "compute mode " + mode);
  }

  const InstalledCard& card_;
  node::Programs& programs_;
  Report& report_;
  SkippingClock clock_;
  const node::nvidia::MpsSettings settings_;
  node::nvidia::MpsEnforcer enforcer_;
  const bool keeps_mode_;
};

/// A quarter and a half of the card, in SM partitions.
class PartitionsCheck {
 public:
  explicit PartitionsCheck(const Setting& in) : in_(in), settings_(settings_in(in.work_dir)) {
    settings_.sm_partitions = true;
  }

  void run() {
    node::nvidia::SmChunks probe(settings_, in_.programs, clock_);
    chunks_ = probe.of(in_.card.card.id, in_.driver);
    if (chunks_ == 0) {
      return in_.report.not_offered(
          "SM partitions", "the card or driver " + in_.driver + " has none; see the log above");
    }
    in_.report.passed("partitions: chunks of the card", std::to_string(chunks_));
    node::nvidia::MpsEnforcer enforcer(in_.source, in_.programs, clock_, settings_);
    node::CardSharers sharers;
    for (const std::int64_t milli : {250, 500}) sharers.add(name_of(milli), part_of(milli));
    for (const std::int64_t milli : {250, 500}) {
      sharers.starting = name_of(milli);
      const auto prepared = enforcer.prepare(in_.card.card.id, sharers);
      in_.report.expect(prepared.has_value(),
                        "partitions: " + decimal(double(milli) / 1000) + " of the card is reserved",
                        prepared ? "it is" : prepared.error().message);
      if (!prepared) return;
    }
    compare(enforcer);
    clock_.skip(5min);
    enforcer.keep({});
  }

 private:
  static std::string name_of(std::int64_t milli) { return "slot-" + std::to_string(milli); }

  [[nodiscard]] model::GrantedCard part_of(std::int64_t milli) const {
    model::GrantedCard part = share_of(in_.card, milli);
    part.compute = model::booked_for(model::chunks_within(MilliGpu(milli), chunks_), chunks_);
    return part;
  }

  void compare(const node::nvidia::MpsEnforcer& enforcer) {
    const Env quarter = client_env(enforcer.edits(name_of(250), {part_of(250)}).value());
    const Env half = client_env(enforcer.edits(name_of(500), {part_of(500)}).value());
    Env none = half;
    std::erase_if(none, [](const std::string& one) { return one.find("_PARTITION=") != one.npos; });
    const auto bare = start_worker(in_.programs, {}, none);
    in_.report.expect(!problem(bare).empty(), "partitions: no client computes without one",
                      problem(bare).empty() ? "a client without it got a context" : problem(bare));
    const double alone = speed_alone(in_.programs, half, "partitions: 0.5 alone", in_.report);
    const auto both = compute_together(in_.programs, {quarter, half});
    for (const auto& one : both) {
      if (one && one->number("kernels_per_s") > 0 && one->number("late") == 0) continue;
      return in_.report.not_checked("partitions: 0.25 and 0.5 together", problem(one));
    }
    const double slow = both[0]->number("kernels_per_s");
    const double fast = both[1]->number("kernels_per_s");
    const auto count = [&](std::int64_t milli) {
      return double(model::chunks_within(MilliGpu(milli), chunks_));
    };
    expect_ratio(fast / slow, count(500) / count(250), "partitions: 0.5 is faster than 0.25 by",
                 in_.report);
    expect_ratio(fast / alone, 1, "partitions: speed of 0.5 beside 0.25, of alone", in_.report);
  }

  const Setting& in_;
  SkippingClock clock_;
  node::nvidia::MpsSettings settings_;
  int chunks_ = 0;
};

}  // namespace

void check_partitions(const Setting& in) {
  if (!in.card.card.isolation.has(model::Isolation::kMps)) {
    return in.report.not_offered("SM partitions", "card " + in.card.card.id + " has no MPS");
  }
  PartitionsCheck(in).run();
}

void check_mps(const Setting& in) {
  if (!in.card.card.isolation.has(model::Isolation::kMps)) {
    return in.report.not_offered("MPS", "card " + in.card.card.id + " does not have it");
  }
  MpsCheck(in).run();
}

void check_time_slice(const Setting& in) {
  if (in.keeps_mode) return in.report.not_checked("time-slice", "--keep-mode");
  SkippingClock clock;
  node::nvidia::TimeSliceEnforcer enforcer(in.source, in.programs, clock,
                                           node::nvidia::TimeSlice::kMedium);
  const auto prepared = enforcer.prepare(in.card.card.id, {});
  in.report.expect(prepared.has_value(), "time-slice: the driver takes a length",
                   prepared ? "medium" : prepared.error().message);
  const Env env{"CUDA_VISIBLE_DEVICES=" + in.card.card.id};
  const double alone = speed_alone(in.programs, env, "time-slice: one alone", in.report);
  const auto both = compute_together(in.programs, {env, env});
  for (const auto& one : both) {
    const double speed = one ? one->number("kernels_per_s") : 0;
    if (speed <= 0 || alone <= 0) {
      in.report.failed("time-slice: one of two", problem(one));
    } else if (one->number("late") != 0) {
      in.report.not_checked("time-slice: one of two", "one of them started late");
    } else {
      expect_ratio(speed / alone, 0.5, "time-slice: speed of one of two", in.report);
    }
  }
  enforcer.keep({});
}

}  // namespace tangram::gpu_check
