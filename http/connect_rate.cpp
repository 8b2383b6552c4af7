#include "http/connect_rate.hpp"

#include <algorithm>

namespace tangram::http {
namespace {

std::chrono::nanoseconds interval_of(int per_second) {
  const std::chrono::nanoseconds second = std::chrono::seconds(1);
  return per_second == 0 ? std::chrono::nanoseconds(0) : second / per_second;
}

}  // namespace

ConnectRate::ConnectRate(int per_second, int burst)
    : interval_(interval_of(per_second)), credit_(interval_ * (burst - 1)) {}

bool ConnectRate::admit(std::string_view origin, TimePoint now) {
  if (interval_.count() == 0) return true;
  const std::scoped_lock lock(mutex_);
  Origin& known = find_or_add(origin);
  if (now < known.vouched_to) return true;
  const TimePoint token = std::max(known.next, now);
  if (token - now > credit_) {
    ++refused_;
    return false;
  }
  known.next = token + interval_;
  return true;
}

void ConnectRate::vouch_for(std::string_view origin, TimePoint now) {
  if (interval_.count() == 0) return;
  const std::scoped_lock lock(mutex_);
  find_or_add(origin).vouched_to = now + kVouchedFor;
}

/// It is the one that came last from then on.
ConnectRate::Origin& ConnectRate::find_or_add(std::string_view name) {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) {
    origins_.splice(origins_.begin(), origins_, known->second);
    return origins_.front();
  }
  if (origins_.size() == kMostOrigins) {
    by_name_.erase(origins_.back().name);
    origins_.pop_back();
  }
  origins_.push_front({std::string(name), TimePoint::min(), TimePoint::min()});
  by_name_.emplace(origins_.front().name, origins_.begin());
  return origins_.front();
}

}  // namespace tangram::http
