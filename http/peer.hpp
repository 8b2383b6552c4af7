#pragma once

#include "http/tls/identity.hpp"

#include <boost/asio/ip/address.hpp>

#include <string>

namespace tangram::http {

/// The client, as far as the network knows. Internal to the server.
struct Peer {
  std::string origin = {};         ///< whom its connections belong to: see Connection
  std::string address = {};        ///< all of it
  bool local = false;              ///< on this machine, or in this pod
  tls::Identity::Trust trust = 0;  ///< not newer than the one that the handshake goes by
};

/// The origin is an IPv4 address, or the half of an IPv6 one that says which network, for a host
/// may have the other half as it likes.
[[nodiscard]] Peer peer_at(boost::asio::ip::address address);

}  // namespace tangram::http
