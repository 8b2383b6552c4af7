// The webhook over HTTP, as the API server calls it.

#include "extender/admission/review.hpp"
#include "extender/admission/service.hpp"
#include "tests/extender/admission/reviews.hpp"
#include "tests/http/fixture.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace tangram::extender {
namespace {

using testing::json_of;
using testing::review_text;
using testing::shipped_settings;
using testing::Verdict;
using testing::verdict_in;

class AdmissionHttpTest : public ::testing::Test {
 protected:
  AdmissionHttpTest() {
    add_admission_routes(router_, service_);
    auto options = http::local_options();
    options.clock = &clock_;
    server_ = http::serve(
        [this](http::Request request, http::Responder responder) {
          ask(std::move(request), std::move(responder));
        },
        options);
  }

  void ask(http::Request request, http::Responder responder) {
    router_(std::move(request), std::move(responder));
  }

  http::Reply post(const std::string& path, const std::string& body) {
    return http::reply_of(http::client_of(*server_).request("POST", path, body));
  }

  std::vector<std::string> done() {
    const std::scoped_lock lock(mutex_);
    return done_;
  }

  testing::ManualClock clock_;

 private:
  void note(const AdmissionService::Done& done) {
    const std::scoped_lock lock(mutex_);
    done_.push_back(std::string(to_string(done.call)) + " " + std::string(to_string(done.outcome)));
  }

  std::mutex mutex_;
  std::vector<std::string> done_;
  http::Router router_;
  AdmissionService service_{shipped_settings(), clock_,
                            [this](const AdmissionService::Done& done) { note(done); }};
  std::unique_ptr<http::Server> server_;
};

std::string pod(const std::string& fraction) {
  return json_of("metadata: {name: a, annotations: {tangram.dev/gpu-fraction: \"" + fraction +
                 "\"}}\nspec: {containers: [{name: main}]}");
}

TEST_F(AdmissionHttpTest, PatchesAndJudgesOverHttp) {
  // The API server adds its time-out to the path.
  const auto patched = post("/admission/mutate?timeout=5s", review_text({.object = pod("0.5")}));
  EXPECT_EQ(patched.status, 200);
  EXPECT_EQ(patched.header("content-type"), "application/json");
  EXPECT_EQ(verdict_in(patched.body).uid, "7f0c");
  EXPECT_NE(verdict_in(patched.body).patch, "");

  const auto refused = post("/admission/validate?timeout=5s", review_text({.object = pod("5")}));
  EXPECT_EQ(refused.status, 200);
  EXPECT_FALSE(verdict_in(refused.body).allowed);

  const auto allowed = post("/admission/validate", review_text({.resource = "secrets"}));
  EXPECT_TRUE(verdict_in(allowed.body).allowed);
  EXPECT_EQ(done(),
            (std::vector<std::string>{"mutate patched", "validate refused", "validate allowed"}));
}

TEST_F(AdmissionHttpTest, BeginsNoReviewWhoseCallerHasGivenUp) {
  const auto status_after = [&](std::chrono::milliseconds time, std::string timeout) {
    http::Request request;
    request.method = "POST";
    request.path = "/admission/validate";
    request.query["timeout"] = std::move(timeout);
    request.body = review_text({.object = pod("0.5")});
    request.arrived = clock_.now();
    clock_.advance(time);
    int status = 0;
    ask(std::move(request),
        http::Responder([&](const http::Response& response) { status = response.status; }));
    return status;
  };
  EXPECT_EQ(status_after(std::chrono::milliseconds(1'999), "2s"), 200);
  EXPECT_EQ(status_after(std::chrono::seconds(2), "2s"), 503);
  for (const char* timeout : {"", "30s", "1m0s", "s", "-1s"}) {
    EXPECT_EQ(status_after(std::chrono::milliseconds(4'999), timeout), 200) << timeout;
    EXPECT_EQ(status_after(std::chrono::seconds(5), timeout), 503) << timeout;
  }
  EXPECT_EQ(done()[1], "validate late");
}

TEST_F(AdmissionHttpTest, KnowsWhenARequestArrived) {
  clock_.advance(std::chrono::hours(1));
  const auto reply = post("/admission/mutate?timeout=1s", review_text({.object = pod("0.5")}));
  EXPECT_EQ(reply.status, 200);
}

TEST_F(AdmissionHttpTest, RefusesWhatIsNoReviewWithASentence) {
  for (const char* body : {"", "garbage", "{}", R"({"kind":"Pod"})"}) {
    const auto reply = post("/admission/validate", body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_EQ(reply.body.rfind("no AdmissionReview that can be read: ", 0), 0U) << reply.body;
  }
  EXPECT_EQ(done(), std::vector<std::string>(4, "validate unreadable"));
}

/// Of a pod whose containers' variables are more values than are read.
std::string too_many_values() {
  std::string env = R"({"name":"a"})";
  for (int i = 0; i < 400'000; ++i) env += R"(,{"name":"a"})";
  return R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"main","env":[)" + env + "]}]}}";
}

TEST_F(AdmissionHttpTest, RefusesAReviewThatItCannotRead) {
  // An HTTP error would admit the object where the registration has failurePolicy: Ignore.
  const std::string pod = too_many_values();
  for (const char* path :
       {"/admission/mutate", "/admission/mutate/memory-limits/driver", "/admission/validate",
        "/admission/validate/hidden", "/admission/validate/counted/gpu-milli"}) {
    const auto reply = post(path, review_text({.object = pod}));
    ASSERT_EQ(reply.status, 200) << path << " " << reply.body;
    const auto verdict = verdict_in(reply.body);
    EXPECT_EQ(verdict.uid, "7f0c");
    EXPECT_FALSE(verdict.allowed);
    EXPECT_NE(verdict.message.find("too large: more than 1048576 values are to be read"),
              std::string::npos)
        << verdict.message;
  }
  const std::string changes = review_text(
      {.operation = "UPDATE", .object = R"({"metadata":{"name":7},"spec":{}})", .old_object = pod});
  EXPECT_FALSE(verdict_in(post("/admission/validate", changes).body).allowed);
  EXPECT_EQ(done().back(), "validate unreadable");
}

struct Sent {
  std::string review;
  const char* origin;
};

/// Sends each review while those before have their memory.
/// @returns the last one's answer
Verdict last_answer(const std::vector<Sent>& reviews) {
  const testing::ManualClock clock;
  std::size_t sent = 0;
  std::optional<Verdict> last;
  std::function<void()> send_next = [] {};
  const AdmissionService service(shipped_settings(), clock,
                                 [&](const AdmissionService::Done&) { send_next(); });
  send_next = [&] {
    if (sent == reviews.size()) return;
    const Sent& next = reviews[sent++];
    const http::Response answer = service.mutate(next.review, {.origin = next.origin});
    if (!last) last = verdict_in(answer.body);
  };
  send_next();
  return *last;
}

/// A review whose text may take as much memory as any.
std::string large_review() {
  return review_text({.object = R"({"metadata":{"name":"a","managedFields":")" +
                                std::string(1'500'000, 'x') + R"("},"spec":{}})"});
}

TEST(BusyAdmissionTest, RefusesALargeReviewOfAnAddressThatHasHalfOfTheMemory) {
  const std::string large = large_review();
  const std::size_t fit = AdmissionService::kReadingMemory / 2 / most_memory_to_read(large.size());
  std::vector<Sent> reviews(fit, {large, "10.0.0.1"});
  EXPECT_TRUE(last_answer(reviews).allowed);
  reviews.push_back({large, "10.0.0.1"});
  const Verdict refused = last_answer(reviews);
  EXPECT_EQ(refused.uid, "7f0c");
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.reason, "TooManyRequests");
  EXPECT_NE(refused.message.find("; try again"), std::string::npos) << refused.message;

  reviews.back() = {large, "10.0.0.2"};
  EXPECT_TRUE(last_answer(reviews).allowed) << "of another address";
  reviews.back() = {review_text({.object = pod("0.5")}), "10.0.0.1"};
  EXPECT_TRUE(last_answer(reviews).allowed) << "a small one";
}

TEST(BusyAdmissionTest, OneAddressHasMemoryForTheLargestReview) {
  EXPECT_LE(most_memory_to_read(kLargestReview), AdmissionService::kReadingMemory / 2);
}

TEST_F(AdmissionHttpTest, HasAPathForEachKindOfQuota) {
  const std::string with_slot = json_of(
      "metadata: {name: a, annotations: {tangram.dev/gpu-fraction: \"0.5\"}}\n"
      "spec: {containers: [{name: main, resources: "
      "{limits: {tangram.dev/gpu-slot: 1, tangram.dev/gpu-milli: 500}}}]}");
  const std::string review = review_text({.object = with_slot});
  const auto allowed = [&](const std::string& below) {
    return verdict_in(post("/admission/validate" + below, review).body).allowed;
  };
  EXPECT_TRUE(allowed(""));
  EXPECT_TRUE(allowed("/counted/gpu-milli"));
  EXPECT_FALSE(allowed("/counted/gpu-mem-mib"));
  EXPECT_FALSE(allowed("/counted/gpu-milli/gpu-mem-mib"));
  EXPECT_EQ(post("/admission/validate/counted/gpu-slot", review).status, 404);
}

TEST_F(AdmissionHttpTest, HasAPathForNamespacesWhoseContainersSeeNoCard) {
  const std::string review =
      review_text({.object = json_of("metadata: {name: a}\nspec: {containers: [{name: main}]}")});
  EXPECT_TRUE(verdict_in(post("/admission/validate", review).body).allowed);
  EXPECT_FALSE(verdict_in(post("/admission/validate/hidden", review).body).allowed);
}

TEST_F(AdmissionHttpTest, ADryRunIsAnsweredLikeAnyOther) {
  std::string dry = review_text({.object = pod("0.5")});
  const std::string real = dry;
  dry.replace(dry.find("\"dryRun\":false"), 14, "\"dryRun\":true");
  EXPECT_EQ(post("/admission/mutate", dry).body, post("/admission/mutate", real).body);
}

}  // namespace
}  // namespace tangram::extender
