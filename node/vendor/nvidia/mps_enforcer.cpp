#include "node/vendor/nvidia/mps_enforcer.hpp"

#include "base/quote.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace tangram::node {

namespace {

using namespace std::chrono_literals;

/// A container starts within kubelet's 30 s of its preparation, or it is prepared again.
constexpr auto kGrace = 60s;

/// A daemon answers within milliseconds of its start; on a node that wakes its cards up, in
/// seconds. With the daemon's own limits (3 s for each answer, 6 s for the start) 18 s in all.
constexpr auto kAnswersAfterStart = 6s;
constexpr auto kBetweenTries = 200ms;

/// Times in a row that there was no daemon: one may be a daemon that somebody is starting.
constexpr int kMostMisses = 2;

/// Times in a row that nothing could be learnt, every 8 s then. To end a daemon ends the work of
/// all its clients, so a machine that is slow for a minute is no reason.
constexpr int kMostSilent = 12;

constexpr int kMostDoublings = 6;  // of 1 s: a start a minute harms nobody

/// Fit for a file name, and short enough for a socket's path below it, 108 bytes at most.
bool is_plain(const std::string& card) {
  constexpr std::size_t kLongest = 63;  // NVIDIA's have 40
  return !card.empty() && card.size() <= kLongest && card.front() != '.' &&
         card.find('/') == std::string::npos;
}

Error no_mps(const std::string& card, const std::string& why) {
  return fail(Errc::kInvalidArgument, "card " + quote_if_needed(card) +
                                          " cannot be shared by MPS: " + why +
                                          "; write tangram.dev/gpu-isolation: time-slice");
}

std::set<std::string> folders_in(const std::string& path) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

}  // namespace

MpsEnforcer::MpsEnforcer(CardSource& source, Programs& programs, const Clock& clock,
                         MpsSettings settings, Sleeper sleeper)
    : source_(source),
      programs_(programs),
      clock_(clock),
      settings_(std::move(settings)),
      sleeper_(std::move(sleeper)) {}

MpsEnforcer::StatePtr MpsEnforcer::state_of(const std::string& card) {
  const std::lock_guard lock(mutex_);
  auto& state = states_[card];
  if (!state) state = std::make_shared<State>(settings_, card, programs_);
  return state;
}

std::map<std::string, MpsEnforcer::StatePtr> MpsEnforcer::states() const {
  const std::lock_guard lock(mutex_);
  return states_;
}

Result<void> MpsEnforcer::prepare(const std::string& card) {
  if (card.starts_with("MIG-")) return no_mps(card, "it is a MIG instance");
  if (!is_plain(card)) return no_mps(card, "its id is no plain name");
  for (;;) {
    const StatePtr state = state_of(card);
    const std::lock_guard lock(state->mutex);
    if (state->gone) continue;
    state->prepared = clock_.now();
    if (state->ready) return {};
    return bring_up(card, *state);
  }
}

Result<void> MpsEnforcer::bring_up(const std::string& card, State& state) {
  if (clock_.now() < state.next_try) return state.last_error;
  auto up = set_up(card, state);
  if (up) {
    state.failures = 0;
    state.misses = 0;
    state.silent = 0;
    state.ready = true;
    return up;
  }
  // One that is slow is asked again soon; one that does not start, ever more seldom.
  const int doublings = state.silent > 0 ? 0 : std::min(state.failures++, kMostDoublings);
  state.next_try = clock_.now() + std::chrono::seconds(std::int64_t{1} << doublings);
  state.last_error = up.error();
  return up;
}

Result<void> MpsEnforcer::set_up(const std::string& card, State& state) {
  if (auto set = source_.set_exclusive_process(card, true); !set) {
    if (set.error().code != Errc::kInvalidArgument) return set;
    return no_mps(card, set.error().message);
  }
  const auto answer = state.daemon.ask();
  if (answer == MpsDaemon::Answer::kYes) return {};
  if (answer == MpsDaemon::Answer::kUnknown && ++state.silent < kMostSilent) {
    return fail(Errc::kUnavailable, "the MPS daemon of card " + card + " is slow to answer");
  }
  state.silent = 0;
  state.daemon.end_by_force(source_);
  if (auto started = state.daemon.start(); !started) return started;
  const TimePoint end = clock_.now() + kAnswersAfterStart;
  while (clock_.now() < end) {
    if (state.daemon.ask() == MpsDaemon::Answer::kYes) {
      spdlog::info("card {}: MPS daemon started", card);
      return {};
    }
    sleeper_(kBetweenTries, {});
  }
  return fail(Errc::kUnavailable,
              "the MPS daemon of card " + card + " was started but does not answer");
}

Result<ContainerEdits> MpsEnforcer::edits(const std::vector<model::GrantedCard>& cards) const {
  if (cards.empty()) return ContainerEdits{};
  if (cards.size() > 1) {
    return fail(Errc::kInvalidArgument,
                "shares of " + std::to_string(cards.size()) +
                    " cards in one container cannot be held by MPS, which has a daemon for each "
                    "card and a client only one; write tangram.dev/gpu-isolation: time-slice, or "
                    "ask for whole cards");
  }
  constexpr std::int64_t kMilliPerPercent = 10;
  const std::int64_t percent =
      std::max<std::int64_t>(1, cards[0].compute_limit.count() / kMilliPerPercent);
  // A limit of 0 would be none.
  const std::int64_t mebibytes = std::max<std::int64_t>(1, cards[0].memory_limit.count());
  ContainerEdits edits;
  // The client sees the daemon's one card as its first.
  edits.env = {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=" + std::to_string(mebibytes) + "M",
               "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=" + std::to_string(percent),
               "CUDA_MPS_PIPE_DIRECTORY=" + settings_.container_dir};
  edits.mounts = {{MpsDaemon::base_dir(settings_) + "/" + cards[0].uuid + "/pipe",
                   settings_.container_dir, false}};
  if (settings_.own_shm) {
    edits.mounts.push_back({MpsDaemon::shm_dir(settings_), "/dev/shm", false});
  }
  return edits;
}

void MpsEnforcer::keep(const std::set<std::string>& cards) {
  for (const std::string& card : cards) {
    if (is_plain(card) && !card.starts_with("MIG-")) state_of(card);
  }
  bool look = false;
  {
    const std::lock_guard lock(mutex_);
    look = !std::exchange(looked_for_leftovers_, true);
  }
  if (look) {
    for (const std::string& card : folders_in(MpsDaemon::base_dir(settings_))) {
      if (is_plain(card)) state_of(card);
    }
  }
  for (const auto& [card, state] : states()) {
    if (cards.count(card) > 0) continue;
    const std::lock_guard lock(state->mutex);
    const bool fresh = state->prepared && clock_.now() - *state->prepared < kGrace;
    if (fresh) continue;
    // What cannot be given back now, the next call tries again.
    if (auto given = give_back(card, *state); !given) spdlog::warn("{}", given.error().message);
  }
}

Result<void> MpsEnforcer::release(const std::string& card) {
  const auto all = states();
  const auto found = all.find(card);
  // An agent that has just started does not know yet what an earlier one left.
  const bool left =
      found == all.end() && is_plain(card) && MpsDaemon(settings_, card, programs_).has_folders();
  if (found == all.end() && !left) return {};
  const StatePtr state = left ? state_of(card) : found->second;
  const std::lock_guard lock(state->mutex);
  return give_back(card, *state);
}

Result<void> MpsEnforcer::give_back(const std::string& card, State& state) {
  if (state.gone) return {};
  state.ready = false;
  if (!state.daemon.quit()) state.daemon.end_by_force(source_);
  if (auto set = source_.set_exclusive_process(card, false);
      !set && set.error().code == Errc::kUnavailable) {
    return fail(Errc::kUnavailable, "card " + card + " stays in exclusive-process mode for now: " +
                                        set.error().message);
  }
  state.daemon.remove_folders();
  state.gone = true;
  spdlog::info("card {}: MPS daemon ended", card);
  const std::lock_guard map_lock(mutex_);
  states_.erase(card);
  return {};
}

void MpsEnforcer::look_after() {
  for (const auto& [card, state] : states()) look_after(card, *state);
}

void MpsEnforcer::look_after(const std::string& card, State& state) {
  const std::lock_guard lock(state.mutex);
  if (state.gone) return;
  if (state.ready) {
    const auto answer = state.daemon.ask();
    state.misses = answer == MpsDaemon::Answer::kNo ? state.misses + 1 : 0;
    state.silent = answer == MpsDaemon::Answer::kUnknown ? state.silent + 1 : 0;
    if (state.misses < kMostMisses && state.silent < kMostSilent) return;
    spdlog::error("card {}: its MPS daemon does not answer; starting another", card);
    state.ready = false;
  }
  if (clock_.now() < state.next_try) return;
  if (auto up = bring_up(card, state); !up) spdlog::error("{}", up.error().message);
}

Enforcement MpsEnforcer::enforcement(const std::string& card) const {
  StatePtr state;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = states_.find(card); found != states_.end()) state = found->second;
  }
  if (!state) return {false, false, "no MPS daemon was started for this card"};
  if (!state->ready) return {false, false, "the MPS daemon of this card does not answer"};
  return {true, true, ""};
}

}  // namespace tangram::node
