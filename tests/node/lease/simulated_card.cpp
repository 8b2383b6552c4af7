#include "tests/node/lease/simulated_card.hpp"

#include <algorithm>

namespace tangram::node::lease {
namespace {

constexpr std::chrono::nanoseconds kNotice = 50us;  // until a process sees what has happened
constexpr std::chrono::nanoseconds kBatch = 1ms;
constexpr std::chrono::nanoseconds kLongBatch = 10ms;  // of these only one is on its way
constexpr std::chrono::nanoseconds kTenth = 100ms;

}  // namespace

void SimulatedCard::add(const std::string& name, const TimeShare& time, const Program& program) {
  containers_[name].program = program;
  arbiter_.set(name, time);
}

void SimulatedCard::kill(const std::string& name) {
  Container& container = containers_.at(name);
  container.idle = true;
  container.waits = false;
  if (!container.on_card.empty() && container.on_card.back().end == card_free_) card_free_ = now_;
  container.on_card.clear();
}

void SimulatedCard::run(std::chrono::milliseconds time) {
  for (const auto end = now_ + time; now_ < end; now_ = next_event() + kNotice) {
    for (auto& [name, container] : containers_) advance(name, container);
    looked_ = now_ >= next_look_ || news_;
    if (looked_) let_agent_look();
  }
}

std::chrono::nanoseconds SimulatedCard::next_event() const {
  if (looked_) return now_;  // turns may have changed
  auto next = next_look_;
  for (const auto& [name, container] : containers_) {
    if (container.paused_until > now_) next = std::min(next, container.paused_until);
    for (const Batch& batch : container.on_card) {
      if (batch.end > now_) next = std::min(next, batch.end);
    }
  }
  return std::max(next, now_);
}

std::size_t SimulatedCard::most_on_card(const Container& container) {
  return container.batch >= kLongBatch ? 1 : 2;
}

/// What the container's threads do at an event.
void SimulatedCard::advance(const std::string& name, Container& container) {
  const bool open = arbiter_.is_open(name);
  const Program& program = container.program;
  // The program sees that a batch has ended when it launches, or waits for its work.
  const bool looks = container.on_card.size() >= most_on_card(container) || !open ||
                     container.queued >= program.work || container.idle;
  while (looks && !container.on_card.empty() && container.on_card.front().end <= now_) {
    container.measured += container.on_card.front().length;
    container.batch = container.on_card.front().length;
    container.on_card.pop_front();
    if (!open && container.on_card.empty()) news_ = true;
  }
  if (container.queued >= program.work && container.on_card.empty()) {
    container.queued = 0ns;
    container.paused_until = now_ + program.pause;
  }
  const bool wants =
      !container.idle && container.queued < program.work && now_ >= container.paused_until;
  container.waits = wants && !open && container.on_card.empty();
  while (wants && open && container.on_card.size() < most_on_card(container) &&
         container.queued < program.work) {
    launch(container);
  }
}

void SimulatedCard::launch(Container& container) {
  const std::int64_t kernels = std::max<std::int64_t>(kBatch / container.program.kernel, 1);
  const auto length = std::min<std::chrono::nanoseconds>(kernels * container.program.kernel,
                                                         container.program.work);
  auto begin = std::max(card_free_, now_);
  card_free_ = begin + length;
  container.on_card.push_back({card_free_, length});
  container.queued += length;
  ++container.launches;
  while (begin < card_free_) {
    const auto next = std::min(card_free_, (begin / kTenth + 1) * kTenth);
    container.used[begin / kTenth] += next - begin;
    begin = next;
  }
}

void SimulatedCard::let_agent_look() {
  std::map<std::string, Sight> sights;
  for (auto& [name, container] : containers_) {
    const bool lies = container.program.lies;
    sights[name] = {.waits = container.waits,
                    .in_flight = !container.on_card.empty(),
                    .launches = container.launches,
                    .busy = lies ? 0ns : container.measured,
                    .batch = lies ? 0ns : container.batch};
    container.measured = 0ns;
  }
  arbiter_.step(TimePoint(now_), sights);
  news_ = false;
  // The thread is late now and then.
  next_look_ = now_ + (arbiter_.is_quiet() ? 20ms : 1ms) + random_.below(1000) * 1us;
}

std::chrono::nanoseconds SimulatedCard::used(const std::string& name, std::int64_t tenth,
                                             std::int64_t tenths) const {
  const auto& used = containers_.at(name).used;
  std::chrono::nanoseconds sum{0};
  for (auto each = used.lower_bound(tenth); each != used.end() && each->first < tenth + tenths;
       ++each) {
    sum += each->second;
  }
  return sum;
}

}  // namespace tangram::node::lease
