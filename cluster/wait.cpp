#include "cluster/wait.hpp"

namespace tangram::cluster {

std::string_view to_string(Wait wait) {
  constexpr std::array<std::string_view, kWaits> kNames{
      "not_asked",    "invalid",     "offered",        "settling", "group",
      "no_such_card", "unavailable", "isolation_busy", "sharers",  "room"};
  return kNames.at(static_cast<std::size_t>(wait));
}

Wait wait_for(model::Misfit nearest) {
  using model::Misfit;
  switch (nearest) {
    case Misfit::kUnknownNode:
    case Misfit::kNoCards:
    case Misfit::kModel:
    case Misfit::kCardId:
    case Misfit::kReplicas:
    case Misfit::kIsolationUnsupported:
    case Misfit::kMemoryLimits:
    case Misfit::kTooSmall:
    case Misfit::kTooLarge:
      return Wait::kNoSuchCard;
    case Misfit::kUnavailable:
      return Wait::kUnavailable;
    case Misfit::kIsolationBusy:
      return Wait::kIsolationBusy;
    case Misfit::kSharers:
      return Wait::kSharers;
    case Misfit::kNotTried:
      return Wait::kSettling;
    case Misfit::kRoom:
    case Misfit::kTogether:
      break;
  }
  return Wait::kRoom;
}

}  // namespace tangram::cluster
