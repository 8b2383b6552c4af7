#pragma once

#include "extender/http_types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender::tls {

/// "a, b" as names; empty parts are left out.
[[nodiscard]] std::vector<std::string> split_names(std::string_view list);

/// A gate that lets everybody read (GET, HEAD) and only verified clients do anything else.
/// @param names  one of which the certificate must carry; empty = any that is vouched for
[[nodiscard]] HttpGate verified_clients_write(std::vector<std::string> names);

}  // namespace tangram::extender::tls
