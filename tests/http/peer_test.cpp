#include "http/peer.hpp"

#include <gtest/gtest.h>

namespace tangram::http {
namespace {

Peer peer(const char* address) { return peer_at(boost::asio::ip::make_address(address)); }

TEST(PeerTest, IsAnIpv4AddressAlsoWhereItIsMapped) {
  for (const char* address : {"10.0.0.1", "::ffff:10.0.0.1"}) {
    EXPECT_EQ(peer(address).origin, "10.0.0.1");
    EXPECT_EQ(peer(address).address, "10.0.0.1");
    EXPECT_FALSE(peer(address).local);
  }
}

TEST(PeerTest, BelongsToTheNetworkOfAnIpv6Address) {
  EXPECT_EQ(peer("2001:db8:0:1:2::3").origin, "2001:db8:0:1::/64");
  EXPECT_EQ(peer("2001:db8:0:1:2::3").address, "2001:db8:0:1:2::3");
  EXPECT_EQ(peer("2001:db8:0:1::4").origin, "2001:db8:0:1::/64");
}

TEST(PeerTest, KnowsThisMachine) {
  for (const char* address : {"127.0.0.1", "::ffff:127.0.0.1", "::1"}) {
    EXPECT_TRUE(peer(address).local) << address;
  }
  EXPECT_EQ(peer("::1").origin, "::1");
}

}  // namespace
}  // namespace tangram::http
