// Measures what the stand-in driver costs, beside the bare driver in the same run.

#include "base/json.hpp"
#include "bench/stand_in/container_folder.hpp"
#include "bench/stand_in/measurements.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <thread>

namespace {

using namespace tangram;
using bench::Comparison;

Result<std::vector<Comparison>> measure_calls(bool on_card) {
  const auto lookups = bench::runtime_lookups();
  if (!lookups) return lookups.error();
  auto bare = bench::Driver::start(bench::kBareDriver, *lookups);
  if (!bare) return bare.error();
  auto behind = bench::Driver::start(bench::kStandInDriver, *lookups);
  if (!behind) return behind.error();
  for (bench::Driver* const driver : {&*bare, &*behind}) {
    if (!on_card) continue;
    if (auto opened = driver->open_card(); !opened) return opened.error();
  }
  std::vector<Comparison> all{bench::returned_launches(*bare, *behind),
                              bench::exported_launches(*bare, *behind),
                              bench::allocations(*bare, *behind)};
  // A real driver does not serve the child of a process that has initialised it.
  if (!on_card) all.push_back(bench::allocations_of_processes(*bare, *behind));
  all.push_back(bench::allocations_of_threads(*bare, *behind));
  return all;
}

Result<std::vector<Comparison>> measure_all(bool on_card) {
  auto all = measure_calls(on_card);
  if (!all) return all;
  for (const auto measure : {bench::starts, bench::crowds}) {
    auto comparison = measure(!on_card);
    if (!comparison) return comparison.error();
    all->push_back(std::move(*comparison));
  }
  return all;
}

const char* name_of(bench::Floor floor) {
  return floor == bench::Floor::kMutex ? "mutexes" : "bare";
}

void print(const std::vector<Comparison>& all, double mutex_ns) {
  std::printf("%-34s %8s %8s %8s %7s %9s\n", "", "bare", "behind", "added", "+-", "target");
  for (const Comparison& one : all) {
    const bench::Allowance& allowed = one.allowance();
    std::printf("%-34s %8.3f %8.3f %8.3f %7.3f %6.1f %-2s  = %5.1f %s, allowed %.0f\n",
                one.name().c_str(), one.bare(), one.behind(), one.added(), one.noise(),
                allowed.target, one.unit().c_str(), one.added_floors(mutex_ns),
                name_of(allowed.floor), allowed.most_floors);
  }
  std::printf("a mutex: %.1f ns\n", mutex_ns);
}

std::string as_json(const std::vector<Comparison>& all, double mutex_ns) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  for (const Comparison& one : all) {
    out.key(one.name() + ", " + one.unit()).begin_object();
    out.member("bare", one.bare()).member("behind", one.behind()).member("added", one.added());
    out.member("noise", one.noise()).member("target", one.allowance().target);
    out.member("added_floors", one.added_floors(mutex_ns));
    out.end_object();
  }
  out.key("a mutex, ns").number(mutex_ns);
  out.end_object();
  return text;
}

/// @returns kConflict if the stand-in adds more than it may
Result<void> check(const std::vector<Comparison>& all, double mutex_ns) {
  for (const Comparison& one : all) {
    const double added = one.added_floors(mutex_ns);
    if (added <= one.allowance().most_floors) continue;
    return fail(Errc::kConflict,
                fmt::format("{}: {:.1f} {} added, {:.0f} allowed", one.name(), added,
                            name_of(one.allowance().floor), one.allowance().most_floors));
  }
  return {};
}

struct Options {
  std::string started;
  std::string only_started;
  std::string driver;
  std::string card;
  std::string summary;
  bool check = false;
};

Result<void> run(const Options& options) {
  const bool on_card = !options.driver.empty();
  const auto driver = on_card ? bench::driver_of_card(options.driver, options.card)
                              : Result<bench::MeasuredDriver>(bench::null_driver());
  if (!driver) return driver.error();
  const auto folder = bench::ContainerFolder::create(*driver);
  if (!folder) return folder.error();
  // Programs that use a card have threads: libc's locks are cheaper before the first one starts.
  std::thread([] {}).join();
  // The load of the machine changes.
  const double before = bench::mutex_floor();
  const auto all = measure_all(on_card);
  if (!all) return all.error();
  const double mutex_ns = std::max(before, bench::mutex_floor());
  print(*all, mutex_ns);
  if (!options.summary.empty()) std::ofstream(options.summary) << as_json(*all, mutex_ns) << "\n";
  return options.check ? check(*all, mutex_ns) : Result<void>();
}

Result<void> run_started(const std::string& library, bool allocates) {
  const auto took = bench::start_once(library.c_str(), allocates);
  if (!took) return took.error();
  std::printf("%f\n", *took);
  return {};
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App cli("Measures what the stand-in driver costs, beside the bare driver in the same run.");
  cli.add_flag("--check", options.check, "Fail if it adds much more than it did when measured");
  cli.add_option("--summary", options.summary, "Write the figures as JSON");
  cli.add_option("--start", options.started,
                 "Only start with a library, and print how long it took")
      ->group("");
  cli.add_option("--start-only", options.only_started, "The same, without an allocation")
      ->group("");
  auto* const driver =
      cli.add_option("--driver", options.driver,
                     "Over this libcuda.so.1, on --card, instead of one without a card");
  auto* const card =
      cli.add_option("--card", options.card, "The card's UUID, alone visible to CUDA");
  driver->needs(card);
  card->needs(driver);
  CLI11_PARSE(cli, argc, argv);
  const auto done = !options.started.empty()        ? run_started(options.started, true)
                    : !options.only_started.empty() ? run_started(options.only_started, false)
                                                    : run(options);
  if (done) return 0;
  std::cerr << "tangram-stand-in-cost: " << done.error().message << "\n";
  return 1;
} catch (const std::exception& error) {
  std::cerr << "tangram-stand-in-cost: " << error.what() << "\n";
  return 1;
}
