#pragma once

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::testing {

/// A client on OpenSSL alone, which offers the given parameters and verifies nothing: for what a
/// well-behaved client does not do. Every wait ends after some seconds.
class TlsLine {
 public:
  struct Options {
    int newest = TLS1_3_VERSION;
    std::string ciphers = "ALL";              ///< of TLS 1.2 and older
    std::vector<std::string> protocols = {};  ///< by ALPN
    std::string from = "127.0.0.1";           ///< an address of this machine
  };

  explicit TlsLine(std::uint16_t port) : TlsLine(port, Options()) {}
  TlsLine(std::uint16_t port, const Options& options)
      : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    constexpr timeval kLongest{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kLongest, sizeof kLongest);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (inet_pton(AF_INET, options.from.c_str(), &address.sin_addr) != 1 ||
        bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect from " + options.from);
    }
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("no connection");
    }
    SSL_CTX_set_security_level(context_.get(), 0);  // so that old versions can be offered
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_.get(), options.newest);
    SSL_CTX_set_cipher_list(context_.get(), options.ciphers.c_str());
    ssl_.reset(SSL_new(context_.get()), SSL_free);
    offer(options.protocols);
    SSL_set_fd(ssl_.get(), socket_);
  }
  ~TlsLine() { close(socket_); }
  TlsLine(const TlsLine&) = delete;
  TlsLine& operator=(const TlsLine&) = delete;

  bool shake_hands() { return SSL_connect(ssl_.get()) == 1; }
  /// Starts a TLS 1.2 renegotiation. @returns false if the server refuses
  bool renegotiate() {
    SSL_set_options(ssl_.get(), SSL_OP_LEGACY_SERVER_CONNECT);
    return SSL_renegotiate(ssl_.get()) == 1 && SSL_do_handshake(ssl_.get()) == 1;
  }
  /// As much of it as the server takes.
  void send(std::string_view bytes) {
    SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }
  std::string read_to_end() {
    std::string all;
    std::array<char, 4096> piece{};
    for (int count = 1; count > 0;) {
      count = SSL_read(ssl_.get(), piece.data(), static_cast<int>(piece.size()));
      if (count > 0) all.append(piece.data(), static_cast<std::size_t>(count));
    }
    return all;
  }
  /// The server said that nothing more comes.
  [[nodiscard]] bool ended_properly() const {
    return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  [[nodiscard]] std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  /// The common name in the server's certificate.
  [[nodiscard]] std::string server_name() const {
    std::array<char, 256> name{};
    const X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                              static_cast<int>(name.size()));
    return name.data();
  }
  [[nodiscard]] static std::string error() {
    const char* reason = ERR_reason_error_string(ERR_peek_last_error());
    return reason == nullptr ? "" : reason;
  }

 private:
  void offer(const std::vector<std::string>& protocols) {
    std::string wire;
    for (const auto& name : protocols) wire += static_cast<char>(name.size()) + name;
    if (wire.empty()) return;
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(wire.data()),
                        static_cast<unsigned>(wire.size()));
  }

  std::shared_ptr<SSL_CTX> context_;
  std::shared_ptr<SSL> ssl_;
  int socket_;
};

}  // namespace tangram::testing
