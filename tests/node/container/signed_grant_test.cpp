// What a container's start asks of a grant's signature.

#include "base/base64.hpp"
#include "base/ed25519.hpp"
#include "kube/grant_keys.hpp"
#include "tests/node/container/start_rig.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using Owner = StartRig::Owner;

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

model::Signer signer(const SigningKey& key) {
  return [key](std::string_view text) { return base64_encode(key.sign(text)); };
}

/// An agent that knows the extender's key, and asks for it.
class SignedGrantTest : public ::testing::Test {
 protected:
  SignedGrantTest() {
    EXPECT_TRUE(replace_file(key_file(), extender.verifying_key().to_pem()));
    keys = *kube::GrantKeys::open({.known = key_file()});
    require(true);
  }
  [[nodiscard]] std::string key_file() const { return rig.folder.path() + "/grant.pub"; }
  void require(bool required) { rig.check = kube::signature_check(*keys, required); }

  /// @returns the answer to kubelet; "" = started
  std::string start(const Owner& owner) {
    if (rig.kubelet.device_of(owner).empty()) {
      EXPECT_EQ(rig.kubelet.admit(owner), "");
    }
    return rig.kubelet.start_container(owner);
  }
  Owner bound(const std::string& name, const model::Signer& by,
              const std::string& issued_at = "2026-01-01T00:00:00Z",
              const model::GrantedCard& card = part("GPU-1", 10, 100)) {
    return rig.bound(name, {card}, issued_at, by);
  }
  [[nodiscard]] std::string text_of(const Owner& owner) const {
    return rig.pods.find(owner.uid)->grant_text;
  }

  StartRig rig;
  const SigningKey extender = SigningKey::generate();
  const SigningKey unknown_key = SigningKey::generate();
  std::unique_ptr<kube::GrantKeys> keys;
};

TEST_F(SignedGrantTest, WhatTheExtenderSignedStarts) {
  const Owner a = bound("a", signer(extender));
  EXPECT_EQ(start(a), "");
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
}

TEST_F(SignedGrantTest, AnUnsignedGrantIsRefusedAndExplained) {
  const Owner a = bound("a", {});
  const std::string answer = start(a);
  EXPECT_TRUE(says(answer,
                   "tangram: cannot start: the annotation tangram.dev/gpu-grant is not "
                   "signed, and here only signed grants count; delete the pod and create it "
                   "again"))
      << answer;
  EXPECT_EQ(rig.cards_of(a), "-");
  require(false);
  EXPECT_EQ(start(bound("a", {})), "");
}

TEST_F(SignedGrantTest, AStrangersIsRefused) {
  const Owner a = bound("a", signer(unknown_key));
  EXPECT_TRUE(says(
      start(a), "is not signed by a key that counts here (" + extender.verifying_key().id() + ")"));
  EXPECT_EQ(rig.cards_of(a), "-");
}

TEST_F(SignedGrantTest, ACopiedOneIsRefused) {
  const Owner honest = bound("honest", signer(extender));
  rig.put_pod("thief", text_of(honest));
  EXPECT_TRUE(says(start({.uid = "uid-thief", .pod = "thief"}), "was issued to another pod"));
}

TEST_F(SignedGrantTest, AChangedOneIsRefused) {
  const Owner a = bound("a", signer(extender));
  const std::string good = text_of(a);
  const std::vector<std::pair<std::string, std::string>> changes{
      {"GPU-1", "GPU-2"},
      {"\"memMiB\":10", "\"memMiB\":01"},
      {"\"memMiB\":10", "\"memMiB\":11"},
      {"\"milli\":100", "\"milli\":900"},
      {"2026", "2025"},
      {"\"mps\"", "\"none\""},
      {"\"name\":\"main\"", "\"name\":\"main2\""}};
  for (const auto& [from, to] : changes) {
    std::string changed = good;
    const auto at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    rig.put_pod("a", changed);
    EXPECT_TRUE(says(start(a), "tangram: cannot start")) << changed;
    EXPECT_EQ(rig.cards_of(a), "-") << changed;
  }
  rig.put_pod("a", good);
  EXPECT_EQ(start(a), "");
}

TEST_F(SignedGrantTest, AForgedEarlierGrantPushesNobodyOut) {
  const auto whole = part("GPU-1", 81'920, 1000);
  bound("unsigned", {}, "2020-01-01T00:00:00Z", whole);
  bound("foreign", signer(unknown_key), "2020-01-01T00:00:00Z", whole);
  const Owner honest = bound("honest", signer(extender), "2026-01-01T00:00:00Z", whole);
  EXPECT_EQ(start(honest), "");
}

TEST_F(SignedGrantTest, WhereNoneIsRequiredItWould) {
  require(false);
  const auto whole = part("GPU-1", 81'920, 1000);
  bound("unsigned", {}, "2020-01-01T00:00:00Z", whole);
  const Owner honest = bound("honest", signer(extender), "2026-01-01T00:00:00Z", whole);
  EXPECT_TRUE(says(start(honest), "has no room for this pod beside earlier grants"));
}

TEST_F(SignedGrantTest, WhatRunsStartsAgainWhateverBecomesOfItsAnnotationOrItsKey) {
  const Owner a = bound("a", signer(extender));
  const std::string good = text_of(a);
  ASSERT_EQ(start(a), "");
  rig.put_pod("a", text_of(bound("b", signer(unknown_key))));
  EXPECT_EQ(start(a), "") << "by the journal";
  // The key is replaced.
  ASSERT_TRUE(replace_file(key_file(), unknown_key.verifying_key().to_pem()));
  ASSERT_TRUE(keys->look());
  EXPECT_TRUE(rig.journal->has_admitted(good));
  EXPECT_FALSE(rig.journal->has_admitted(good + " "));
  rig.kill_agent();
  rig.boot_agent();
  rig.put_pod("a", good);
  EXPECT_EQ(start(a), "") << "after a restart of the agent";
  EXPECT_TRUE(says(start(bound("c", signer(extender))), "is not signed by a key that counts here"));
}

}  // namespace
}  // namespace tangram::node
