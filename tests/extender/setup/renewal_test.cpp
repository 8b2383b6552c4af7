#include "extender/setup/renewal.hpp"

#include "base/base64.hpp"
#include "base/json_members.hpp"
#include "tests/extender/setup/renewal_world.hpp"
#include "tests/testing/odd_fields.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using std::chrono::hours;

constexpr hours kDay{24};
constexpr hours kDue = kDay * 10 + hours(1);

std::size_t count(const CaBundle& bundle) {
  std::size_t count = 0;
  const std::string pem = bundle.pem();
  for (auto at = pem.find("BEGIN"); at != std::string::npos; at = pem.find("BEGIN", at + 1))
    ++count;
  return count;
}

class RenewalTest : public ::testing::Test {
 protected:
  RenewalTest() { world.install(); }
  World world;
};

TEST_F(RenewalTest, WritesNothingBeforeAThirdOfTheValidityHasPassed) {
  const auto before = world.secret(kServerPath);
  for (int day = 1; day < 10; ++day) {
    world.pass(kDay);
    const auto done = world.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(*done, "the certificate is valid until 2026-01-31T00:00:00Z\n");
  }
  EXPECT_EQ(world.writes, 0U);
  EXPECT_EQ(world.secret(kServerPath).version, before.version);
}

TEST_F(RenewalTest, RenewsAgainAndAgainAndEveryStateVerifies) {
  std::string before = world.secret(kServerPath).certificate;
  for (int round = 1; round <= 6; ++round) {
    world.pass(kDue);
    const auto done = world.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->find("renewed, valid until 2026-"), 0U) << *done;
    const auto server = world.secret(kServerPath);
    EXPECT_NE(server.certificate, before);
    before = server.certificate;
    EXPECT_EQ(count(server.authorities), 2U) << "this authority and the one before";
    EXPECT_EQ(count(world.secret(kSchedulerPath).authorities), 2U);
  }
  EXPECT_GT(world.checks, 60U);
}

TEST_F(RenewalTest, ServesTheNamesOfItsNamespaceAndNamesTheScheduler) {
  const auto server = read_certificate(world.secret(kServerPath).certificate);
  for (const std::string host :
       {"tangram-extender.tangram-system.svc", "tangram-webhook.tangram-system.svc",
        "tangram-webhook.tangram-system.svc.cluster.local", "localhost"}) {
    EXPECT_EQ(X509_check_host(server.get(), host.data(), host.size(), 0, nullptr), 1) << host;
  }
  const auto client = read_certificate(world.secret(kSchedulerPath).certificate);
  const std::string name = kSchedulerName;
  EXPECT_EQ(X509_check_host(client.get(), name.data(), name.size(),
                            X509_CHECK_FLAG_ALWAYS_CHECK_SUBJECT, nullptr),
            1);
}

TEST_F(RenewalTest, KeepsNoKeyOfAnAuthority) {
  world.pass(kDue);
  ASSERT_TRUE(world.run());
  for (const char* path : {kServerPath, kSchedulerPath}) {
    std::string text = world.server().call(testing::get_request(path))->body;
    json::Reader in(text);
    std::map<std::string, std::string> data;
    json::read_members(in, "data", data);
    ASSERT_TRUE(in.finish());
    ASSERT_EQ(data.size(), 3U);
    const auto key_text = base64_decode(data.at("tls.key"));
    const auto reader = http::tls::reader_of(*key_text);
    const http::tls::KeyPtr key(PEM_read_bio_PrivateKey(reader.get(), nullptr, nullptr, nullptr));
    ASSERT_TRUE(key);
    const auto leaf = read_certificate(*base64_decode(data.at("tls.crt")));
    EXPECT_EQ(X509_check_private_key(leaf.get(), key.get()), 1);
    EXPECT_EQ(key_text->find("PRIVATE KEY"), key_text->rfind("PRIVATE KEY", key_text->size() / 2))
        << "more than one key";
    EXPECT_EQ(X509_get_extension_flags(leaf.get()) & EXFLAG_CA, 0U);
  }
}

TEST_F(RenewalTest, KeepsWhatElseARegistrationSays) {
  world.pass(kDue);
  ASSERT_TRUE(world.run());
  const auto text = world.server().call(testing::get_request(World::registrations()[0]))->body;
  EXPECT_NE(text.find(R"("service":{"name":"w"})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("timeoutSeconds":5)"), std::string::npos) << text;
}

TEST_F(RenewalTest, ReadsObjectsPastTheirManagedFields) {
  world.pass(kDue);
  testing::OddFieldsApi api(world);
  const auto done = renew_certificates(World::order(), {api, world.clock, world.place().pause});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_GT(world.writes, 0U);
}

TEST_F(RenewalTest, RepairsARegistrationThatLostTheAuthority) {
  const auto path = World::registrations()[1];
  world.server().call(testing::write_request(
      kube::Method::kPatch, path, R"({"webhooks":[{"name":"a.tangram.dev","clientConfig":{}}]})"));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.writes, 1U);
  EXPECT_TRUE(read_registration(world.server(), path)
                  ->common_authorities.contains(world.secret(kServerPath).authorities));
}

TEST_F(RenewalTest, GoesOnWithoutARegistrationThatIsGone) {
  world.pass(kDue);
  auto order = World::order();
  order.registrations.push_back("validatingwebhookconfigurations/00-tangram-quota");
  const auto done = renew_certificates(order, world.place());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->find("renewed"), 0U);
}

TEST_F(RenewalTest, WithoutASecretItWritesNothing) {
  world.server().call(testing::write_request(kube::Method::kDelete, kSchedulerPath, ""));
  const auto done = world.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kNotFound);
  EXPECT_NE(done.error().message.find("tangram-scheduler-tls"), std::string::npos);
  EXPECT_EQ(world.writes, 0U);
}

TEST_F(RenewalTest, ReplacesNoCertificateUntilKubeSchedulerHasRestarted) {
  world.pass(kDue);
  world.stuck = true;
  const auto before = world.secret(kServerPath).certificate;
  const auto client = world.secret(kSchedulerPath).certificate;
  const auto done = world.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kTimeout);
  EXPECT_EQ(done.error().message,
            "deployment tangram-scheduler: its restart is not complete after 10 min");
  EXPECT_EQ(world.secret(kServerPath).certificate, before);
  EXPECT_EQ(world.secret(kSchedulerPath).certificate, client);
  world.stuck = false;
  ASSERT_TRUE(world.run());
  EXPECT_NE(world.secret(kServerPath).certificate, before);
}

TEST_F(RenewalTest, OfTwoAtATimeOneGivesUpAndEveryStateVerifies) {
  world.pass(kDue);
  Result<std::string> second = fail(Errc::kNotFound, "it did not run");
  world.while_settling = [&] { second = world.run(); };
  const auto first = world.run();
  ASSERT_TRUE(second) << second.error().message;
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Errc::kConflict);
  EXPECT_EQ(world.secret(kServerPath).authorities.issuers_of(world.secret(kServerPath).certificate),
            world.secret(kSchedulerPath)
                .authorities.issuers_of(world.secret(kSchedulerPath).certificate));
}

TEST_F(RenewalTest, CreatesOnlyTheSecretThatIsMissing) {
  const auto server = world.secret(kServerPath);
  world.server().call(testing::write_request(kube::Method::kDelete, kSchedulerPath, ""));
  auto order = World::order();
  order.only_missing = true;
  testing::PassingApi unwatched(world.server());
  const RenewalPlace place{unwatched, world.clock, [](std::chrono::milliseconds) {}};
  const auto done = renew_certificates(order, place);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(*done, "created tangram-scheduler-tls, valid until 2026-01-31T01:00:00Z\n");
  EXPECT_EQ(world.secret(kServerPath).certificate, server.certificate);
  const auto client = world.secret(kSchedulerPath);
  const auto now = world.clock.wall();
  EXPECT_EQ(verdict(world.secret(kServerPath).authorities, client.certificate,
                    X509_PURPOSE_SSL_CLIENT, now),
            "ok");
  EXPECT_EQ(verdict(client.authorities, server.certificate, X509_PURPOSE_SSL_SERVER, now), "ok");
  const auto again = renew_certificates(order, place);
  EXPECT_EQ(*again, "both Secrets are there\n");
}

TEST_F(RenewalTest, RefusesImpossibleDays) {
  for (const int days : {0, -1, 3651}) {
    const auto done = world.run(days);
    ASSERT_FALSE(done) << days;
    EXPECT_EQ(done.error().code, Errc::kInvalidArgument);
  }
  EXPECT_EQ(world.writes, 0U);
}

TEST_F(RenewalTest, WaitsForAsLongAsItIsTold) {
  world.pass(kDue);
  auto order = World::order();
  order.settling = std::chrono::minutes(7);
  auto place = world.place();
  std::vector<std::chrono::milliseconds> waited;
  place.pause = [&, pause = place.pause](std::chrono::milliseconds time) {
    waited.push_back(time);
    pause(time);
  };
  const auto done = renew_certificates(order, place);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(waited.front(), order.settling);
}

TEST_F(RenewalTest, RefusesAnImpossibleWait) {
  for (const int seconds : {-1, 3601}) {
    auto order = World::order();
    order.settling = std::chrono::seconds(seconds);
    const auto done = renew_certificates(order, world.place());
    ASSERT_FALSE(done) << seconds;
    EXPECT_EQ(done.error().code, Errc::kInvalidArgument);
  }
}

TEST(RenewalOfLongCertificatesTest, ReplacesOnesThatAreValidForTooLong) {
  World world;
  world.install(3650);
  const auto done = world.run(30);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->find("renewed, valid until 2026-01-31T"), 0U) << *done;
  // The former authority goes with the next renewal.
  world.pass(kDue);
  const auto former = world.secret(kServerPath).authorities;
  ASSERT_TRUE(world.run(30));
  EXPECT_FALSE(world.secret(kServerPath).authorities.contains(former));
}

struct Failure {
  std::string name;
  bool applied;  ///< the write is, and the answer is lost
  hours later;   ///< until the next run
};

class RenewalFailureTest : public ::testing::TestWithParam<Failure> {};

TEST_P(RenewalFailureTest, VerifiesAfterAFailureAtEachWriteAndGoesOn) {
  bool reached = true;
  std::size_t at = 0;
  for (; reached; ++at) {
    World world;
    world.install();
    world.pass(kDue);
    world.fail_at = at;
    world.applied = GetParam().applied;
    const auto broken = world.run();
    reached = !broken;
    world.fail_at.reset();
    if (GetParam().later.count() > 0) world.pass(GetParam().later);
    const auto repaired = world.run();
    ASSERT_TRUE(repaired) << at << ": " << repaired.error().message;
    world.pass(kDue);
    const auto next = world.run();
    ASSERT_TRUE(next) << at << ": " << next.error().message;
    ASSERT_EQ(next->find("renewed"), 0U) << at;
    EXPECT_EQ(count(world.secret(kServerPath).authorities), 2U) << at;
    if (HasFailure()) return;
  }
  // Two registrations and two Secrets, twice, and the restart; then a run without failure.
  EXPECT_EQ(at, 10U);
}

INSTANTIATE_TEST_SUITE_P(Failures, RenewalFailureTest,
                         ::testing::Values(Failure{"NotSentAndTriedAtOnce", false, hours(0)},
                                           Failure{"NotSentAndTriedTomorrow", false, kDay},
                                           Failure{"NoAnswerAndTriedAtOnce", true, hours(0)},
                                           Failure{"NoAnswerAndTriedTomorrow", true, kDay}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tangram::extender
