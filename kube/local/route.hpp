#pragma once

#include "kube/local/object.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tangram::kube {

/// What a path names.
struct Route {
  ResourceKind kind{};
  std::string ns;    ///< empty: no namespace, or all of them
  std::string name;  ///< empty: the collection
  std::string subresource;

  [[nodiscard]] bool is_collection() const { return name.empty(); }
};

/// @returns nothing for a path that names nothing here
[[nodiscard]] std::optional<Route> parse_route(std::string_view path);

}  // namespace tangram::kube
