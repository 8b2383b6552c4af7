#include "kube/local/route.hpp"

#include "kube/url.hpp"

#include <utility>
#include <vector>

namespace tangram::kube {

namespace {

using Segments = std::vector<std::string>;

/// "/pods/a%2Fb" -> {"pods", "a/b"}. @returns nothing if a segment is empty or badly encoded
std::optional<Segments> split(std::string_view path) {
  Segments segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view segment = path.substr(0, path.find('/'));
    auto decoded = percent_decode(segment);
    if (!decoded || decoded->empty()) return std::nullopt;
    segments.push_back(std::move(*decoded));
    path.remove_prefix(segment.size());
  }
  return segments;
}

bool has_subresource(ResourceKind kind, std::string_view name) {
  if (name == "binding" || name == "eviction") return kind == ResourceKind::kPods;
  return name == "status" && info(kind).has_status;
}

std::optional<Route> route_in(ResourceKind kind, const Segments& segments) {
  Route route;
  route.kind = kind;
  std::size_t next = 0;
  if (info(kind).namespaced && segments.size() > 2 && segments[0] == "namespaces") {
    route.ns = segments[1];
    next = 2;
  }
  if (next == segments.size() || segments[next++] != info(kind).plural) return std::nullopt;
  if (next == segments.size()) return route;
  if (info(kind).namespaced && route.ns.empty()) return std::nullopt;
  route.name = segments[next++];
  if (next == segments.size()) return route;
  route.subresource = segments[next++];
  if (next != segments.size() || !has_subresource(kind, route.subresource)) return std::nullopt;
  return route;
}

}  // namespace

std::optional<Route> parse_route(std::string_view path) {
  for (const ResourceKind kind : kAllKinds) {
    const std::string_view prefix = info(kind).prefix;
    if (!path.starts_with(prefix)) continue;
    const std::string_view rest = path.substr(prefix.size());
    if (!rest.starts_with('/')) continue;
    const auto segments = split(rest);
    if (!segments) return std::nullopt;
    if (auto route = route_in(kind, *segments)) return route;
  }
  return std::nullopt;
}

}  // namespace tangram::kube
