#include "extender/setup/certificates_command.hpp"

#include "base/file.hpp"
#include "tests/http/tls/fixture.hpp"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <set>

namespace tangram::extender {
namespace {

std::shared_ptr<X509> read_certificate(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return nullptr;
  const std::shared_ptr<BIO> in(BIO_new_mem_buf(text->data(), static_cast<int>(text->size())),
                                BIO_free);
  return {PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr), X509_free};
}

class CertificatesCommandTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return parent_.path() + "/tls/" + name;
  }
  /// What OpenSSL says of a certificate for that use; "ok" if nothing.
  [[nodiscard]] std::string verdict(const std::string& name, int purpose) const {
    const auto ca = read_certificate(path("ca.crt"));
    const auto certificate = read_certificate(path(name));
    const std::shared_ptr<X509_STORE> store(X509_STORE_new(), X509_STORE_free);
    X509_STORE_add_cert(store.get(), ca.get());
    const std::shared_ptr<X509_STORE_CTX> context(X509_STORE_CTX_new(), X509_STORE_CTX_free);
    X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), nullptr);
    X509_STORE_CTX_set_purpose(context.get(), purpose);
    X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_X509_STRICT);
    X509_verify_cert(context.get());
    return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
      all.insert(entry.path().filename());
    }
    return all;
  }
  [[nodiscard]] CertificatesOrder order() const { return {.folder = parent_.path() + "/tls"}; }

  testing::TempFolder parent_;
  SystemClock clock_;
};

TEST_F(CertificatesCommandTest, MakesCertificatesThatOpenSslVerifies) {
  auto wanted = order();
  wanted.hosts = {"tangram.example.com", "10.96.0.42"};
  const auto made = make_certificates(wanted, clock_);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(verdict("tls.crt", X509_PURPOSE_SSL_SERVER), "ok");
  EXPECT_EQ(verdict("scheduler.crt", X509_PURPOSE_SSL_CLIENT), "ok");
  EXPECT_NE(verdict("tls.crt", X509_PURPOSE_SSL_CLIENT), "ok");
  EXPECT_NE(verdict("scheduler.crt", X509_PURPOSE_SSL_SERVER), "ok");

  const auto server = read_certificate(path("tls.crt"));
  for (const std::string host :
       {"tangram-extender.tangram-system.svc", "tangram-webhook.tangram-system.svc", "localhost",
        "tangram.example.com"}) {
    EXPECT_EQ(X509_check_host(server.get(), host.data(), host.size(), 0, nullptr), 1) << host;
  }
  for (const char* address : {"127.0.0.1", "::1", "10.96.0.42"}) {
    EXPECT_EQ(X509_check_ip_asc(server.get(), address, 0), 1) << address;
  }
  EXPECT_EQ(X509_check_host(server.get(), "example.com", 0, 0, nullptr), 0);
}

TEST_F(CertificatesCommandTest, MakesWhatServerAndSchedulerCanUse) {
  ASSERT_TRUE(make_certificates(order(), clock_));
  auto identity = http::tls::Identity::load(
      "server", {path("tls.crt"), path("tls.key"), path("ca.crt")}, clock_);
  ASSERT_TRUE(identity) << identity.error().message;
  const auto server = http::serve(
      [](const http::Request& request, http::Responder responder) {
        responder.send(http::text_response(200, request.client ? request.client->names.at(0) : ""));
      },
      http::tls_options(*identity));
  http::Client scheduler({.ca = *read_file(path("ca.crt")),
                          .server_name = "tangram-extender.tangram-system.svc",
                          .certificate = *read_file(path("scheduler.crt")),
                          .key = *read_file(path("scheduler.key"))});
  ASSERT_TRUE(scheduler.connect("127.0.0.1", server->port()));
  EXPECT_EQ(http::reply_of(scheduler.request("GET", "/")).body, "system:kube-scheduler\n");
}

TEST_F(CertificatesCommandTest, LetsOnlyTheOwnerReadAndThrowsTheCaKeyAway) {
  ASSERT_TRUE(make_certificates(order(), clock_));
  EXPECT_EQ(names(), (std::set<std::string>{"ca.crt", "scheduler.crt", "scheduler.key", "tls.crt",
                                            "tls.key"}));
  for (const auto& name : names()) {
    struct stat about {};
    ASSERT_EQ(stat(path(name).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777U, 0600U) << name;
  }
}

TEST_F(CertificatesCommandTest, KeepsTheCaKeyWhenAsked) {
  auto wanted = order();
  wanted.keep_ca_key = true;
  ASSERT_TRUE(make_certificates(wanted, clock_));
  EXPECT_TRUE(names().contains("ca.key"));
}

TEST_F(CertificatesCommandTest, OverwritesNothing) {
  std::filesystem::create_directory(path(""));
  std::ofstream(path("scheduler.key")) << "mine";
  const auto made = make_certificates(order(), clock_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::kConflict);
  EXPECT_NE(made.error().message.find(path("scheduler.key")), std::string::npos);
  EXPECT_EQ(names(), (std::set<std::string>{"scheduler.key"}));
  EXPECT_EQ(*read_file(path("scheduler.key")), "mine");
}

TEST_F(CertificatesCommandTest, SaysWhatToDoNextAndNoSecret) {
  const auto made = make_certificates(order(), clock_);
  ASSERT_TRUE(made);
  for (const char* text : {"kubectl --namespace tangram-system create secret", "caBundle",
                           "/etc/kubernetes/tangram/", "tls.client_names=system:kube-scheduler"}) {
    EXPECT_NE(made->find(text), std::string::npos) << text;
  }
  EXPECT_EQ(made->find("PRIVATE KEY"), std::string::npos);
}

TEST_F(CertificatesCommandTest, IsValidForTheDaysAsked) {
  testing::ManualClock clock;  // 2026-01-01
  auto wanted = order();
  wanted.days = 30;
  const auto made = make_certificates(wanted, clock);
  ASSERT_TRUE(made);
  EXPECT_NE(made->find("valid until 2026-01-31T00:00:00Z"), std::string::npos) << *made;
  for (const char* name : {"ca.crt", "tls.crt", "scheduler.crt"}) {
    std::tm end{};
    ASN1_TIME_to_tm(X509_get0_notAfter(read_certificate(path(name)).get()), &end);
    EXPECT_EQ(end.tm_mon + 1, 1) << name;
    EXPECT_EQ(end.tm_mday, 31) << name;
  }
}

TEST_F(CertificatesCommandTest, RefusesWhatIsNoHostOrNoDuration) {
  for (const std::string host : {"", "a b", "a,DNS:evil.example.com", "http://a", "a/b"}) {
    auto wanted = order();
    wanted.hosts = {host};
    const auto made = make_certificates(wanted, clock_);
    ASSERT_FALSE(made) << host;
    EXPECT_EQ(made.error().code, Errc::kInvalidArgument);
  }
  for (const int days : {0, -1, 3651}) {
    auto wanted = order();
    wanted.days = days;
    EXPECT_FALSE(make_certificates(wanted, clock_)) << days;
  }
  EXPECT_FALSE(std::filesystem::exists(path("")));
}

}  // namespace
}  // namespace tangram::extender
