// A server whose files are replaced while it runs.

#include "http/tls/identity.hpp"

#include "tests/http/tls/fixture.hpp"
#include "tests/testing/tls_line.hpp"

#include <gtest/gtest.h>

namespace tangram::http {
namespace {

using testing::TlsLine;
using tls::kLookInterval;

class TlsIdentityTest : public ::testing::Test {
 protected:
  /// Of the certificate that a new connection is shown.
  static std::string shown(const Server& server) {
    TlsLine line(server.port());
    return line.shake_hands() ? line.server_name() : TlsLine::error();
  }
  void write(const extender::CertificateAndKey& pair) const {
    files_.write("tls.crt", pair.certificate);
    files_.write("tls.key", pair.key);
  }
  std::string load_error() const {
    const auto identity = tls::Identity::load("server", files_.files(), clock_);
    return identity ? "" : identity.error().message;
  }

  HalfManualClock clock_;
  extender::Authority ca_ = make_authority();
  extender::CertificateAndKey first_ = server_of(ca_, "first.example.com");
  extender::CertificateAndKey second_ = server_of(ca_, "second.example.com");
  TlsFiles files_{first_, ca_.own().certificate};
};

TEST_F(TlsIdentityTest, ShowsANewCertificateToNewConnectionsAndKeepsTheOpenOnes) {
  const auto identity = files_.load(clock_);
  const auto server = serve(echo, tls_options(identity));
  auto open = tls_client(ca_, {}, "first.example.com");
  ASSERT_TRUE(open.connect("127.0.0.1", server->port()));
  write(second_);
  EXPECT_EQ(shown(*server), "first.example.com");  // no look was due yet
  clock_.advance(kLookInterval);
  EXPECT_EQ(shown(*server), "second.example.com");
  EXPECT_EQ(reply_of(open.request("GET", "/still")).body, "GET /still|");
  EXPECT_EQ(server->counters().accepted, 3U);
  EXPECT_EQ(identity->health().reloads, 1U);
}

TEST_F(TlsIdentityTest, FollowsASecretsVolumeWhoseFolderChangesBehindALink) {
  namespace fs = std::filesystem;
  const testing::TempFolder volume;
  const auto put = [&](const std::string& version, const extender::CertificateAndKey& pair) {
    const auto folder = volume.path() + "/" + version;
    fs::create_directory(folder);
    std::ofstream(folder + "/tls.crt") << pair.certificate;
    std::ofstream(folder + "/tls.key") << pair.key;
    fs::create_directory_symlink(version, volume.path() + "/..data_tmp");
    fs::rename(volume.path() + "/..data_tmp", volume.path() + "/..data");
  };
  put("..2026_1", first_);
  fs::create_symlink("..data/tls.crt", volume.path() + "/tls.crt");
  fs::create_symlink("..data/tls.key", volume.path() + "/tls.key");
  auto identity = tls::Identity::load(
      "server", {volume.path() + "/tls.crt", volume.path() + "/tls.key", ""}, clock_);
  ASSERT_TRUE(identity) << identity.error().message;
  const auto server = serve(echo, tls_options(*identity));
  EXPECT_EQ(shown(*server), "first.example.com");
  put("..2026_2", second_);
  fs::remove_all(volume.path() + "/..2026_1");
  clock_.advance(kLookInterval);
  EXPECT_EQ(shown(*server), "second.example.com");
}

TEST_F(TlsIdentityTest, KeepsTheFormerCertificateWhileANewOneIsHalfWritten) {
  const auto identity = files_.load(clock_);
  const auto server = serve(echo, tls_options(identity));
  files_.write("tls.crt", second_.certificate);  // its key has not come yet
  clock_.advance(kLookInterval);
  EXPECT_EQ(shown(*server), "first.example.com");
  EXPECT_EQ(identity->health().failures, 1U);
  clock_.advance(kLookInterval);
  EXPECT_EQ(identity->health().failures, 1U);  // said once, not at every look
  files_.write("tls.key", second_.key);
  clock_.advance(kLookInterval);
  EXPECT_EQ(shown(*server), "second.example.com");
  EXPECT_EQ(identity->health().reloads, 1U);
}

TEST_F(TlsIdentityTest, KeepsTheFormerCertificateWhenTheFilesAreGoneOrDamaged) {
  const auto identity = files_.load(clock_);
  const auto server = serve(echo, tls_options(identity));
  std::filesystem::remove(files_.path("tls.key"));
  clock_.advance(kLookInterval);
  EXPECT_EQ(shown(*server), "first.example.com");
  files_.write("tls.key", second_.key.substr(0, second_.key.size() / 2));
  clock_.advance(kLookInterval);
  EXPECT_EQ(shown(*server), "first.example.com");
  EXPECT_EQ(identity->health().failures, 2U);
  write(first_);
  clock_.advance(kLookInterval);
  EXPECT_EQ(shown(*server), "first.example.com");
  EXPECT_EQ(identity->health().failures, 2U);
}

TEST_F(TlsIdentityTest, TrustsClientsOfANewAuthority) {
  const auto newer = make_authority("a newer CA");
  const auto server = serve(echo, tls_options(files_.load(clock_)));
  const auto client = client_of(newer, "system:kube-scheduler");
  auto early = tls_client(ca_, client, "first.example.com");
  EXPECT_NE(connect_error(early, server->port()), "");
  // Both, as in a rotation.
  files_.write("ca.crt", ca_.own().certificate + newer.own().certificate);
  clock_.advance(kLookInterval);
  auto late = tls_client(ca_, client, "first.example.com");
  EXPECT_EQ(connect_error(late, server->port()), "");
  auto old = tls_client(ca_, client_of(ca_, "system:kube-scheduler"), "first.example.com");
  EXPECT_EQ(connect_error(old, server->port()), "");
}

TEST_F(TlsIdentityTest, SaysWhenTheCertificateExpires) {
  const auto identity = files_.load(clock_);
  const auto left = identity->health().expires - std::chrono::system_clock::now();
  EXPECT_GT(left, std::chrono::minutes(59));
  EXPECT_LE(left, std::chrono::minutes(60));
}

TEST_F(TlsIdentityTest, RefusesFilesThatCannotBeUsedAndNamesThem) {
  files_.write("tls.key", second_.key);
  EXPECT_NE(load_error().find("the key does not belong to the certificate"), std::string::npos)
      << load_error();
  EXPECT_NE(load_error().find(files_.path("tls.key")), std::string::npos);
  files_.write("tls.key", "");
  EXPECT_NE(load_error().find("is empty"), std::string::npos) << load_error();
  write(first_);
  files_.write("tls.crt", "hello");
  EXPECT_NE(load_error().find("the certificate is no PEM"), std::string::npos) << load_error();
  write(first_);
  files_.write("ca.crt", first_.key);
  EXPECT_NE(load_error().find("the client CA is no PEM"), std::string::npos) << load_error();
  files_.write("ca.crt", ca_.own().certificate + first_.certificate.substr(0, 100));
  EXPECT_NE(load_error().find("the client CA is no PEM"), std::string::npos) << load_error();
  std::filesystem::remove(files_.path("tls.crt"));
  EXPECT_NE(load_error().find(files_.path("tls.crt")), std::string::npos) << load_error();
}

/// Its basicConstraints are a number.
TEST_F(TlsIdentityTest, RefusesAClientCaWithADamagedExtension) {
  files_.write("ca.crt",
               "-----BEGIN CERTIFICATE-----\n"
               "MIIBFDCBx6ADAgECAhRrA8LMW/uEEW3zwwO9PDr54pykqjAFBgMrZXAwEjEQMA4G\n"
               "A1UEAwwHZGFtYWdlZDAgFw0yNjExMjIwMzAyNDRaGA8yMTI2MTAyOTAzMDI0NFow\n"
               "EjEQMA4GA1UEAwwHZGFtYWdlZDAqMAUGAytlcAMhAKFjdSEI3WThKll5P0YLnd+1\n"
               "8qJAeQDoIQSiiIsXERsuoy0wKzAKBgNVHRMEAwIBBTAdBgNVHQ4EFgQUimOPed3z\n"
               "dJxdr1g5WR6E5SkJYRowBQYDK2VwA0EA1AT91ebDp4vY1PsP3CaqgsPT1hG5lTF3\n"
               "C32qolri3ECGhtACNQ6PgUkmGclpgyOJuJ77ynWDga/Lgsu4YdPDDg==\n"
               "-----END CERTIFICATE-----\n");
  EXPECT_NE(load_error().find("client CA cannot be used"), std::string::npos) << load_error();
}

TEST_F(TlsIdentityTest, DoesNotAskForThePasswordOfAKey) {
  files_.write("tls.key",
               "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIBBjBhBgkqhkiG9w0BBQ0wVDAzBgkqhkiG9w0B\n"
               "-----END ENCRYPTED PRIVATE KEY-----\n");
  EXPECT_NE(load_error().find("no unencrypted PEM key"), std::string::npos) << load_error();
}

}  // namespace
}  // namespace tangram::http
