// What usage_of() reports about this process.

#include "tests/e2e/usage.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace tangram::e2e {
namespace {

namespace net = boost::asio;
using net::ip::tcp;

constexpr const char* kPeer = "127.0.0.2";

int count_of(const Usage& usage, const std::string& peer) {
  return static_cast<int>(std::ranges::count(usage.tcp, peer, &TcpSocket::peer));
}

class UsageTest : public ::testing::Test {
 protected:
  static Usage now() { return usage_of(::getpid()); }

  net::io_context io_;
  tcp::socket first_{io_};  // opens what all sockets share
  const Usage before_ = now();
};

/// A connection from kPeer.
struct Connection {
  explicit Connection(net::io_context& io)
      : acceptor(io, {net::ip::address_v4::loopback(), 0}), client(io), server(io) {
    client.open(tcp::v4());
    client.bind({net::ip::make_address(kPeer), 0});
    client.connect(acceptor.local_endpoint());
    acceptor.accept(server);
  }
  tcp::acceptor acceptor;
  tcp::socket client;
  tcp::socket server;
};

TEST_F(UsageTest, CountsPipesAsOthers) {
  std::array<std::array<int, 2>, 3> pipes{};
  for (auto& ends : pipes) ASSERT_EQ(::pipe(ends.data()), 0);
  const Usage open = now();
  EXPECT_EQ(open.others, before_.others + 6);
  EXPECT_EQ(open.descriptors, before_.descriptors + 6);
  for (const auto& ends : pipes) {
    for (const int end : ends) ::close(end);
  }
  EXPECT_EQ(now().descriptors, before_.descriptors);
}

TEST_F(UsageTest, CountsUnixSockets) {
  net::local::stream_protocol::socket one(io_);
  net::local::stream_protocol::socket other(io_);
  net::local::connect_pair(one, other);
  EXPECT_EQ(now().unix_sockets, before_.unix_sockets + 2);
}

TEST_F(UsageTest, SaysWhoIsConnected) {
  const Connection connection(io_);
  const int port = connection.acceptor.local_endpoint().port();
  const Usage usage = now();
  EXPECT_EQ(count_of(usage, kPeer), 1);
  EXPECT_EQ(usage.descriptors, before_.descriptors + 3);
  EXPECT_EQ(std::ranges::count(usage.tcp, port, &TcpSocket::local_port), 2) << "with the acceptor";
  EXPECT_EQ(std::ranges::count(usage.tcp, port, &TcpSocket::peer_port), 1) << "the client's end";
  EXPECT_EQ(usage.dead_sockets, before_.dead_sockets);
}

TEST_F(UsageTest, CountsAConnectionThatOnlyThePeerHasClosed) {
  Connection connection(io_);
  connection.client.close();
  EXPECT_EQ(count_of(now(), kPeer), 1);
}

TEST_F(UsageTest, CountsSocketsWhoseConnectionIsGone) {
  Connection connection(io_);
  connection.client.set_option(net::socket_base::linger(true, 0));
  connection.client.close();  // resets the connection
  std::array<char, 1> byte{};
  boost::system::error_code reset;
  connection.server.read_some(net::buffer(byte), reset);
  ASSERT_EQ(reset, net::error::connection_reset);
  EXPECT_EQ(now().dead_sockets, before_.dead_sockets + 1);
  EXPECT_EQ(count_of(now(), kPeer), 0);
  connection.server.close();
  EXPECT_EQ(now().dead_sockets, before_.dead_sockets);
}

TEST_F(UsageTest, ReadsTheTablesOfTheKernel) {
  const auto sockets = parse_tcp_sockets(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:1F90 0200007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 "
      "4711 1 0 20 4 30 10 -1\n"
      "   1: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A "
      "00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0\n"
      "   2: cut off\n");
  ASSERT_EQ(sockets.size(), 2U);
  EXPECT_EQ(sockets[0].inode, "4711");
  EXPECT_EQ(sockets[0].peer, kPeer);
  EXPECT_EQ(sockets[0].local_port, 8080);
  EXPECT_EQ(sockets[0].peer_port, 50'000);
  EXPECT_EQ(sockets[1].inode, "4712");
  EXPECT_EQ(sockets[1].peer, "");
  EXPECT_EQ(sockets[1].peer_port, 0);
}

TEST(CpuTimeTest, GrowsByWhatAProcessComputes) {
  const auto before = cpu_time_of(::getpid());
  EXPECT_GT(before.count(), 0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (std::chrono::steady_clock::now() < end) {}
  const auto spent = cpu_time_of(::getpid()) - before;
  EXPECT_GT(spent.count(), 0);
  constexpr pid_t kNobody = 1 << 22;  // the kernel's ids are smaller
  EXPECT_EQ(cpu_time_of(kNobody).count(), 0);
}

TEST_F(UsageTest, IsEmptyForAProcessThatIsGone) { EXPECT_EQ(usage_of(0).descriptors, 0); }

}  // namespace
}  // namespace tangram::e2e
