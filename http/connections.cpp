#include "http/connections.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace tangram::http {
namespace {

/// Connections above the limit that are answered 503 at one time; further ones are closed without
/// an answer. Small: each costs a buffer, and the limit is there to bound memory.
constexpr std::size_t kMaxTurnedAway = 64;

constexpr auto kNotWaiting = Connection::Instant::max();

bool is_evictable(const Connection& connection) {
  return connection.trust() != Connection::Trust::kVerified &&
         connection.waits_since() != kNotWaiting;
}

/// The order of eviction, least first.
constexpr int kNoTurn = 4;
int turn_of(const Connection& connection, Connection::Instant now) {
  if (connection.trust() == Connection::Trust::kServed) return 1;
  if (connection.trust() == Connection::Trust::kVerified) return 3;
  return now - connection.waits_since() > Connections::kGrace ? 0 : 2;
}

}  // namespace

std::size_t Connections::count(State state) const {
  return by_state_.at(static_cast<std::size_t>(state));
}

Connections::Decision Connections::reserve(Instant now) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return Decision::kClose;
  if (count(State::kServed) < most_) return Decision::kServe;
  // Evicted connections end at once; those that have not ended yet are limited, too.
  if (count(State::kEvicted) < most_ && evict_one(now)) return Decision::kServe;
  ++turned_away_;
  return count(State::kTurnedAway) < kMaxTurnedAway ? Decision::kReject : Decision::kClose;
}

/// The origin with the most connections that can be cut and are not authenticated; "" = none.
std::string Connections::largest_origin() const {
  std::map<std::string_view, std::size_t> by_origin;
  for (const auto& [connection, state] : all_) {
    if (state != State::kServed || !is_evictable(*connection)) continue;
    ++by_origin[connection->origin()];
  }
  const auto largest = std::max_element(
      by_origin.begin(), by_origin.end(),
      [](const auto& one, const auto& other) { return one.second < other.second; });
  return largest == by_origin.end() ? std::string() : std::string(largest->first);
}

bool Connections::evict_one(Instant now) {
  const std::string origin = largest_origin();
  auto victim = all_.end();
  std::tuple victims{kNoTurn, kNotWaiting};
  for (auto at = all_.begin(); at != all_.end(); ++at) {
    const Connection& here = *at->first;
    const bool competes = origin.empty() || here.origin() == origin;
    if (at->second != State::kServed || here.waits_since() == kNotWaiting || !competes) continue;
    const std::tuple its{turn_of(here, now), here.waits_since()};
    if (its >= victims) continue;
    victim = at;
    victims = its;
  }
  if (victim == all_.end()) return false;
  victim->second = State::kEvicted;
  --by_state_.at(static_cast<std::size_t>(State::kServed));
  ++by_state_.at(static_cast<std::size_t>(State::kEvicted));
  ++evicted_;
  victim->first->cut();
  return true;
}

bool Connections::add(const Pointer& connection, Decision decision) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return false;
  const State state = decision == Decision::kServe ? State::kServed : State::kTurnedAway;
  all_.emplace(connection, state);
  ++by_state_.at(static_cast<std::size_t>(state));
  return true;
}

void Connections::remove(const Pointer& connection) {
  const std::scoped_lock lock(mutex_);
  const auto found = all_.find(connection);
  --by_state_.at(static_cast<std::size_t>(found->second));
  all_.erase(found);
  ended_.notify_all();
}

void Connections::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  for (const auto& [connection, state] : all_) connection->drain();
}

bool Connections::all_ended_within(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, time, [this] { return all_.empty(); });
}

std::size_t Connections::cut_all() {
  std::unique_lock lock(mutex_);
  const std::size_t left = all_.size();
  for (const auto& [connection, state] : all_) connection->cut();
  ended_.wait(lock, [this] { return all_.empty(); });
  return left;
}

Connections::Counts Connections::counts() const {
  const std::scoped_lock lock(mutex_);
  return {count(State::kServed), turned_away_, evicted_};
}

}  // namespace tangram::http
