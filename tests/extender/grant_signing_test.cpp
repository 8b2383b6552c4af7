// Grants that the whole service signs, and those that others forge.

#include "base/base64.hpp"
#include "base/ed25519.hpp"
#include "base/file.hpp"
#include "tests/extender/app_rig.hpp"
#include "tests/testing/exposition.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::extender {
namespace {

using testing::eventually;
using testing::Exposition;

model::Signer signer(const SigningKey& key) {
  return [key](std::string_view text) { return base64_encode(key.sign(text)); };
}

/// Nodes a and b with two cards each, and the files of two keys, of which the first is in use.
class GrantSigningTest : public ::testing::Test {
 protected:
  GrantSigningTest() {
    cluster_.add_node("a", 2);
    cluster_.add_node("b", 2);
    std::filesystem::create_directory(public_folder());
    know("1.pub", first_);
    sign_with(first_);
    config_.grants.signing_key = private_file();
    config_.grants.public_keys = public_folder();
  }
  [[nodiscard]] std::string public_folder() const { return folder_.path() + "/public"; }
  [[nodiscard]] std::string private_file() const { return folder_.path() + "/grant.key"; }
  void know(const std::string& name, const SigningKey& key) const {
    ASSERT_TRUE(replace_file(public_folder() + "/" + name, key.verifying_key().to_pem()));
  }
  void sign_with(const SigningKey& key) const {
    ASSERT_TRUE(replace_file(private_file(), key.to_pem()));
  }

  /// With a slot. @returns its UID
  std::string add_pod(const std::string& name, const std::string& fraction) {
    testing::PodText pod;
    pod.name = name;
    pod.annotations = {{"tangram.dev/gpu-fraction", fraction}};
    pod.limits = {{"tangram.dev/gpu-slot", "1"}};
    const auto made = cluster_.ask(testing::write_request(
        kube::Method::kPost, "/api/v1/namespaces/ml/pods", testing::pod_json(pod)));
    return testing::json_at(made.body, "metadata.uid");
  }
  void serve() { app_ = start_synced(cluster_, config_); }
  std::string bind(const std::string& pod, const std::string& node) {
    const std::string uid = add_pod(pod, "0.5");
    if (!eventually([&] { return app_->pods().find(uid) != nullptr; })) return "not seen";
    return Caller(app_->port()).bind(pod, uid, node);
  }
  /// The extender writes a grant that somebody has changed anew, within 0.1 s. It cannot while it
  /// does not read the pod.
  void leave_changed(const std::string& pod) {
    cluster_.api.plan().add({.match = testing::read_of(pod), .fault = {}});
  }
  /// A pod that its author has bound by himself, and then given a grant of all of card a-0.
  std::string forge(const std::string& name, const model::Signer& by) {
    const std::string uid = add_pod(name, "1");
    const auto done = kube::bind_pod(
        cluster_.server, {.ns = "ml", .name = name, .uid = uid, .node = "a", .annotations = {}},
        std::chrono::seconds(1));
    EXPECT_TRUE(done);
    const model::GrantedCard all{.uuid = "a-0",
                                 .memory = Mebibytes(81'920),
                                 .compute = MilliGpu(1000),
                                 .memory_limit = Mebibytes(81'920),
                                 .compute_limit = MilliGpu(1000)};
    const std::string text = model::encode_signed({.pod_uid = uid,
                                                   .node = "a",
                                                   .issued_at = "2020-01-01T00:00:00Z",
                                                   .isolation = model::Isolation::kMps,
                                                   .containers = {{"main", {all}}},
                                                   .signature = {}},
                                                  by);
    annotate(name, text);
    return uid;
  }
  void annotate(const std::string& pod, const std::string& grant) {
    std::string body;
    json::Writer out(body);
    out.begin_object().key("metadata").begin_object().key("annotations").begin_object();
    out.member("tangram.dev/gpu-grant", grant).end_object().end_object().end_object();
    cluster_.ask(testing::write_request(kube::Method::kPatch, "/api/v1/namespaces/ml/pods/" + pod,
                                        std::move(body)));
  }
  /// As kubelet says it.
  void runs(const std::string& pod) {
    cluster_.ask(testing::write_request(
        kube::Method::kPatch, "/api/v1/namespaces/ml/pods/" + pod + "/status",
        R"({"status":{"phase":"Running","containerStatuses":[{"name":"main","restartCount":0,)"
        R"("state":{"running":{}}}]}})"));
  }
  [[nodiscard]] MilliGpu granted(std::size_t card = 0) const {
    return app_->ledger().snapshot()->find("a")->use.at(card).compute;
  }
  bool shows(const std::string& series, double value) {
    return eventually([&] {
      const Exposition page(Caller(app_->port()).get("/metrics").body);
      const auto found = page.samples().find(series);
      return found != page.samples().end() && page.value(series) == value;
    });
  }
  static std::string by_key(const std::string& key) {
    return "tangram_grants_by_key{key=\"" + key + "\"}";
  }
  static std::string id(const SigningKey& key) { return key.verifying_key().id(); }

  testing::TempFolder folder_;
  const SigningKey first_ = SigningKey::generate();
  const SigningKey second_ = SigningKey::generate();
  Cluster cluster_;
  config::Config config_ = test_config();
  std::unique_ptr<App> app_;
};

TEST_F(GrantSigningTest, BindSignsWhatItGrants) {
  serve();
  ASSERT_EQ(bind("p", "a"), "");
  const std::string text = cluster_.pod("p").annotations.at("gpu-grant");
  const auto parts = model::split_signature(text);
  ASSERT_TRUE(parts) << text;
  EXPECT_TRUE(first_.verifying_key().verifies(parts->text, *base64_decode(parts->signature)));
  EXPECT_TRUE(shows(by_key(id(first_)), 1));
}

TEST_F(GrantSigningTest, WhereSignaturesAreRequiredAForgedGrantBlocksNoCard) {
  config_.grants.required = true;
  serve();
  forge("unsigned", {});
  forge("forged", signer(second_));
  EXPECT_TRUE(shows(by_key("unsigned"), 1));
  EXPECT_TRUE(shows(by_key("unknown"), 1));
  EXPECT_EQ(granted(), MilliGpu(0));
  EXPECT_TRUE(shows(R"(tangram_pod_findings{finding="GrantInvalid"})", 2));
  ASSERT_EQ(bind("honest", "a"), "");
  EXPECT_TRUE(shows(by_key(id(first_)), 1));
}

TEST_F(GrantSigningTest, WhereTheyAreNotWhateverAnAgentMayStartCounts) {
  serve();
  forge("unsigned", {});
  EXPECT_TRUE(eventually([&] { return granted() == MilliGpu(1000); }));
  forge("forged", signer(second_));
  EXPECT_TRUE(eventually([&] { return granted() == MilliGpu(2000); })) << "counted as it is";
  EXPECT_TRUE(shows(by_key("unsigned"), 1));
  EXPECT_TRUE(shows(by_key("unknown"), 1));
}

TEST_F(GrantSigningTest, WhereTheyAreNotASignedGrantStaysThough) {
  serve();
  ASSERT_EQ(bind("p", "a"), "");
  ASSERT_TRUE(shows(by_key(id(first_)), 1));
  leave_changed("p");
  std::string text = cluster_.pod("p").annotations.at("gpu-grant");
  text.replace(text.find("\"milli\":500"), 11, "\"milli\":100");
  annotate("p", text);
  ASSERT_TRUE(shows(by_key("unknown"), 1));
  EXPECT_EQ(granted(0) + granted(1), MilliGpu(500)) << "changed by the pod's owner";
  annotate("p", text.substr(0, text.find(",\"sig\"")) + "}");
  ASSERT_TRUE(shows(by_key("unsigned"), 1));
  EXPECT_EQ(granted(0) + granted(1), MilliGpu(500)) << "replaced by one without a signature";
}

TEST_F(GrantSigningTest, AnOwnerWhoChangesHisGrantHidesNothing) {
  config_.grants.required = true;
  serve();
  ASSERT_EQ(bind("p", "a"), "");
  leave_changed("p");
  std::string text = cluster_.pod("p").annotations.at("gpu-grant");
  const MilliGpu before = granted(0) + granted(1);
  ASSERT_EQ(before, MilliGpu(500));
  text.replace(text.find("\"milli\":500"), 11, "\"milli\":001");
  annotate("p", text);
  ASSERT_TRUE(shows(R"(tangram_pod_findings{finding="GrantInvalid"})", 1));
  EXPECT_EQ(granted(0) + granted(1), before);
}

TEST_F(GrantSigningTest, NeitherDoesOneWhosePodRuns) {
  config_.grants.required = true;
  serve();
  ASSERT_EQ(bind("p", "a"), "");
  leave_changed("p");
  runs("p");
  std::string text = cluster_.pod("p").annotations.at("gpu-grant");
  text.replace(text.find("\"milli\":500"), 11, "\"milli\":100");
  annotate("p", text);
  ASSERT_TRUE(shows(by_key("unknown"), 1));
  EXPECT_EQ(granted(0) + granted(1), MilliGpu(500)) << "what was proven stays";
  annotate("p", "{");
  EXPECT_TRUE(shows(R"(tangram_pod_findings{finding="GrantInvalid"})", 1));
  EXPECT_EQ(granted(0) + granted(1), MilliGpu(500));
}

TEST_F(GrantSigningTest, WhatAnOwnerChangesIsSignedAnew) {
  config_.grants.required = true;
  serve();
  ASSERT_EQ(bind("p", "a"), "");
  annotate("p", "{");
  EXPECT_TRUE(eventually([&] {
    const std::string text = cluster_.pod("p").annotations.at("gpu-grant");
    const auto parts = model::split_signature(text);
    return parts && first_.verifying_key().verifies(parts->text, *base64_decode(parts->signature));
  }));
  EXPECT_TRUE(shows(by_key(id(first_)), 1));
  EXPECT_EQ(granted(0) + granted(1), MilliGpu(500));
}

TEST_F(GrantSigningTest, WhatRanBeforeSignaturesWereRequiredCounts) {
  forge("from-before", {});
  runs("from-before");
  config_.grants.required = true;
  serve();
  EXPECT_EQ(granted(), MilliGpu(1000));
  EXPECT_TRUE(shows(by_key("unsigned"), 1));
  EXPECT_TRUE(shows(R"(tangram_pod_findings{finding="GrantInvalid"})", 0));
}

TEST_F(GrantSigningTest, AGrantOfAKeyThatIsLearnedLaterCounts) {
  config_.grants.required = true;
  serve();
  forge("p", signer(second_));
  ASSERT_TRUE(shows(by_key("unknown"), 1));
  EXPECT_EQ(granted(), MilliGpu(0));
  know("2.pub", second_);
  EXPECT_TRUE(eventually([&] { return granted() == MilliGpu(1000); })) << "all pods are read anew";
  EXPECT_TRUE(shows(by_key(id(second_)), 1));
  EXPECT_TRUE(shows("tangram_grant_key_known{key=\"" + id(second_) + "\"}", 1));
}

TEST_F(GrantSigningTest, ANewKeyIsUsedWithoutARestart) {
  serve();
  ASSERT_EQ(bind("old", "a"), "");
  // In this order a key that is known signs: both files may be read between the two lines.
  sign_with(second_);
  know("2.pub", second_);
  ASSERT_TRUE(shows("tangram_grant_key_known{key=\"" + id(second_) + "\"}", 1));
  ASSERT_EQ(bind("new", "b"), "");
  EXPECT_TRUE(shows(by_key(id(first_)), 1));
  EXPECT_TRUE(shows(by_key(id(second_)), 1));
}

TEST_F(GrantSigningTest, ABrokenKeyFileIsToldAndChangesNothing) {
  serve();
  EXPECT_TRUE(shows("tangram_grant_keys_stale", 0));
  ASSERT_TRUE(replace_file(private_file(), "nonsense"));
  EXPECT_TRUE(shows("tangram_grant_keys_stale", 1));
  ASSERT_EQ(bind("p", "a"), "");
  EXPECT_TRUE(shows(by_key(id(first_)), 1));
}

TEST_F(GrantSigningTest, WithoutItsKeysItDoesNotStart) {
  std::filesystem::remove(private_file());
  const auto app =
      App::create(config_, {.api = cluster_.api, .clock = cluster_.clock, .replica = std::nullopt});
  ASSERT_FALSE(app);
  EXPECT_NE(app.error().message.find(private_file()), std::string::npos) << app.error().message;
}

}  // namespace
}  // namespace tangram::extender
