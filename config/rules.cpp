#include "config/rules.hpp"

#include <arpa/inet.h>

namespace tangram::config {

std::string join_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ",").append(name);
  return text;
}

std::optional<std::vector<std::string>> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    if (name.empty() || name.size() + 1 == text.size()) return std::nullopt;
    names.emplace_back(name);
    text.remove_prefix(std::min(name.size() + 1, text.size()));
  }
  return names;
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string address(text.substr(0, colon));
  const auto port = whole_number(text.substr(colon + 1));
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
