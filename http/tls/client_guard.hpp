#pragma once

#include "http/types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tangram::http::tls {

/// "a, b c" is "a" and "b c": commas separate, blanks around a name do not count, nor does nothing.
[[nodiscard]] std::vector<std::string> split_names(std::string_view list);

/// A gate of a server that requests client certificates:
/// * probes and scrapes (GET /healthz, /readyz, /metrics, /metrics/cards) are open to all clients,
/// * other GETs, which show pods, for verified clients and for clients on this machine
///   or pod: `kubectl port-forward` is, and the API server has authenticated it,
/// * everything else for verified clients whose certificate carries one of `names`.
/// @param names  empty = any verified client
[[nodiscard]] Gate verified_clients(std::vector<std::string> names);

/// A gate of a webhook that requests client certificates: probes are open to all clients, as above,
/// and everything else is for verified clients whose certificate carries one of `names`.
/// @param names  empty = any verified client
[[nodiscard]] Gate verified_reviewers(std::vector<std::string> names);

}  // namespace tangram::http::tls
