#include "node/lease/card_lease.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tangram::node::lease {
namespace {

using namespace std::chrono_literals;

constexpr auto kQuiet = 20ms;
constexpr auto kPause = 1ms;
constexpr auto kLeastPause = 250us;  // whatever news a container makes up

}  // namespace

bool needs_lease(const std::vector<LeasedContainer>& containers) {
  return containers.size() > 1 ||
         std::any_of(containers.begin(), containers.end(),
                     [](const auto& each) { return each.time.limit < kWholeGpu; });
}

CardLease::CardLease(const Clock& clock)
    : clock_(clock), thread_([this](const std::stop_token& stop) { run(stop); }) {}

CardLease::~CardLease() {
  thread_.request_stop();
  thread_.join();
}

void CardLease::set(const std::vector<LeasedContainer>& containers) {
  const std::lock_guard lock(mutex_);
  wanted_ = containers;
  is_new_ = true;
  changed_.notify_all();
}

void CardLease::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (std::exchange(is_new_, false)) adopt(wanted_);
    round();
    wait(lock, stop);
  }
  pages_.clear();
}

void CardLease::adopt(const std::vector<LeasedContainer>& containers) {
  std::map<std::string, ContainerPages> kept;
  for (const LeasedContainer& container : containers) {
    auto known = pages_.extract(container.name);
    if (known && known.mapped().are(*container.pages)) {
      kept.insert(std::move(known));
    } else {
      kept.emplace(container.name, ContainerPages(container.pages, container.place));
    }
    arbiter_.set(container.name, container.time);
  }
  for (const auto& [name, pages] : pages_) arbiter_.remove(name);
  pages_ = std::move(kept);
}

void CardLease::round() {
  const auto holder = arbiter_.holder() ? pages_.find(*arbiter_.holder()) : pages_.end();
  const TimePoint now = clock_.now();
  if (holder != pages_.end()) news_ = holder->second.news();
  const bool beats = now - last_beat_ >= kPause;
  if (beats) last_beat_ = now;
  last_round_ = now;
  std::map<std::string, Sight> sights;
  for (auto& [name, pages] : pages_) {
    sights[name] = pages.look(now);
    if (beats) pages.beat();
  }
  arbiter_.step(now, sights);
  for (auto& [name, pages] : pages_) {
    if (!arbiter_.is_open(name)) pages.set_open(false);
  }
  for (auto& [name, pages] : pages_) {
    if (arbiter_.is_open(name)) pages.set_open(true);
  }
}

void CardLease::wait(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  if (arbiter_.is_quiet()) {
    (void)changed_.wait_for(lock, stop, kQuiet, [this] { return is_new_; });
    return;
  }
  lock.unlock();
  const auto holder = arbiter_.holder() ? pages_.find(*arbiter_.holder()) : pages_.end();
  if (holder != pages_.end()) {
    holder->second.wait_for_news(news_);
  } else {
    std::this_thread::sleep_for(kPause);
  }
  const auto passed = clock_.now() - last_round_;
  if (passed < kLeastPause) std::this_thread::sleep_for(kLeastPause - passed);
  lock.lock();
}

void CardLeases::set(const std::map<std::string, std::vector<LeasedContainer>>& containers) {
  std::erase_if(cards_, [&](const auto& card) {
    const auto found = containers.find(card.first);
    return found == containers.end() || !needs_lease(found->second);
  });
  for (const auto& [card, on_it] : containers) {
    if (needs_lease(on_it)) cards_.try_emplace(card, clock_).first->second.set(on_it);
  }
}

}  // namespace tangram::node::lease
