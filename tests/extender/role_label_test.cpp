#include "extender/role_label.hpp"

#include "tests/extender/rig.hpp"
#include "tests/testing/odd_fields.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::Fault;

const testing::CallMatch kPatchOfOwn{kube::Method::kPatch, "/pods/own"};
const testing::CallMatch kPatchOfOther{kube::Method::kPatch, "/pods/other"};

/// Two replicas' pods, "own" and "other".
class RoleLabelTest : public ::testing::Test {
 protected:
  RoleLabelTest() {
    for (const char* name : {"own", "other"}) rig_.add_pod(name, {});
  }
  void put_on(const std::string& pod, const std::string& role = "leader") {
    auto request =
        testing::write_request(kube::Method::kPatch, "/api/v1/namespaces/ml/pods/" + pod,
                               R"({"metadata":{"labels":{"tangram.dev/role":")" + role + R"("}}})");
    request.content_type = "application/merge-patch+json";
    rig_.ask(request);
  }
  bool labelled(const std::string& pod) {
    return rig_.read(pod).find(R"("tangram.dev/role":"leader")") != std::string::npos;
  }
  std::size_t patches(const testing::CallMatch& match) { return rig_.api.calls(match).size(); }

  Rig rig_;
  bool leads_ = true;
  std::function<bool()> leads = [this] { return leads_; };
  RoleLabel label_{
      {.api = rig_.api, .clock = rig_.clock, .ns = "ml", .pod = "own", .leads = [this] {
         return leads();
       }}};
};

TEST_F(RoleLabelTest, FollowsTheRole) {
  EXPECT_EQ(label_.step(), 100ms);
  EXPECT_TRUE(labelled("own"));
  EXPECT_EQ(label_.step(), 100ms);
  leads_ = false;
  label_.step();
  EXPECT_FALSE(labelled("own"));
  EXPECT_EQ(patches(kPatchOfOwn), 2U);
}

TEST_F(RoleLabelTest, PutsALostLabelOnAgain) {
  label_.step();
  rig_.remove_pod("other");
  auto request = testing::write_request(kube::Method::kPatch, "/api/v1/namespaces/ml/pods/own",
                                        R"({"metadata":{"labels":{"tangram.dev/role":null}}})");
  request.content_type = "application/merge-patch+json";
  rig_.ask(request);
  rig_.clock.advance(31s);
  label_.step();
  EXPECT_TRUE(labelled("own"));
}

/// Lists of pods end too early.
struct CutLists final : kube::KubeApi {
  explicit CutLists(kube::KubeApi& behind) : api(behind) {}
  Result<kube::Response> call(const kube::Request& request) override {
    auto response = api.call(request);
    if (response && request.path.ends_with("/pods")) response->body.pop_back();
    return response;
  }
  Result<kube::Response> watch(const kube::Request& request, const kube::WatchFrame& take,
                               std::stop_token stop) override {
    return api.watch(request, take, std::move(stop));
  }
  kube::KubeApi& api;
};

TEST_F(RoleLabelTest, TriesAgainWhereItCannotReadTheOtherPods) {
  put_on("other");
  CutLists cut(rig_.api);
  RoleLabel label(
      {.api = cut, .clock = rig_.clock, .ns = "ml", .pod = "own", .leads = [] { return true; }});
  EXPECT_EQ(label.step(), 1s);
  EXPECT_TRUE(labelled("own"));
}

TEST_F(RoleLabelTest, ReadsPodsPastTheirManagedFields) {
  put_on("other");
  testing::OddFieldsApi api(rig_.api);
  RoleLabel label(
      {.api = api, .clock = rig_.clock, .ns = "ml", .pod = "own", .leads = [] { return true; }});
  EXPECT_EQ(label.step(), 100ms);
  EXPECT_TRUE(labelled("own"));
  EXPECT_FALSE(labelled("other"));
}

TEST_F(RoleLabelTest, LeavesAPodThatItMayNotChange) {
  put_on("other");
  rig_.api.will_answer(kPatchOfOther, 403);
  EXPECT_EQ(label_.step(), 100ms) << "nothing is left to do";
  EXPECT_EQ(label_.step(), 100ms);
  EXPECT_EQ(patches(kPatchOfOther), 1U);
  EXPECT_TRUE(labelled("own"));
}

TEST_F(RoleLabelTest, TakesOffTheMarkOfATakeoverThatFailed) {
  leads_ = false;
  label_.step();
  put_on("own", "taking-over-1");
  rig_.clock.advance(31s);
  label_.step();
  EXPECT_EQ(rig_.read("own").find("tangram.dev/role"), std::string::npos);
}

TEST_F(RoleLabelTest, LooksAgainAtOnceWhereItsPodHasChanged) {
  rig_.api.will_answer(kPatchOfOwn, 409);
  EXPECT_EQ(label_.step(), 100ms);
  EXPECT_FALSE(labelled("own"));
  label_.step();
  EXPECT_TRUE(labelled("own"));
}

TEST_F(RoleLabelTest, PutsItOnAgainAfterAMark) {
  label_.step();
  put_on("own", "taking-over-1");
  EXPECT_EQ(label_.step(), 100ms);
  EXPECT_FALSE(labelled("own")) << "nobody has said so";
  label_.look_again(false);
  EXPECT_EQ(label_.step(), 100ms);
  EXPECT_TRUE(labelled("own"));
  label_.look_again(true);
  EXPECT_EQ(label_.step(), 1s);
  put_on("own", "taking-over-2");
  rig_.clock.advance(1s);
  label_.step();
  EXPECT_TRUE(labelled("own")) << "a mark without an answer came late";
}

TEST_F(RoleLabelTest, PutsNothingOnWhenTheRoleHasChangedWhileItRead) {
  int asked = 0;
  leads = [&] { return ++asked == 1; };
  label_.step();
  EXPECT_EQ(patches(kPatchOfOwn), 0U);
  EXPECT_FALSE(labelled("own"));
}

TEST_F(RoleLabelTest, TakesOffWhatAWriteOfItsOwnPutsOnLate) {
  rig_.api.will(kPatchOfOwn, Fault::Kind::kLoseBefore);
  EXPECT_EQ(label_.step(), 1s);
  leads_ = false;
  EXPECT_EQ(label_.step(), 1s);
  put_on("own");  // the lost write
  rig_.clock.advance(1s);
  label_.step();
  EXPECT_FALSE(labelled("own"));
  rig_.clock.advance(70s);
  label_.step();
  EXPECT_EQ(label_.step(), 100ms) << "it looks no more";
}

TEST_F(RoleLabelTest, LeavesAPodOfItsNameThatWasMadeAnew) {
  label_.step();
  leads_ = false;
  rig_.remove_pod("own");
  rig_.add_pod("own", {});
  put_on("own");
  label_.step();
  EXPECT_TRUE(labelled("own"));
}

TEST_F(RoleLabelTest, TakesItOffAtTheEndInOneAttempt) {
  label_.step();
  rig_.api.will(kPatchOfOwn, Fault::Kind::kLoseBefore);
  label_.take_off();
  EXPECT_EQ(patches(kPatchOfOwn), 2U);
  EXPECT_LE(rig_.api.calls(kPatchOfOwn).back().timeout, 1s);
  label_.take_off();
  EXPECT_FALSE(labelled("own"));
}

}  // namespace
}  // namespace tangram::extender
