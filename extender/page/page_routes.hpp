#pragma once

#include "http/router.hpp"

#include <string_view>

namespace tangram::extender {

/// What the browser lets the page do: load from this server and send requests to it, nothing else.
/// Its HTML contains no script or style, and none can be added: names of pods and nodes are
/// untrusted input.
inline constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

/// GET / and /page/…: the packing page and its parts. They contain nothing of the cluster; the
/// page requests what it shows at /api/v1/….
void add_page_routes(http::Router& router);

}  // namespace tangram::extender
