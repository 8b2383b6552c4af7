#pragma once

#include "http/types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tangram::http {

/// True for what only this machine, or whoever has its address, is asked by: "localhost" and names
/// below it, and IP addresses, each with or without a port. Also for "", which no browser sends.
[[nodiscard]] bool names_no_other(std::string_view host);

/// A gate of a plain HTTP server. A page somewhere can have its own name lead to the address of
/// whoever looks at it (DNS rebinding), and then read with his browser what is meant for programs
/// on his machine. The browser still says by which name it asks, so GETs that come from this
/// machine or pod pass if they name it, or one of `names`; others get 421 (RFC 9110, 15.5.20).
///
/// What else there is passes: pages cannot post (see Router), and kube-scheduler says the name in
/// its urlPrefix, whatever a proxy beside the server makes of it.
[[nodiscard]] Gate local_pages_by_name(std::vector<std::string> names);

}  // namespace tangram::http
