#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// A server that says exactly the bytes a test wrote down: for what no proper server would do.
namespace tangram::testing {

/// One accepted connection, as the server's side sees it. Blocking. Threads: one at a time, but
/// cut_off() from any.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {}
  virtual ~Peer() { ::close(socket_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Head and body (by its Content-Length) of the next request. @returns nothing at the end
  [[nodiscard]] std::optional<std::string> read_request() {
    std::string text;
    std::size_t head = std::string::npos;
    while ((head = text.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more(text)) return std::nullopt;
    }
    const std::size_t whole = head + 4 + content_length(text);
    while (text.size() < whole) {
      if (!read_more(text)) return std::nullopt;
    }
    return text;
  }
  /// Waits until the client closes its side.
  void await_end() {
    std::string rest;
    while (read_more(rest)) {}
  }
  bool say(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = write_some(bytes);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// A whole answer. `headers` end with "\r\n" each.
  bool answer(const std::string& status, const std::string& body, const std::string& headers = "") {
    return say("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
               "\r\n" + headers + "\r\n" + body);
  }
  /// Makes the connection's end a reset, as from a server that has died.
  void reset_at_end() const {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  void cut_off() const { ::shutdown(socket_, SHUT_RDWR); }

 protected:
  virtual ssize_t read_some(char* into, std::size_t size) { return ::recv(socket_, into, size, 0); }
  virtual ssize_t write_some(std::string_view bytes) {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  [[nodiscard]] int socket() const { return socket_; }

 private:
  bool read_more(std::string& text) {
    std::array<char, 4096> part{};
    const ssize_t got = read_some(part.data(), part.size());
    if (got <= 0) return false;
    text.append(part.data(), static_cast<std::size_t>(got));
    return true;
  }
  static std::size_t content_length(const std::string& text) {
    constexpr std::string_view kName = "Content-Length: ";
    const std::size_t at = text.find(kName);
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + kName.size()));
  }

  int socket_;
};

/// Accepts on a free port of 127.0.0.1; every connection runs the script on a thread of its own.
class RawServer {
 public:
  /// @param number  of the connection, from 1
  using Script = std::function<void(Peer& peer, int number)>;
  using MakePeer = std::function<std::unique_ptr<Peer>(int socket)>;
  static std::unique_ptr<Peer> plain(int socket) { return std::make_unique<Peer>(socket); }

  explicit RawServer(Script script, MakePeer make_peer = plain)
      : script_(std::move(script)), make_peer_(std::move(make_peer)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, any, size) != 0 || ::listen(listener_, SOMAXCONN) != 0 ||
        ::getsockname(listener_, any, &size) != 0) {
      throw std::runtime_error("no port to listen on");
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_all(); });
  }
  ~RawServer() {
    stop_listening();
    acceptor_.join();
    {
      const std::scoped_lock lock(mutex_);
      for (const auto& peer : peers_) peer->cut_off();
    }
    threads_.clear();
    ::close(listener_);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  /// From now on connections are refused.
  void stop_listening() const { ::shutdown(listener_, SHUT_RDWR); }

  [[nodiscard]] std::string port() const { return std::to_string(port_); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + port(); }
  /// Accepted so far.
  [[nodiscard]] int connections() const {
    const std::scoped_lock lock(mutex_);
    return connections_;
  }

 private:
  void accept_all() {
    for (;;) {
      const int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) return;
      const int on = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      const std::shared_ptr<Peer> peer = make_peer_(socket);
      const std::scoped_lock lock(mutex_);
      peers_.push_back(peer);
      threads_.emplace_back([this, peer, number = ++connections_] { serve(peer, number); });
    }
  }
  void serve(std::shared_ptr<Peer> peer, int number) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);  // OpenSSL has no MSG_NOSIGNAL
    script_(*peer, number);
    const std::scoped_lock lock(mutex_);
    std::erase(peers_, peer);  // closes it with the last pointer, which is ours
  }

  const Script script_;
  const MakePeer make_peer_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  int port_ = 0;
  mutable std::mutex mutex_;
  int connections_ = 0;
  std::vector<std::shared_ptr<Peer>> peers_;
  std::vector<std::jthread> threads_;  ///< of acceptor_'s thread, then of the destructor's
  std::jthread acceptor_;
};

}  // namespace tangram::testing
