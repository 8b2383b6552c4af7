#include "extender/http_connections.hpp"

#include <tuple>

namespace tangram::extender {
namespace {

/// Connections above the limit that may be told so at one time; further ones are
/// closed without a word. Small: each costs a buffer, and the limit is there to bound memory.
constexpr std::size_t kMaxTurnedAway = 64;

}  // namespace

std::size_t HttpConnections::count(State state) const {
  return by_state_.at(static_cast<std::size_t>(state));
}

HttpConnections::Place HttpConnections::reserve() {
  const std::scoped_lock lock(mutex_);
  if (closed_) return Place::kNone;
  if (count(State::kServed) < most_) return Place::kServe;
  // Those that were evicted end at once; should they pile up all the same, they count.
  if (count(State::kEvicted) < most_ && evict_one()) return Place::kServe;
  ++turned_away_;
  return count(State::kTurnedAway) < kMaxTurnedAway ? Place::kTurnAway : Place::kNone;
}

bool HttpConnections::evict_one() {
  constexpr auto kNotWaiting = HttpConnection::Instant::max();
  auto victim = all_.end();
  std::tuple victims{HttpConnection::Standing::kVerified, kNotWaiting};
  for (auto at = all_.begin(); at != all_.end(); ++at) {
    if (at->second != State::kServed) continue;
    const std::tuple here{at->first->standing(), at->first->waits_since()};
    if (std::get<1>(here) == kNotWaiting || here >= victims) continue;
    victim = at;
    victims = here;
  }
  if (victim == all_.end()) return false;
  victim->second = State::kEvicted;
  --by_state_.at(static_cast<std::size_t>(State::kServed));
  ++by_state_.at(static_cast<std::size_t>(State::kEvicted));
  ++evicted_;
  victim->first->cut();
  return true;
}

bool HttpConnections::add(const Pointer& connection, Place place) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return false;
  const State state = place == Place::kServe ? State::kServed : State::kTurnedAway;
  all_.emplace(connection, state);
  ++by_state_.at(static_cast<std::size_t>(state));
  return true;
}

void HttpConnections::remove(const Pointer& connection) {
  const std::scoped_lock lock(mutex_);
  const auto found = all_.find(connection);
  --by_state_.at(static_cast<std::size_t>(found->second));
  all_.erase(found);
  ended_.notify_all();
}

void HttpConnections::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  for (const auto& [connection, state] : all_) connection->drain();
}

bool HttpConnections::all_ended_within(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, time, [this] { return all_.empty(); });
}

std::size_t HttpConnections::cut_all() {
  std::unique_lock lock(mutex_);
  const std::size_t left = all_.size();
  for (const auto& [connection, state] : all_) connection->cut();
  ended_.wait(lock, [this] { return all_.empty(); });
  return left;
}

HttpConnections::Counts HttpConnections::counts() const {
  const std::scoped_lock lock(mutex_);
  return {count(State::kServed), turned_away_, evicted_};
}

}  // namespace tangram::extender
