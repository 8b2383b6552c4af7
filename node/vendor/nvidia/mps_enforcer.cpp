#include "node/vendor/nvidia/mps_enforcer.hpp"

#include "base/quote.hpp"
#include "node/vendor/nvidia/mig.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace tangram::node::nvidia {

namespace {

using namespace std::chrono_literals;

/// A container starts within kubelet's 30 s of its preparation, or it is prepared again.
constexpr auto kGrace = 60s;

/// A daemon and its server are there within milliseconds of their start; on a node that wakes its
/// cards up, within seconds. With the daemon's own limits (3 s for each answer, 6 s for the start,
/// 3 s for the limits and the server's start) 19 s in all, and 10 s for an SM partition if old ones
/// are removed first.
constexpr auto kServesAfterStart = 4s;
constexpr auto kBetweenTries = 200ms;
/// A server that cannot have the card is listed for a moment, too.
constexpr int kLooksOfServer = 3;

/// Times in a row that there was no daemon: once may be a daemon that is being started.
constexpr int kMaxMisses = 2;

/// Times in a row that the check timed out, one every 8 s then. Ending a daemon ends the work of
/// all its clients, so a machine that is slow for a minute is no reason.
constexpr int kMaxUnknown = 12;

constexpr int kMaxDoublings = 6;  // of 1 s: about one start a minute

/// Valid as a file name.
bool is_plain(const std::string& card) {
  return !card.empty() && card.front() != '.' && card.find('/') == std::string::npos;
}

Error cannot_use_mps(const std::string& card, const std::string& why) {
  return fail(Errc::kInvalidArgument, "card " + quote_if_needed(card) +
                                          " cannot be shared by MPS: " + why +
                                          "; write tangram.dev/gpu-isolation: time-slice");
}

void raise(Ceiling& ceiling, const Ceiling& other) {
  ceiling.memory = std::max(ceiling.memory, other.memory);
  ceiling.compute = std::max(ceiling.compute, other.compute);
}

std::set<std::string, std::less<>> names_of(const CardSharers& sharers) {
  std::set<std::string, std::less<>> names;
  for (const auto& [allocation, compute] : sharers.allocations) names.insert(allocation);
  return names;
}

Result<void> add_clients(const MpsFolders& folders, const CardSharers& sharers) {
  for (const auto& [allocation, compute] : sharers.allocations) {
    if (auto added = folders.add_client(allocation); !added) return added;
  }
  return {};
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

Result<void> MpsEnforcer::prepare(const std::string& card, const CardSharers& sharers) {
  if (is_mig(card)) return cannot_use_mps(card, "it is a MIG instance");
  if (!is_plain(card)) return cannot_use_mps(card, "its id is no plain name");
  if (!MpsFolders::fit(settings_.run_dir, card)) {
    return cannot_use_mps(card, "the paths of its sockets below " + settings_.run_dir +
                                    " would be too long; set a shorter --run-dir");
  }
  if (settings_.own_shm && settings_.in_pod && settings_.launcher.empty()) {
    return cannot_use_mps(card, "the agent needs --mps-launcher to mount its /dev/shm on the host");
  }
  for (;;) {
    const StatePtr state = state_of(card);
    const std::lock_guard lock(state->mutex);
    if (state->released) continue;
    add_fresh(*state, sharers);
    raise(state->ceiling, sharers.ceiling);
    auto up = state->ready ? hold_to_ceiling(*state) : set_up(card, *state);
    if (!up) return up;
    return admit(*state, sharers);
  }
}

/// The clients of a card with SM partitions reach only the daemon that has made their partition.
Result<void> MpsEnforcer::admit(State& state, const CardSharers& sharers) const {
  const MpsFolders& folders = state.daemon.folders();
  if (!settings_.sm_partitions) return add_clients(folders, sharers);
  SmPartitions::Shares shares = sharers.allocations;
  for (const auto& [allocation, fresh] : state.fresh) shares.emplace(allocation, fresh.compute);
  state.swept = false;
  auto reserved = state.daemon.partitions().reserve(sharers.starting, shares);
  return reserved ? folders.add_client(sharers.starting) : reserved;
}

Result<void> MpsEnforcer::set_up(const std::string& card, State& state) {
  if (clock_.now() < state.next_try) return state.last_error;
  auto up = start_daemon(card, state);
  if (up) {
    state.failures = 0;
    state.misses = 0;
    state.unknown = 0;
    state.ready = true;
    return up;
  }
  // A slow daemon is checked again soon; one that does not start, with a growing delay.
  const int doublings = state.unknown > 0 ? 0 : std::min(state.failures++, kMaxDoublings);
  state.next_try = clock_.now() + std::chrono::seconds(std::int64_t{1} << doublings);
  state.last_error = up.error();
  return up;
}

Result<void> MpsEnforcer::start_daemon(const std::string& card, State& state) {
  if (auto set = source_.set_exclusive_process(card, true); !set) {
    if (set.error().code != Errc::kInvalidArgument) return set;
    return cannot_use_mps(card, set.error().message);
  }
  const auto liveness = state.daemon.check();
  const bool answers =
      liveness == MpsDaemon::Liveness::kServing || liveness == MpsDaemon::Liveness::kWithoutServer;
  if (answers && !state.daemon.divides_as_set()) {
    spdlog::warn(
        "card {}: its MPS daemon was started with another --mps-compute and is replaced: its pods' "
        "work on the card ends; delete those that do not restart",
        card);
    return replace_daemon(card, state);
  }
  if (liveness == MpsDaemon::Liveness::kServing) return open_to_clients(state);
  if (liveness == MpsDaemon::Liveness::kWithoutServer) {
    state.unknown = 0;
    if (auto started = start_server(state); !started) return started;
    // The next look counts, for a server that cannot have the card is listed for a moment.
    return fail(Errc::kUnavailable, "the MPS daemon of card " + card + " is starting its server");
  }
  if (liveness == MpsDaemon::Liveness::kCannotAsk) {
    return fail(Errc::kUnavailable,
                "nvidia-cuda-mps-control is not on this node now, so the MPS "
                "daemon of card " +
                    card +
                    " is left alone; is the driver "
                    "being replaced?");
  }
  if (liveness == MpsDaemon::Liveness::kUnknown && ++state.unknown < kMaxUnknown) {
    return fail(Errc::kUnavailable, "the MPS daemon of card " + card + " is slow to answer");
  }
  state.unknown = 0;
  return replace_daemon(card, state);
}

Result<void> MpsEnforcer::replace_daemon(const std::string& card, State& state) {
  state.daemon.force_end(source_);
  state.held = MpsLimits();
  if (auto started = state.daemon.start(); !started) return started;
  const TimePoint end = clock_.now() + kServesAfterStart;
  bool answered = false;
  int looks = 0;
  while (clock_.now() < end) {
    const auto liveness = state.daemon.check();
    looks = liveness == MpsDaemon::Liveness::kServing ? looks + 1 : 0;
    if (looks == kLooksOfServer) {
      spdlog::info("card {}: MPS daemon started", card);
      return open_to_clients(state);
    }
    if (liveness == MpsDaemon::Liveness::kWithoutServer && !std::exchange(answered, true)) {
      if (auto starting = start_server(state); !starting) return starting;
    }
    sleeper_(kBetweenTries, {});
  }
  return fail(Errc::kUnavailable, "the MPS daemon of card " + card + " was started but " +
                                      (answered ? "has no server yet" : "does not answer"));
}

/// The limits first: the server has them from its start.
Result<void> MpsEnforcer::start_server(State& state) {
  if (auto held = hold_to_ceiling(state); !held) return held;
  return state.daemon.start_server();
}

/// The limits first: no client ever finds a server without.
Result<void> MpsEnforcer::open_to_clients(State& state) {
  if (auto held = hold_to_ceiling(state); !held) return held;
  return state.daemon.open_to_clients();
}

Result<void> MpsEnforcer::hold_to_ceiling(State& state) {
  const MpsLimits limits = mps_limits(state.ceiling.memory, state.ceiling.compute);
  if (state.held.load() == limits) return {};
  state.held = MpsLimits();
  if (auto held = state.daemon.hold(limits); !held) return held;
  state.held = limits;
  return {};
}

void MpsEnforcer::keep_partitions(State& state, const CardSharers& sharers) {
  SmPartitions partitions = state.daemon.partitions();
  if (state.swept && !partitions.has_others(sharers.allocations)) return;
  state.swept = partitions.keep(sharers.allocations);
}

Result<void> MpsEnforcer::accept(const std::vector<model::GrantedCard>& cards) const {
  if (cards.size() <= 1) return {};
  return fail(Errc::kInvalidArgument,
              "shares of " + std::to_string(cards.size()) +
                  " cards in one container cannot be enforced by MPS: each card has a daemon, "
                  "and a client uses only one; write tangram.dev/gpu-isolation: time-slice, or "
                  "request whole cards");
}

Result<ContainerEdits> MpsEnforcer::edits(std::string_view allocation,
                                          const std::vector<model::GrantedCard>& cards) const {
  if (cards.empty()) return ContainerEdits{};
  const MpsLimits limits = mps_limits(cards[0].memory_limit, cards[0].compute_limit);
  const MpsFolders folders(settings_.run_dir, cards[0].uuid);
  ContainerEdits edits;
  // The client sees the daemon's one card as its first.
  if (settings_.memory_limits) {
    edits.env.push_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=" + std::to_string(limits.mebibytes) +
                        "M");
  }
  if (settings_.sm_partitions) {
    const std::string partition = SmPartitions::id_of(folders.current(), allocation);
    if (partition.empty()) {
      return fail(Errc::kUnavailable, "the MPS daemon of card " + cards[0].uuid +
                                          " has ended since it made the container's SM partition");
    }
    edits.env.push_back("CUDA_MPS_SM_PARTITION=" + partition);
  } else {
    edits.env.push_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=" + std::to_string(limits.percent));
  }
  edits.env.push_back("CUDA_MPS_PIPE_DIRECTORY=" + settings_.container_dir);
  edits.mounts = {{folders.client(allocation), settings_.container_dir, Access::kReadOnly}};
  if (settings_.own_shm) {
    edits.mounts.push_back({folders.shm(), "/dev/shm", Access::kReadWrite});
  }
  return edits;
}

void MpsEnforcer::keep(const CardsInMode& cards) {
  for (const auto& [card, sharers] : cards) {
    if (is_plain(card) && !is_mig(card)) state_of(card);
  }
  adopt_folders_once();
  for (const auto& [card, state] : states()) {
    const std::lock_guard lock(state->mutex);
    const auto claimed = cards.find(card);
    const bool is_claimed = claimed != cards.end();
    const CardSharers now = with_fresh(*state, is_claimed ? claimed->second : CardSharers());
    if (is_claimed || !now.allocations.empty()) {
      keep(*state, now);
      continue;
    }
    // After a failure the next call tries again.
    if (auto given = give_back(card, *state); !given) spdlog::warn("{}", given.error().message);
  }
}

/// Those that the last keep() had have their claims.
void MpsEnforcer::add_fresh(State& state, const CardSharers& sharers) const {
  for (const auto& [allocation, compute] : sharers.allocations) {
    if (state.kept.contains(allocation)) continue;
    state.fresh.insert_or_assign(allocation,
                                 Fresh{clock_.now() + kGrace, sharers.ceiling, compute});
  }
}

CardSharers MpsEnforcer::with_fresh(State& state, CardSharers sharers) const {
  state.kept = names_of(sharers);
  std::erase_if(state.fresh, [&](const auto& one) {
    return state.kept.contains(one.first) || clock_.now() >= one.second.until;
  });
  for (const auto& [allocation, fresh] : state.fresh) {
    sharers.allocations.emplace(allocation, fresh.compute);
    raise(sharers.ceiling, fresh.ceiling);
  }
  return sharers;
}

void MpsEnforcer::keep(State& state, const CardSharers& sharers) const {
  state.daemon.folders().remove_clients_but(names_of(sharers));
  state.ceiling = sharers.ceiling;
  if (!state.ready) return;
  if (settings_.sm_partitions) keep_partitions(state, sharers);
  // After a failure the next call tries again.
  if (auto held = hold_to_ceiling(state); !held) spdlog::warn("{}", held.error().message);
}

void MpsEnforcer::adopt_folders_once() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(adopted_folders_, true)) return;
  }
  for (const std::string& card : MpsFolders::cards_in(settings_.run_dir)) {
    if (!is_plain(card)) continue;
    state_of(card);
    if (MpsFolders(settings_.run_dir, card).former().empty()) continue;
    spdlog::warn(
        "card {}: has an MPS daemon of an earlier version of the agent, which is ended now: its "
        "pods' work on the card ends and their containers restart; on nodes that are still to be "
        "upgraded, drain the pods that share cards by MPS first (docs/operations.md, \"Upgrade\")",
        card);
  }
}

Result<void> MpsEnforcer::release(const std::string& card) {
  const auto all = states();
  const auto found = all.find(card);
  // A daemon of an earlier agent, which keep() has not adopted yet.
  const bool left =
      found == all.end() && is_plain(card) && MpsFolders(settings_.run_dir, card).exist();
  if (found == all.end() && !left) return {};
  const StatePtr state = left ? state_of(card) : found->second;
  const std::lock_guard lock(state->mutex);
  return give_back(card, *state);
}

Result<void> MpsEnforcer::give_back(const std::string& card, State& state) {
  if (state.released) return {};
  state.ready = false;
  if (!state.daemon.quit()) state.daemon.force_end(source_);
  if (auto set = source_.set_exclusive_process(card, false);
      !set && set.error().code == Errc::kUnavailable) {
    return fail(Errc::kUnavailable, "card " + card + " stays in exclusive-process mode for now: " +
                                        set.error().message);
  }
  if (auto removed = state.daemon.remove(); !removed) return removed;
  state.released = true;
  spdlog::info("card {}: MPS daemon ended", card);
  const std::lock_guard map_lock(mutex_);
  states_.erase(card);
  return {};
}

void MpsEnforcer::maintain() {
  for (const auto& [card, state] : states()) maintain(card, *state);
}

/// Looks at a daemon that was ready. Without a server the card is open to any process.
bool MpsEnforcer::still_holds(const std::string& card, State& state) {
  const auto liveness = state.daemon.check();
  if (liveness == MpsDaemon::Liveness::kWithoutServer) {
    spdlog::error("card {}: its MPS server has ended; starting another", card);
    return false;
  }
  state.misses = liveness == MpsDaemon::Liveness::kAbsent ? state.misses + 1 : 0;
  state.unknown = liveness == MpsDaemon::Liveness::kUnknown ? state.unknown + 1 : 0;
  if (state.misses < kMaxMisses && state.unknown < kMaxUnknown) return true;
  spdlog::error("card {}: its MPS daemon does not answer; starting another", card);
  return false;
}

void MpsEnforcer::maintain(const std::string& card, State& state) {
  const std::lock_guard lock(state.mutex);
  if (state.released) return;
  state.daemon.folders().bound_logs();
  if (state.ready) state.ready = still_holds(card, state);
  if (state.ready) return;
  if (clock_.now() < state.next_try) return;
  if (auto up = set_up(card, state); !up) spdlog::error("{}", up.error().message);
}

Enforcement MpsEnforcer::enforcement(const model::GrantedCard& part) const {
  StatePtr state;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = states_.find(part.uuid); found != states_.end()) state = found->second;
  }
  constexpr Holder kNobody = Holder::kNobody;
  if (!state) return {kNobody, kNobody, "no MPS daemon was started for this card"};
  if (!state->ready) {
    return {kNobody, kNobody, "the MPS daemon of this card does not answer or has no server"};
  }
  const std::int32_t ceiling = state->held.load().percent;
  const std::int32_t own = mps_limits(part.memory_limit, part.compute_limit).percent;
  Enforcement now{Holder::kClient,
                  ceiling > 0 && ceiling <= own ? Holder::kServer : Holder::kClient,
                  // Any value that names no card of the daemon's lifts the server's limit, too:
                  // measured with driver 580.159.04 by scripts/gpu-check.
                  "a program that changes its MPS variables has no memory limit"};
  if (!settings_.memory_limits) {
    now.memory = kNobody;
    now.note = "the agent runs with --memory-limits=none";
  }
  if (settings_.sm_partitions) {
    now.compute = Holder::kClient;
    now.note = "its multiprocessors are reserved, but a program can name another SM partition";
  } else if (now.compute == Holder::kClient) {
    now.note += "; one that unsets its compute limit has that of the card's largest share";
  }
  return now;
}

}  // namespace tangram::node::nvidia
