#pragma once

#include "model/grant.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tangram::model {

/// What a pod's own record is worth.
struct GrantReading {
  std::optional<Grant> grant;  ///< issued to this very pod for this node; nothing if not
  std::string problem;  ///< why not, after "the annotation …": "was issued to another pod, …"
};

/// Judges the text of kGrantAnnotation on a pod that is bound to the node. Whoever counts cards and
/// whoever starts containers both go by this, so that they agree.
[[nodiscard]] GrantReading read_grant(std::string text, std::string_view pod_uid,
                                      std::string_view node);

}  // namespace tangram::model
