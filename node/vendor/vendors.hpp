#pragma once

#include "node/vendor/vendor.hpp"

#include <memory>
#include <vector>

namespace tangram::node {

/// Every vendor whose cards the agent knows, with default settings. The first one also serves cards
/// that come from a file, and a machine on which no vendor finds cards; of a machine with cards of
/// several, the first of them serves its own.
[[nodiscard]] std::vector<std::shared_ptr<Vendor>> make_vendors();

}  // namespace tangram::node
