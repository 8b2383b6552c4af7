#include "node/time_leases.hpp"

#include <chrono>
#include <iterator>
#include <utility>

namespace tangram::node {
namespace {

constexpr std::chrono::seconds kLook{5};

/// Without a limit of time there would be no turn at all: nobody asks for that.
lease::TimeShare time_of(const model::GrantedCard& part) {
  return {.share = part.compute,
          .limit = part.compute_limit > MilliGpu{} ? part.compute_limit : kWholeGpu};
}

bool shares_by_time(const CardClaim& claim) {
  return claim.admitted && !claim.whole && claim.isolation == model::Isolation::kTimeSlice;
}

bool has_library(const StartedMeans& started, const ContainerOnCard& container) {
  const auto means = started.find(container);
  return means != started.end() && means->second == model::MemoryLimits::kLibrary;
}

/// By those of its allocations that have pages: one that was never prepared has none.
std::vector<lease::LeasedContainer> on_card(const CardClaim& claim, const model::GrantedCard& part,
                                            const PagesOf& pages_of) {
  std::vector<lease::LeasedContainer> found;
  for (const std::string& allocation : claim.allocations) {
    auto pages = pages_of(allocation);
    const auto place = pages ? pages->place_of(part.uuid) : std::nullopt;
    if (!place) continue;
    found.push_back(
        {.name = allocation, .pages = std::move(pages), .place = *place, .time = time_of(part)});
  }
  return found;
}

}  // namespace

LeasedTime leased_time(const std::vector<CardClaim>& claims, const StartedMeans& started,
                       const PagesOf& pages_of) {
  LeasedTime leased;
  for (const CardClaim& claim : claims) {
    if (!shares_by_time(claim)) continue;
    for (const model::GrantedCard& part : claim.container.cards) {
      const ContainerOnCard container{claim.pod_uid, claim.container.container, part.uuid};
      if (!has_library(started, container)) continue;
      auto found = on_card(claim, part, pages_of);
      if (found.empty()) continue;
      leased.containers.insert(container);
      auto& all = leased.cards[part.uuid];
      all.insert(all.end(), std::move_iterator(found.begin()), std::move_iterator(found.end()));
    }
  }
  return leased;
}

void TimeLeases::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    update();
    wait(stop);
  }
  put({});
}

void TimeLeases::changed() {
  const std::lock_guard lock(mutex_);
  is_changed_ = true;
  woken_.notify_all();
}

void TimeLeases::update() { put(leased_time(parts_.claims(), parts_.started(), *parts_.pages_of)); }

void TimeLeases::put(LeasedTime leased) {
  if (leased.cards != now_) {
    now_ = std::move(leased.cards);
    parts_.lease(now_);
  }
  const std::lock_guard lock(mutex_);
  leased_ = std::move(leased.containers);
}

void TimeLeases::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  (void)woken_.wait_for(lock, stop, kLook, [this] { return is_changed_; });
  is_changed_ = false;
}

std::set<ContainerOnCard> TimeLeases::leased() const {
  const std::lock_guard lock(mutex_);
  return leased_;
}

}  // namespace tangram::node
