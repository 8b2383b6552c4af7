// Which revisions count.

#include "base/base64.hpp"
#include "base/ed25519.hpp"
#include "base/file.hpp"
#include "kube/grant_keys.hpp"
#include "tests/node/resize/resize_rig.hpp"
#include "tests/testing/log_probe.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using model::ResizeAnswer;

/// An agent that knows the extender's key, and does not require it.
class ResizerTrustTest : public ::testing::Test {
 protected:
  ResizerTrustTest() { know(extender); }
  void know(const SigningKey& key) {
    ASSERT_TRUE(replace_file(rig.folder.path() + "/grant.pub", key.verifying_key().to_pem()));
    keys = *kube::GrantKeys::open({.known = rig.folder.path() + "/grant.pub"});
    rig.check = kube::signature_check(*keys, false);
    rig.reads = rig.check;
    rig.boot();
  }
  static model::Signer by(const SigningKey& key) {
    return [key](std::string_view text) { return base64_encode(key.sign(text)); };
  }

  ResizeRig rig;
  const SigningKey extender = SigningKey::generate();
  const SigningKey other = SigningKey::generate();
  std::unique_ptr<kube::GrantKeys> keys;
  const model::Grant first = ResizeRig::grant("a", 0, {share(8192, 500)});
  const model::Grant second = ResizeRig::grant("a", 1, {share(4096, 250)});
  const model::Grant larger = ResizeRig::grant("a", 2, {share(16'384, 900)});
};

TEST_F(ResizerTrustTest, ASignedRevisionOfASignedGrantCounts) {
  rig.run("a", first, "library", by(extender));
  rig.annotate("a", second, by(extender));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerTrustTest, AForgedRevisionOfASignedGrantHasNoEffect) {
  rig.run("a", first, "library", by(extender));
  for (const model::Signer& forger : {model::Signer(), by(other)}) {
    rig.annotate("a", larger, forger);
    rig.look_twice();
    EXPECT_EQ(rig.limit("a.main"), 8192);
    EXPECT_EQ(rig.card_in_journal("a.main"), share(8192, 500));
    EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 2, kOtherGrant}));
  }
  ASSERT_EQ(rig.events.size(), 1U) << "for the revision, whoever made it";
  EXPECT_NE(rig.events[0].find("signature does not count"), std::string::npos);
  EXPECT_EQ(rig.resizer->counts().refused[3], 1U);
}

TEST_F(ResizerTrustTest, AGrantThatIsNoRevisionOfTheFirstIsRefused) {
  rig.run("a", first, "library", by(extender));
  model::Grant other_time = second;
  other_time.issued_at = "2026-06-01T00:00:00Z";
  rig.annotate("a", other_time, by(extender));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 1, kOtherGrant}));
  EXPECT_EQ(rig.limit("a.main"), 8192);
  ASSERT_EQ(rig.events.size(), 1U);
  EXPECT_NE(rig.events[0].find("is no revision"), std::string::npos);
  other_time.revision = 0;
  rig.annotate("a", other_time, by(extender));
  rig.look();
  EXPECT_EQ(rig.answer("a").applied, -1) << "no later one";
  rig.annotate("a", larger, by(extender));
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{2, 0, {}}));
}

TEST_F(ResizerTrustTest, ManyRefusalsAreNotAllLogged) {
  rig.run("a", first, "library", by(extender));
  testing::LogProbe log("is not resized");
  for (int revision = 1; revision <= 100; ++revision) {
    rig.annotate("a", ResizeRig::grant("a", revision, {share(4096, 250)}));
    rig.clock.advance(std::chrono::milliseconds(50));
    rig.resizer->look();
  }
  EXPECT_EQ(rig.resizer->counts().refused[3], 100U);
  EXPECT_EQ(log.lines().size(), 20U);
}

TEST_F(ResizerTrustTest, AnUnsignedGrantMayHaveAnUnsignedRevision) {
  rig.run("a", first);
  rig.annotate("a", second);
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerTrustTest, AfterItsKeyWasRetiredAGrantIsStillReplacedBySignedOnesOnly) {
  rig.run("a", first, "library", by(extender));
  know(other);
  rig.annotate("a", larger);
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 2, kOtherGrant}));
  rig.annotate("a", second, by(other));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerTrustTest, WithoutKeysAllTextsAreTheSame) {
  rig.check = {};
  rig.reads = {};
  rig.boot();
  rig.run("a", first, "library", by(extender));
  rig.annotate("a", second, by(other));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerTrustTest, AnOlderLargerGrantThatIsReplayedHasNoEffect) {
  rig.run("a", first, "library", by(extender));
  rig.annotate("a", second, by(extender));
  rig.look_twice();
  for (const bool restarted : {false, true}) {
    if (restarted) rig.boot();
    rig.annotate("a", first, by(extender));
    rig.look_twice();
    EXPECT_EQ(rig.limit("a.main"), 4096) << restarted;
    EXPECT_EQ(rig.card_in_journal("a.main"), share(4096, 250)) << restarted;
    EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}})) << restarted;
  }
}

TEST_F(ResizerTrustTest, AGrantThatCannotBeReadLeavesTheAnswer) {
  rig.run("a", first);
  rig.annotate("a", second);
  rig.look_twice();
  model::Grant copied = second;
  copied.pod_uid = "uid-b";
  rig.annotate("a", copied);
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

}  // namespace
}  // namespace tangram::node
