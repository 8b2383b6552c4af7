#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tangram {

/// A numeric IP address and a port. Text: "127.0.0.1:9898", "[::1]:9898".
struct Endpoint {
  std::string address;
  std::uint16_t port = 0;  ///< 0 = the system picks a free one
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// @returns nothing unless it is a numeric address and a port
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);

/// As in the text above.
[[nodiscard]] std::string to_string(const Endpoint& endpoint);

/// Only reachable from this machine, or from this pod.
[[nodiscard]] bool is_loopback(const Endpoint& endpoint);

}  // namespace tangram
