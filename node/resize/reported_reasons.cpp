#include "node/resize/reported_reasons.hpp"

namespace tangram::node {

bool ReportedReasons::is_due(const std::string& allocation, const std::string& reason,
                             TimePoint now) {
  std::erase_if(reported_,
                [&](const auto& each) { return now - each.second.last_seen >= kBetween; });
  const auto [found, is_first] =
      reported_.try_emplace(allocation, Reported{.reason = reason, .at = now, .last_seen = now});
  Reported& reported = found->second;
  reported.last_seen = now;
  if (is_first) return true;
  if (reported.reason == reason || now - reported.at < kBetween) return false;
  reported.reason = reason;
  reported.at = now;
  return true;
}

}  // namespace tangram::node
