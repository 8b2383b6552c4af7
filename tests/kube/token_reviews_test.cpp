// Who may read a path, by the API server's answers.

#include "kube/token_reviews.hpp"

#include "tests/testing/builders.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/kube_scripted_api.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::kube {
namespace {

using testing::json_at;
using Access = TokenReviews::Access;
using Standing = TokenReviews::Standing;

constexpr const char* kUser =
    R"({"status":{"authenticated":true,"user":{"username":"system:serviceaccount:monitoring:p",)"
    R"("uid":"u1","groups":["system:authenticated"],"extra":{"k/x":["v","w"]}}}})";
constexpr const char* kNobody = R"({"status":{"error":"invalid bearer token"}})";
constexpr const char* kYes = R"({"status":{"allowed":true}})";
constexpr const char* kNo = R"({"status":{"allowed":false,"reason":"RBAC: none"}})";

class TokenReviewsTest : public ::testing::Test {
 protected:
  void will_allow() {
    api_.will_answer(201, kUser);
    api_.will_answer(201, kYes);
  }

  Access review(const std::string& token, const std::string& path = "/metrics",
                const std::string& address = "") {
    return reviews_.review({.token = token, .path = path, .address = address});
  }
  Standing standing(const std::string& token, const std::string& path = "/metrics",
                    const std::string& address = "") {
    return reviews_.standing({.token = token, .path = path, .address = address});
  }
  /// Uses up what unknown tokens may review now.
  void flood() {
    for (int i = 0; i < TokenReviews::kBurst; ++i) {
      api_.will_answer(201, kNobody);
      ASSERT_EQ(review("bad-" + std::to_string(i)), Access::kUnauthenticated);
    }
    ASSERT_EQ(review("bad"), Access::kUnknown);
  }

  testing::ScriptedApi api_;
  testing::ManualClock clock_;
  TokenReviews reviews_{api_, clock_};
};

TEST_F(TokenReviewsTest, AskWhoItIsAndWhetherTheUserMayGetThePath) {
  will_allow();
  EXPECT_EQ(review("to\"ken", "/metrics"), Access::kAllowed);
  ASSERT_EQ(api_.calls().size(), 2U);
  EXPECT_EQ(api_.calls()[0].path, "/apis/authentication.k8s.io/v1/tokenreviews");
  EXPECT_EQ(json_at(api_.calls()[0].body, "spec.token"), "to\"ken");
  EXPECT_EQ(api_.calls()[1].path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
  EXPECT_EQ(api_.calls()[1].body,
            R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{)"
            R"("user":"system:serviceaccount:monitoring:p","uid":"u1",)"
            R"("groups":["system:authenticated"],"extra":{"k/x":["v","w"]},)"
            R"("nonResourceAttributes":{"path":"/metrics","verb":"get"}}})");
}

TEST_F(TokenReviewsTest, RememberYesForThisTokenAndPath) {
  will_allow();
  ASSERT_EQ(review("t"), Access::kAllowed);
  EXPECT_EQ(standing("t"), Standing::kTrusted);
  EXPECT_EQ(review("t"), Access::kAllowed);
  EXPECT_EQ(api_.calls().size(), 2U);
  EXPECT_EQ(standing("t", "/metrics/cards"), Standing::kNew);
  EXPECT_EQ(standing("u"), Standing::kNew);
}

TEST_F(TokenReviewsTest, RenewYesBeforeItExpires) {
  const auto short_of = [](auto time) { return time - std::chrono::milliseconds(1); };
  const struct {
    std::chrono::milliseconds age;
    Standing standing;
  } rows[] = {{short_of(TokenReviews::kRenewAfter), Standing::kTrusted},
              {TokenReviews::kRenewAfter, Standing::kAgeing},
              {short_of(TokenReviews::kTrust), Standing::kAgeing},
              {TokenReviews::kTrust, Standing::kKept},
              {short_of(TokenReviews::kKept), Standing::kKept}};
  for (const auto& row : rows) {
    will_allow();
    ASSERT_EQ(review("t"), Access::kAllowed);
    clock_.advance(row.age);
    EXPECT_EQ(standing("t"), row.standing) << row.age.count();
    if (row.standing == Standing::kTrusted) clock_.advance(TokenReviews::kTrust - row.age);
  }
  const std::size_t calls = api_.calls().size();
  will_allow();
  ASSERT_EQ(review("t"), Access::kAllowed);
  EXPECT_EQ(api_.calls().size(), calls + 2) << "it is reviewed, whatever is kept";
  EXPECT_EQ(standing("t"), Standing::kTrusted);
  clock_.advance(TokenReviews::kKept);
  EXPECT_EQ(standing("t"), Standing::kNew);
}

TEST_F(TokenReviewsTest, ForgetYesOnceTheAnswerIsNo) {
  for (const auto age : {TokenReviews::kRenewAfter, TokenReviews::kTrust}) {
    will_allow();
    ASSERT_EQ(review("t"), Access::kAllowed);
    clock_.advance(age);
    api_.will_answer(201, kNobody);
    EXPECT_EQ(review("t"), Access::kUnauthenticated);
    EXPECT_EQ(standing("t"), Standing::kNew);
    flood();
    EXPECT_EQ(review("t"), Access::kUnknown);
    clock_.advance(std::chrono::minutes(1));
  }
}

TEST_F(TokenReviewsTest, UnknownTokensDoNotKeepKnownOnesFromReviews) {
  will_allow();
  ASSERT_EQ(review("good"), Access::kAllowed);
  for (const auto age : {TokenReviews::kRenewAfter, TokenReviews::kTrust}) {
    clock_.advance(age);
    flood();
    will_allow();
    EXPECT_EQ(review("good"), Access::kAllowed);
    EXPECT_EQ(standing("good"), Standing::kTrusted);
  }
}

TEST_F(TokenReviewsTest, ANewTokenOfAKnownAddressIsReviewedBesideUnknownOnes) {
  will_allow();
  ASSERT_EQ(review("old", "/metrics", "10.0.0.1"), Access::kAllowed);
  clock_.advance(TokenReviews::kTrust);
  flood();
  EXPECT_EQ(standing("new", "/metrics", "10.0.0.2"), Standing::kNew);
  EXPECT_EQ(review("new", "/metrics", "10.0.0.2"), Access::kUnknown);
  EXPECT_EQ(standing("new", "/metrics", "10.0.0.1"), Standing::kKnown);
  will_allow();
  EXPECT_EQ(review("new", "/metrics", "10.0.0.1"), Access::kAllowed);
  api_.will_answer(201, kNobody);
  EXPECT_EQ(review("forged", "/metrics", "10.0.0.1"), Access::kUnauthenticated)
      << "the address decides about the budget alone";
}

TEST_F(TokenReviewsTest, UnknownTokensOfAKnownAddressDoNotKeepItsTokenFromReviews) {
  will_allow();
  ASSERT_EQ(review("good", "/metrics", "10.0.0.1"), Access::kAllowed);
  clock_.advance(TokenReviews::kTrust);
  for (int i = 0; i < TokenReviews::kBurst; ++i) {
    api_.will_answer(201, kNobody);
    ASSERT_EQ(review("bad-" + std::to_string(i), "/metrics", "10.0.0.1"), Access::kUnauthenticated);
  }
  ASSERT_EQ(review("bad", "/metrics", "10.0.0.1"), Access::kUnknown);
  will_allow();
  EXPECT_EQ(review("good", "/metrics", "10.0.0.1"), Access::kAllowed);
  EXPECT_EQ(standing("good"), Standing::kTrusted);
}

TEST_F(TokenReviewsTest, KeepYesForFiveMinutesWhileNoReviewHasAnOutcome) {
  will_allow();
  ASSERT_EQ(review("good"), Access::kAllowed);
  clock_.advance(TokenReviews::kKept - std::chrono::milliseconds(1));
  api_.will_answer(503, "");
  EXPECT_EQ(review("good"), Access::kAllowed);
  EXPECT_EQ(standing("good"), Standing::kKept) << "that was no new yes";
  for (int i = 0; i < TokenReviews::kBurst; ++i) {
    api_.will_answer(503, "");
    (void)review("good");
  }
  const std::size_t calls = api_.calls().size();
  EXPECT_EQ(review("good"), Access::kAllowed) << "its own budget is used up";
  EXPECT_EQ(api_.calls().size(), calls);
  clock_.advance(std::chrono::milliseconds(1));
  api_.will_answer(503, "");
  EXPECT_EQ(review("good"), Access::kUnknown);
}

TEST_F(TokenReviewsTest, AskAgainAboutWhoeverWasRefused) {
  api_.will_answer(201, kNobody);
  EXPECT_EQ(review("t", "/metrics"), Access::kUnauthenticated);
  api_.will_answer(201, kUser);
  api_.will_answer(201, kNo);
  EXPECT_EQ(review("t", "/metrics"), Access::kForbidden);
  will_allow();
  EXPECT_EQ(review("t", "/metrics"), Access::kAllowed);
}

TEST_F(TokenReviewsTest, TakeNothingForYesThatIsNotAYes) {
  const std::string denied = R"({"status":{"allowed":true,"denied":true}})";
  const std::string no_name = R"({"status":{"authenticated":true,"user":{"groups":["g"]}}})";
  api_.will_answer(201, kUser);
  api_.will_answer(201, denied);
  EXPECT_EQ(review("t", "/metrics"), Access::kForbidden);
  api_.will_answer(201, no_name);
  EXPECT_EQ(review("t", "/metrics"), Access::kUnauthenticated);
  for (const std::string body : {"", "{", "[]", R"({"status":{"authenticated":"true"}})"}) {
    api_.will_answer(201, body);
    EXPECT_EQ(review("t", "/metrics"), Access::kUnknown) << body;
  }
  api_.will_answer(403, R"({"kind":"Status"})");
  EXPECT_EQ(review("t", "/metrics"), Access::kUnknown);
  api_.will_answer(fail(Errc::kTimeout, "no answer"));
  EXPECT_EQ(review("t", "/metrics"), Access::kUnknown);
  EXPECT_EQ(standing("t"), Standing::kNew);
}

TEST_F(TokenReviewsTest, AskTheApiServerSeldomHoweverManyTokensCome) {
  will_allow();
  ASSERT_EQ(review("good", "/metrics"), Access::kAllowed);
  for (int i = 1; i < TokenReviews::kBurst; ++i) {
    api_.will_answer(201, kNobody);
    EXPECT_EQ(review("bad-" + std::to_string(i), "/metrics"), Access::kUnauthenticated);
  }
  const std::size_t calls = api_.calls().size();
  EXPECT_EQ(review("worse", "/metrics"), Access::kUnknown);
  EXPECT_EQ(review("good", "/metrics"), Access::kAllowed);
  EXPECT_EQ(api_.calls().size(), calls);
  clock_.advance(std::chrono::seconds(1));
  api_.will_answer(201, kNobody);
  EXPECT_EQ(review("worse", "/metrics"), Access::kUnauthenticated);
}

TEST_F(TokenReviewsTest, ForgetTheOldestOfTooMany) {
  for (std::size_t i = 0; i <= TokenReviews::kRemembered; ++i) {
    clock_.advance(std::chrono::milliseconds(200));
    will_allow();
    ASSERT_EQ(review("t" + std::to_string(i), "/metrics"), Access::kAllowed) << i;
  }
  EXPECT_EQ(standing("t0"), Standing::kNew);
  EXPECT_EQ(standing("t1"), Standing::kAgeing);
}

}  // namespace
}  // namespace tangram::kube
