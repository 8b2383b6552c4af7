#include "tests/tools/gpu_check/worker.hpp"

#include "tests/tools/gpu_check/container.hpp"
#include "tests/tools/gpu_check/cuda.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <sstream>
#include <thread>

namespace tangram::gpu_check {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kChunk = 64;  // MiB; how finely a limit is found

/// Until then, one that computes is asked to have begun: a context under MPS takes a few seconds.
constexpr auto kWorkerLimit = 120s;

void print(const char* word, const auto& value) { std::cout << word << ' ' << value << '\n'; }

void take_memory(Cuda& cuda, std::int64_t up_to) {
  std::int64_t taken = 0;
  while (taken < up_to) {
    if (auto more = cuda.allocate(static_cast<std::uint64_t>(kChunk * kMebibyte)); !more) {
      print("refused", more.error().message);
      break;
    }
    taken += kChunk;
  }
  print("allocated_mib", taken);
}

/// Waits for the start, if there is one.
std::chrono::system_clock::time_point wait_for_start(const WorkerOptions& options) {
  const std::chrono::system_clock::time_point start{std::chrono::seconds(options.start_at)};
  if (options.start_at == 0) return std::chrono::system_clock::now();
  print("late", std::chrono::system_clock::now() > start ? 1 : 0);
  std::this_thread::sleep_until(start);
  return start;
}

int compute(Cuda& cuda, const WorkerOptions& options) {
  if (auto warm = cuda.compute(); !warm) {
    print("error", warm.error().message);
    return 1;
  }
  (void)wait_for_start(options);
  const auto begin = std::chrono::steady_clock::now();
  const auto end = begin + std::chrono::seconds(options.seconds);
  std::int64_t kernels = 0;
  for (; std::chrono::steady_clock::now() < end; ++kernels) {
    if (auto done = cuda.compute(); !done) {
      print("error", done.error().message);
      return 1;
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  print("kernels_per_s", static_cast<double>(kernels) / took.count());
  return 0;
}

/// Keeps the card busy, and counts what it has done in each bin.
int work(Cuda& cuda, const WorkerOptions& options) {
  const auto prepared = cuda.prepare({.rounds = static_cast<std::uint32_t>(options.rounds),
                                      .kernels = static_cast<int>(options.kernels)});
  if (!prepared) {
    print("error", prepared.error().message);
    return 1;
  }
  std::vector<std::int64_t> bins(static_cast<std::size_t>(options.bins));
  const auto start = wait_for_start(options);
  const std::chrono::milliseconds width(options.bin_ms);
  const std::int64_t working = options.idle_from < 0 ? options.bins : options.idle_from;
  while (true) {
    if (auto done = cuda.keep_busy(static_cast<int>(options.batch)); !done) {
      print("error", done.error().message);
      return 1;
    }
    const auto bin = (std::chrono::system_clock::now() - start) / width;
    if (bin >= working) break;
    bins.at(static_cast<std::size_t>(std::max<std::int64_t>(bin, 0))) += options.batch;
  }
  if (auto done = cuda.finish(); !done) print("error", done.error().message);
  std::this_thread::sleep_until(start + width * options.bins);  // idle, but there
  std::cout << "bins";
  for (const std::int64_t count : bins) std::cout << ' ' << count;
  std::cout << '\n';
  return 0;
}

}  // namespace

int run_worker(const WorkerOptions& options) {
  auto cuda = Cuda::open();
  if (!cuda) {
    print("error", cuda.error().message);
    return 1;
  }
  if (const auto memory = (*cuda)->memory()) print("total_mib", memory->total / kMebibyte);
  if (options.allocate_up_to > 0) take_memory(**cuda, options.allocate_up_to);
  if (options.bins > 0) return work(**cuda, options);
  return options.seconds > 0 ? compute(**cuda, options) : 0;
}

Findings::Findings(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos) values_[line.substr(0, space)] = line.substr(space + 1);
  }
}

std::string Findings::text(const std::string& word) const {
  const auto found = values_.find(word);
  return found == values_.end() ? "" : found->second;
}

double Findings::number(const std::string& word) const {
  std::istringstream text_of(text(word));
  double value = 0;
  text_of >> value;
  return value;
}

std::vector<double> Findings::bins() const {
  std::istringstream counts(text("bins"));
  return {std::istream_iterator<double>(counts), {}};
}

Result<Findings> start_worker(node::Programs& programs, const WorkerOptions& options,
                              std::vector<std::string> env,
                              const std::vector<std::string>& inside) {
  node::Command command{inside, std::move(env), {}};
  std::vector<std::string>& words = command.arguments;
  words.insert(words.end(), {own_path(), "worker"});
  const auto add = [&](const char* option, std::int64_t value) {
    words.insert(words.end(), {option, std::to_string(value)});
  };
  add("--start-at", options.start_at);
  add("--seconds", options.seconds);
  add("--allocate-up-to", options.allocate_up_to);
  add("--bins", options.bins);
  add("--bin-ms", options.bin_ms);
  add("--rounds", options.rounds);
  add("--kernels", options.kernels);
  add("--batch", options.batch);
  add("--idle-from", options.idle_from);
  const auto end = programs.run(command, kWorkerLimit);
  if (!end) return end.error();
  return Findings(end->output);
}

}  // namespace tangram::gpu_check
