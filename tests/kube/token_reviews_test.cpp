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

  testing::ScriptedApi api_;
  testing::ManualClock clock_;
  TokenReviews reviews_{api_, clock_};
};

TEST_F(TokenReviewsTest, AskWhoItIsAndWhetherTheUserMayGetThePath) {
  will_allow();
  EXPECT_EQ(reviews_.review("to\"ken", "/metrics"), Access::kAllowed);
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

TEST_F(TokenReviewsTest, RememberYesForAMinuteForThisTokenAndPath) {
  will_allow();
  ASSERT_EQ(reviews_.review("t", "/metrics"), Access::kAllowed);
  clock_.advance(TokenReviews::kTrust - std::chrono::milliseconds(1));
  EXPECT_TRUE(reviews_.remembers("t", "/metrics"));
  EXPECT_EQ(reviews_.review("t", "/metrics"), Access::kAllowed);
  EXPECT_EQ(api_.calls().size(), 2U);
  EXPECT_FALSE(reviews_.remembers("t", "/metrics/cards"));
  EXPECT_FALSE(reviews_.remembers("u", "/metrics"));
  clock_.advance(std::chrono::milliseconds(1));
  EXPECT_FALSE(reviews_.remembers("t", "/metrics"));
  api_.will_answer(201, kNobody);
  EXPECT_EQ(reviews_.review("t", "/metrics"), Access::kUnauthenticated);
}

TEST_F(TokenReviewsTest, AskAgainAboutWhoeverWasRefused) {
  api_.will_answer(201, kNobody);
  EXPECT_EQ(reviews_.review("t", "/metrics"), Access::kUnauthenticated);
  api_.will_answer(201, kUser);
  api_.will_answer(201, kNo);
  EXPECT_EQ(reviews_.review("t", "/metrics"), Access::kForbidden);
  will_allow();
  EXPECT_EQ(reviews_.review("t", "/metrics"), Access::kAllowed);
}

TEST_F(TokenReviewsTest, TakeNothingForYesThatIsNotAYes) {
  const std::string denied = R"({"status":{"allowed":true,"denied":true}})";
  const std::string no_name = R"({"status":{"authenticated":true,"user":{"groups":["g"]}}})";
  api_.will_answer(201, kUser);
  api_.will_answer(201, denied);
  EXPECT_EQ(reviews_.review("t", "/metrics"), Access::kForbidden);
  api_.will_answer(201, no_name);
  EXPECT_EQ(reviews_.review("t", "/metrics"), Access::kUnauthenticated);
  for (const std::string body : {"", "{", "[]", R"({"status":{"authenticated":"true"}})"}) {
    api_.will_answer(201, body);
    EXPECT_EQ(reviews_.review("t", "/metrics"), Access::kUnknown) << body;
  }
  api_.will_answer(403, R"({"kind":"Status"})");
  EXPECT_EQ(reviews_.review("t", "/metrics"), Access::kUnknown);
  api_.will_answer(fail(Errc::kTimeout, "no answer"));
  EXPECT_EQ(reviews_.review("t", "/metrics"), Access::kUnknown);
  EXPECT_FALSE(reviews_.remembers("t", "/metrics"));
}

TEST_F(TokenReviewsTest, AskTheApiServerSeldomHoweverManyTokensCome) {
  will_allow();
  ASSERT_EQ(reviews_.review("good", "/metrics"), Access::kAllowed);
  for (int i = 1; i < TokenReviews::kBurst; ++i) {
    api_.will_answer(201, kNobody);
    EXPECT_EQ(reviews_.review("bad-" + std::to_string(i), "/metrics"), Access::kUnauthenticated);
  }
  const std::size_t calls = api_.calls().size();
  EXPECT_EQ(reviews_.review("worse", "/metrics"), Access::kUnknown);
  EXPECT_EQ(reviews_.review("good", "/metrics"), Access::kAllowed);
  EXPECT_EQ(api_.calls().size(), calls);
  clock_.advance(std::chrono::seconds(1));
  api_.will_answer(201, kNobody);
  EXPECT_EQ(reviews_.review("worse", "/metrics"), Access::kUnauthenticated);
}

TEST_F(TokenReviewsTest, ForgetTheOldestOfTooMany) {
  for (std::size_t i = 0; i <= TokenReviews::kRemembered; ++i) {
    clock_.advance(std::chrono::milliseconds(200));
    will_allow();
    ASSERT_EQ(reviews_.review("t" + std::to_string(i), "/metrics"), Access::kAllowed) << i;
  }
  EXPECT_FALSE(reviews_.remembers("t0", "/metrics"));
  EXPECT_TRUE(reviews_.remembers("t1", "/metrics"));
}

}  // namespace
}  // namespace tangram::kube
