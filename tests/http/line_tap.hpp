#pragma once

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tangram::http {

/// A connection whose bytes are read as they come, for answers that have no end.
class LineTap {
 public:
  explicit LineTap(std::uint16_t port) : socket_(io_) {
    socket_.connect({boost::asio::ip::make_address("127.0.0.1"), port});
    const timeval patience{.tv_sec = 60, .tv_usec = 0};  // only a failing test waits so long
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  void send(std::string_view text) {
    boost::asio::write(socket_, boost::asio::buffer(text.data(), text.size()));
  }
  void get(const std::string& target, const std::string& headers = "") {
    send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  }

  /// All that has come since the last call, up to and with `end`. Throws if the connection ends
  /// before.
  std::string read_until(std::string_view end) {
    std::size_t at = 0;
    while ((at = buffer_.find(end)) == std::string::npos) {
      if (!read_some()) throw std::runtime_error("no \"" + std::string(end) + "\" in: " + buffer_);
    }
    std::string text = buffer_.substr(0, at + end.size());
    buffer_.erase(0, at + end.size());
    return text;
  }
  std::string read_to_end() {
    while (read_some()) {}
    return std::exchange(buffer_, {});
  }
  void close() { socket_.close(); }

 private:
  bool read_some() {
    std::array<char, 16'384> bytes{};
    const auto count = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), 0);
    if (count <= 0) return false;
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
  std::string buffer_;
};

}  // namespace tangram::http
