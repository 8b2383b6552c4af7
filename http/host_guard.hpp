#pragma once

#include "http/types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tangram::http {

/// True for names that no other site can have: "localhost" and names below it, and IP addresses,
/// each with or without a port. Also for "", which no browser sends.
[[nodiscard]] bool names_no_other(std::string_view host);

/// A gate of a plain HTTP server against DNS rebinding: a web page can let its own name lead to
/// this machine's address, and then read with a visitor's browser what is meant for local programs.
/// The browser still sends the page's name as Host. So GETs from this machine or pod pass if Host
/// is local, or one of `names`; others get 421 (RFC 9110, 15.5.20).
///
/// Other requests pass: pages cannot post (see Router), and kube-scheduler sends the name in its
/// urlPrefix, which a proxy beside the server may change.
[[nodiscard]] Gate local_pages_by_name(std::vector<std::string> names);

}  // namespace tangram::http
