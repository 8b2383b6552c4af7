#pragma once

#include "kube/api.hpp"
#include "kube/local/route.hpp"
#include "kube/local/selector.hpp"
#include "kube/local/status.hpp"

#include <cstdint>
#include <string>

/// The query of a request, read as the in-memory API server reads it.
namespace tangram::kube {

/// @returns null if it is not there or empty, which mean the same
[[nodiscard]] const std::string* query_value(const Request& request, const std::string& name);
/// A count, `otherwise` if there is none.
[[nodiscard]] ApiResult<std::uint64_t> query_count(const Request& request, const std::string& name,
                                                   std::uint64_t otherwise);
[[nodiscard]] bool query_flag(const Request& request, const std::string& name);
[[nodiscard]] ApiResult<Selector> query_selector(const Request& request, ResourceKind kind);

/// A resourceVersion. Refuses what is not a number, or no version yet.
[[nodiscard]] ApiResult<std::uint64_t> parse_version(const std::string& text,
                                                     std::uint64_t current);

/// Refuses what this server would otherwise silently ignore.
[[nodiscard]] ApiResult<void> check_query(const Request& request);

/// The beginning of the keys that a collection holds: "ns/", or empty for all.
[[nodiscard]] std::string key_prefix(const Route& route);

}  // namespace tangram::kube
