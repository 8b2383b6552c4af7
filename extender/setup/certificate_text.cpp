#include "extender/setup/certificate_text.hpp"

#include <openssl/pem.h>

#include <chrono>

namespace tangram::extender {

Result<std::string> pem_of(X509& certificate) {
  const http::tls::BioPtr out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_X509(out.get(), &certificate) != 1) {
    return fail(Errc::kUnavailable, "OpenSSL cannot make PEM: " + http::tls::last_error());
  }
  char* bytes = nullptr;
  const auto size = BIO_ctrl(out.get(), BIO_CTRL_INFO, 0, static_cast<void*>(&bytes));
  return std::string(bytes, static_cast<std::size_t>(size));
}

http::tls::CertificatePtr read_certificate(std::string_view pem) {
  const auto in = http::tls::reader_of(pem);
  return http::tls::CertificatePtr(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
}

Validity validity_of(const X509& certificate) {
  return {http::tls::wall_time(X509_get0_notBefore(&certificate)),
          http::tls::wall_time(X509_get0_notAfter(&certificate))};
}

Validity valid_for_days(int days, const Clock& clock) {
  constexpr std::chrono::hours kEarlier{1};
  return {clock.wall() - kEarlier, clock.wall() + std::chrono::hours(24) * days};
}

std::vector<std::string> server_hosts(const std::string& ns) {
  std::vector<std::string> hosts;
  for (const char* const service : {"tangram-extender.", "tangram-webhook."}) {
    const std::string name = service + ns + ".svc";
    hosts.insert(hosts.end(), {name, name + ".cluster.local"});
  }
  hosts.insert(hosts.end(), {"tangram-extender." + ns, "localhost", "127.0.0.1", "::1"});
  return hosts;
}

}  // namespace tangram::extender
