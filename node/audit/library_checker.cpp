#include "node/audit/library_checker.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kBetweenLooks = 60s;
/// A process that is noted every second, and was not for so long, has ended.
constexpr std::chrono::seconds kForgetAfter = 10s;
/// Of up to 8 MiB of text each: the kernel writes that in some 10 ms.
constexpr int kMostLooks = 4;

/// The container chooses the path: nothing that a terminal obeys, and no novel.
std::string printable(const std::string& path) {
  constexpr std::size_t kMost = 200;
  std::string shown = path.substr(0, kMost);
  const auto is_odd = [](unsigned char c) { return c < ' ' || c > '~'; };
  std::replace_if(shown.begin(), shown.end(), is_odd, '?');
  return path.size() > kMost ? shown + "…" : shown;
}

}  // namespace

void LibraryChecker::note_use(const MemoryUse& use) {
  constexpr std::size_t kMostNoted = 1024;  // more than a node has: the looks wait for something
  const std::lock_guard lock(mutex_);
  if (noted_.size() >= kMostNoted) noted_.clear();
  noted_.insert_or_assign(Key{use.card, use.pod_uid, use.container}, use);
}

void LibraryChecker::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    parts_.sleeper(1s, stop);
  }
}

void LibraryChecker::look() {
  std::map<Key, MemoryUse> noted;
  {
    const std::lock_guard lock(mutex_);
    noted.swap(noted_);
  }
  for (const auto& [key, use] : noted) look_at(use);
  forget_ended();
  publish();
}

void LibraryChecker::look_at(const MemoryUse& use) {
  const TimePoint now = parts_.clock.now();
  const Container container{use.pod_uid, use.container};
  int looks = 0;
  for (const PlacedProcess& process : use.processes) {
    Seen& seen = seen_[process.pid];
    if (seen.container != container) {  // it has got the number
      seen = Seen();
      seen.container = container;
    }
    seen.noted = now;
    const bool is_due = !seen.looked || now - *seen.looked >= kBetweenLooks;
    if (is_due && looks++ < kMostLooks) look_at(use, process.pid, seen);
  }
}

void LibraryChecker::look_at(const MemoryUse& use, std::int64_t pid, Seen& seen) {
  const auto path = parts_.way_past(use, pid);
  seen.looked = parts_.clock.now();
  const bool is_past = path && !path->empty();
  {
    const std::lock_guard lock(mutex_);
    ++looks_;
    if (!path && path.error().code != Errc::kNotFound) ++unclear_;
    const auto found = found_.find(seen.container);
    seen.is_past = is_past || (!path && seen.is_past);
    if (!is_past || found != found_.end()) return;
    found_[seen.container] = {use.ns, use.pod, use.container, 1};
  }
  report(use, printable(*path));
}

void LibraryChecker::forget_ended() {
  const TimePoint now = parts_.clock.now();
  std::erase_if(seen_, [&](const auto& one) { return now - one.second.noted >= kForgetAfter; });
}

void LibraryChecker::report(const MemoryUse& use, const std::string& path) const {
  const std::string sentence =
      "container " + use.container + " uses card " + use.card + " by " + path +
      " instead of the library that limits its memory; remove that file's folder from "
      "LD_LIBRARY_PATH, or the file (docs/shares.md)";
  spdlog::warn("pod {}/{}: {}", use.ns, use.pod, sentence);
  parts_.report_event(kube::EventNote{.kind = "Pod",
                                      .ns = use.ns,
                                      .name = use.pod,
                                      .uid = use.pod_uid,
                                      .type = kube::EventNote::Type::kWarning,
                                      .reason = "OtherDriverLibrary",
                                      .action = "Checking",
                                      .note = sentence});
}

/// Counts the processes of all containers anew: a process may use several cards.
void LibraryChecker::publish() {
  std::map<Container, std::uint64_t> counts;
  for (const auto& [pid, seen] : seen_) {
    if (seen.is_past) ++counts[seen.container];
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(found_, [&](const auto& one) { return !counts.contains(one.first); });
  for (auto& [container, found] : found_) found.processes = counts[container];
}

LibraryChecker::State LibraryChecker::state() const {
  const std::lock_guard lock(mutex_);
  State state{.found = {}, .looks = looks_, .unclear = unclear_};
  for (const auto& [container, found] : found_) state.found.push_back(found);
  return state;
}

}  // namespace tangram::node
