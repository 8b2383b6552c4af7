#pragma once

#include "model/isolation.hpp"

namespace tangram::model {

/// What the cluster's settings say of all requests.
struct RequestRules {
  Isolation default_isolation = Isolation::kMps;  ///< of pods that choose none
  int max_burst = 0;  ///< a burst limit is at most so many times the share; 0 = no such rule
};

}  // namespace tangram::model
