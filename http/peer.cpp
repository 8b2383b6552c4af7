#include "http/peer.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

#include <algorithm>
#include <cstdint>

namespace tangram::http {

Peer peer_at(boost::asio::ip::address address) {
  namespace ip = boost::asio::ip;
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = ip::make_address_v4(ip::v4_mapped, address.to_v6());
  }
  const std::string whole = address.to_string();
  Peer peer{.origin = whole, .address = whole, .local = address.is_loopback()};
  if (address.is_v6() && !peer.local) {
    auto bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + bytes.size() / 2, bytes.end(), std::uint8_t{0});
    peer.origin = ip::make_address_v6(bytes).to_string() + "/64";
  }
  return peer;
}

}  // namespace tangram::http
