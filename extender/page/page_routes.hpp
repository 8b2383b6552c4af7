#pragma once

#include <string_view>

namespace tangram::http {
class Router;
}  // namespace tangram::http

namespace tangram::extender {

/// What the page may do, by the browser's own hand: load what this server sends and ask this
/// server, nothing else. No script or style stands in its HTML, and none can be put there: names
/// of pods and nodes are other people's.
inline constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

/// GET / and /page/…: the packing page and its parts. They tell nothing of the cluster; what the
/// page shows it asks for at /api/v1/….
void add_page_routes(http::Router& router);

}  // namespace tangram::extender
