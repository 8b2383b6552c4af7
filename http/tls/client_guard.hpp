#pragma once

#include "http/types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tangram::http::tls {

/// "a, b c" is "a" and "b c": commas separate, blanks around a name do not count, nor does nothing.
[[nodiscard]] std::vector<std::string> split_names(std::string_view list);

/// A gate of a server whose clients are asked for a certificate:
/// * probes and scrapes (GET /healthz, /readyz, /metrics, /metrics/cards) are for everybody,
/// * other GETs, which show pods, for verified clients and for clients on this machine
///   or pod: `kubectl port-forward` does, and the API server has asked who it is,
/// * everything else for verified clients whose certificate carries one of `names`.
/// @param names  empty = any that is vouched for
[[nodiscard]] Gate verified_clients(std::vector<std::string> names);

}  // namespace tangram::http::tls
