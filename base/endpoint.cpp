#include "base/endpoint.hpp"

#include "base/number.hpp"

#include <arpa/inet.h>
#include <boost/asio/ip/address.hpp>

#include <utility>

namespace tangram {

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

std::string to_string(const Endpoint& endpoint) {
  const bool v6 = endpoint.address.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + endpoint.address + "]" : endpoint.address;
  return host + ":" + std::to_string(endpoint.port);
}

bool is_loopback(const Endpoint& endpoint) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(endpoint.address, error);
  if (error) return false;
  const bool mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  return mapped ? boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6())
                      .is_loopback()
                : address.is_loopback();
}

}  // namespace tangram
