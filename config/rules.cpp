#include "config/rules.hpp"

#include "base/number.hpp"
#include "base/split.hpp"

#include <arpa/inet.h>

namespace tangram::config {

std::optional<std::vector<std::string>> split_names(std::string_view text) {
  if (text.empty()) return std::vector<std::string>();
  std::vector<std::string> names = split(text, ',');
  if (std::find(names.begin(), names.end(), "") != names.end()) return std::nullopt;
  return names;
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string address(text.substr(0, colon));
  const auto port = parse_number<std::int64_t>(text.substr(colon + 1));
  constexpr std::int64_t kLastPort = 65'535;
  if (!port || *port < 0 || *port > kLastPort) return std::nullopt;

  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) address = address.substr(1, address.size() - 2);
  in6_addr parsed{};  // large enough for both families
  if (inet_pton(bracketed ? AF_INET6 : AF_INET, address.c_str(), &parsed) != 1) {
    return std::nullopt;
  }
  return Endpoint{std::move(address), static_cast<std::uint16_t>(*port)};
}

}  // namespace tangram::config
