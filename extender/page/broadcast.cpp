#include "extender/page/broadcast.hpp"

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace tangram::extender {
namespace {

using Text = std::shared_ptr<const std::string>;

/// How long a browser waits before it comes back by itself.
constexpr int kRetryMs = 3'000;

Text event_text(EventId id, std::string_view event, std::string_view data) {
  return std::make_shared<const std::string>(
      fmt::format("id: {}\nevent: {}\ndata: {}\n\n", to_string(id), event, data));
}

Text hello(EventId id, bool resumed) {
  return std::make_shared<const std::string>(
      fmt::format("retry: {}\nid: {}\nevent: hello\ndata: {{\"resumed\":{}}}\n\n", kRetryMs,
                  to_string(id), resumed));
}

}  // namespace

/// Events are numbered from 1; those kept are `last - kept.size() + 1` to `last`.
struct Broadcast::State {
  State(std::uint64_t of_life, const Clock& with, BroadcastLimits most)
      : life(of_life),
        clock(with),
        limits(most),
        heartbeat(std::make_shared<const std::string>("event: beat\ndata: {}\n\n")) {}

  const std::uint64_t life;
  const Clock& clock;
  const BroadcastLimits limits;
  const Text heartbeat;

  std::mutex mutex;  ///< guards all below; nothing is written or waited for under it
  std::deque<Text> kept;
  std::size_t kept_bytes = 0;
  std::uint64_t last = 0;
  std::uint64_t beats = 0;
  std::set<Stream*> streams;
  std::uint64_t refused = 0;
  std::uint64_t dropped = 0;
  bool closed = false;

  [[nodiscard]] std::uint64_t first_kept() const { return last - kept.size() + 1; }
  [[nodiscard]] bool follows(EventId seen) const {
    return seen.life == life && seen.number + 1 >= first_kept() && seen.number <= last;
  }
  void keep(Text text) {
    ++last;
    kept_bytes += text->size();
    kept.push_back(std::move(text));
    // The newest always stays: a stream that is up to date gets it, however large it is.
    while (kept.size() > 1 &&
           (kept.size() > limits.kept_events || kept_bytes > limits.kept_bytes)) {
      kept_bytes -= kept.front()->size();
      kept.pop_front();
    }
  }
  void wake_all();
};

class Broadcast::Stream final : public http::BodyStream {
 public:
  /// With the state locked.
  Stream(std::shared_ptr<State> state, std::optional<EventId> after)
      : state_(std::move(state)), ends_(state_->clock.now() + state_->limits.longest) {
    const bool resumed = after && state_->follows(*after);
    seen_ = resumed ? after->number : state_->last;
    beats_ = state_->beats;
    greeting_ = hello({state_->life, seen_}, resumed);
    state_->streams.insert(this);
  }
  ~Stream() override {
    const std::scoped_lock lock(state_->mutex);
    state_->streams.erase(this);
  }

  Step take_or_wake(std::function<void()> wake) override {
    const std::scoped_lock lock(state_->mutex);
    wake_ = nullptr;
    if (greeting_) return {.piece = std::exchange(greeting_, nullptr)};
    if (state_->closed || state_->clock.now() >= ends_) return {.ended = true};
    if (seen_ + 1 < state_->first_kept()) {
      ++state_->dropped;
      return {.ended = true};
    }
    const bool quiet = std::exchange(beats_, state_->beats) == state_->beats;
    if (seen_ < state_->last) {
      const Text& next = state_->kept[seen_ + 1 - state_->first_kept()];
      ++seen_;
      return {.piece = next};
    }
    if (!quiet) return {.piece = state_->heartbeat};
    wake_ = std::move(wake);
    return {};
  }

 private:
  friend struct State;

  const std::shared_ptr<State> state_;
  const TimePoint ends_;
  // Guarded by the state's mutex.
  Text greeting_;
  std::uint64_t seen_ = 0;
  std::uint64_t beats_ = 0;
  std::function<void()> wake_;
};

void Broadcast::State::wake_all() {
  for (Stream* stream : streams) {
    if (const auto wake = std::exchange(stream->wake_, nullptr)) wake();
  }
}

Broadcast::Broadcast(std::uint64_t life, const Clock& clock, BroadcastLimits limits)
    : state_(std::make_shared<State>(life, clock, limits)) {}

Broadcast::~Broadcast() { close(); }

std::shared_ptr<http::BodyStream> Broadcast::open(std::optional<EventId> after) {
  const std::scoped_lock lock(state_->mutex);
  if (state_->closed || state_->streams.size() >= state_->limits.streams) {
    ++state_->refused;
    return nullptr;
  }
  return std::make_shared<Stream>(state_, after);
}

void Broadcast::publish(std::string_view event, std::string_view data) {
  const std::scoped_lock lock(state_->mutex);
  state_->keep(event_text({state_->life, state_->last + 1}, event, data));
  state_->wake_all();
}

EventId Broadcast::newest() const {
  const std::scoped_lock lock(state_->mutex);
  return {state_->life, state_->last};
}

void Broadcast::beat() {
  const std::scoped_lock lock(state_->mutex);
  ++state_->beats;
  state_->wake_all();
}

void Broadcast::forget() {
  const std::scoped_lock lock(state_->mutex);
  state_->kept.clear();
  state_->kept_bytes = 0;
  state_->last += 1;
}

void Broadcast::close() {
  const std::scoped_lock lock(state_->mutex);
  state_->closed = true;
  state_->wake_all();
}

Broadcast::Counts Broadcast::counts() const {
  const std::scoped_lock lock(state_->mutex);
  return {state_->streams.size(), state_->refused, state_->dropped};
}

}  // namespace tangram::extender
