#pragma once

#include "extender/setup/authority.hpp"
#include "http/tls/identity.hpp"
#include "tests/http/fixture.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/temp_folder.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

/// Certificates, and servers and clients that use them.
namespace tangram::http {

using extender::Authority;
using extender::CertificateAndKey;

/// From an hour ago for two hours: OpenSSL judges by the machine's clock.
inline extender::Validity valid_now() {
  const auto now = std::chrono::system_clock::now();
  return {now - std::chrono::hours(1), now + std::chrono::hours(1)};
}
inline extender::Validity expired() {
  const auto now = std::chrono::system_clock::now();
  return {now - std::chrono::hours(2), now - std::chrono::hours(1)};
}

/// Waits are by hand, dates the machine's, by which OpenSSL judges certificates.
class HalfManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return manual_.now(); }
  [[nodiscard]] WallTime wall() const override { return std::chrono::system_clock::now(); }
  void advance(std::chrono::milliseconds by) { manual_.advance(by); }

 private:
  testing::ManualClock manual_;
};

inline extender::Authority make_authority(const std::string& name = "a CA") {
  auto made = extender::Authority::create(name, valid_now());
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

inline extender::CertificateAndKey issue(const extender::Authority& authority,
                                         const extender::Authority::Order& order) {
  auto issued = authority.issue(order);
  if (!issued) throw std::runtime_error(issued.error().message);
  return std::move(*issued);
}

inline extender::CertificateAndKey server_of(const extender::Authority& authority,
                                             const std::string& host = "127.0.0.1",
                                             extender::Validity validity = valid_now()) {
  return issue(authority, {.name = host, .hosts = {host}, .validity = validity});
}

inline extender::CertificateAndKey client_of(const extender::Authority& authority,
                                             const std::string& name,
                                             extender::Validity validity = valid_now()) {
  return issue(
      authority,
      {.name = name, .hosts = {}, .use = extender::Authority::Use::kClient, .validity = validity});
}

/// A server's three files in a folder of the test's own.
class TlsFiles {
 public:
  explicit TlsFiles(const extender::CertificateAndKey& server, const std::string& client_ca = "") {
    write("tls.crt", server.certificate);
    write("tls.key", server.key);
    if (!client_ca.empty()) write("ca.crt", client_ca);
    has_ca_ = !client_ca.empty();
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  [[nodiscard]] tls::ServerFiles files() const {
    return {path("tls.crt"), path("tls.key"), has_ca_ ? path("ca.crt") : ""};
  }
  [[nodiscard]] std::shared_ptr<tls::Identity> load(const Clock& clock) const {
    auto identity = tls::Identity::load("test", files(), clock);
    if (!identity) throw std::runtime_error(identity.error().message);
    return std::move(*identity);
  }

 private:
  testing::TempFolder folder_;
  bool has_ca_ = false;
};

inline Options tls_options(std::shared_ptr<tls::Identity> identity) {
  auto options = local_options();
  options.tls = std::move(identity);
  return options;
}

/// Not connected yet.
inline Client tls_client(const extender::Authority& trusted,
                         const extender::CertificateAndKey& own = {},
                         const std::string& server_name = "") {
  return Client({.ca = trusted.own().certificate,
                 .server_name = server_name,
                 .certificate = own.certificate,
                 .key = own.key});
}

/// Why a client could not connect, or the answer to its first GET; "" = the answer came.
inline std::string connect_error(Client& client, std::uint16_t port) {
  if (auto connected = client.connect("127.0.0.1", port); !connected) {
    return connected.error().message;
  }
  // In TLS 1.3 a client learns only now that the server did not like its certificate.
  const auto reply = client.request("GET", "/");
  return reply ? "" : reply.error().message;
}

}  // namespace tangram::http
