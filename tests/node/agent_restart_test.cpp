#include "tests/node/agent_fixture.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

TEST_F(AgentTest, AnotherAgentGoesOnWhereThisOneEnded) {
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  const auto a = bind("a", "GPU-a");
  ASSERT_EQ(kubelet.admit(a), "");
  agent.reset();
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  EXPECT_EQ(kubelet.start_container(a), "");
  EXPECT_NE(spec(a).find("TANGRAM_CARD_UUIDS=GPU-a"), std::string::npos);
}

TEST_F(AgentTest, WithBrokenKeysItStartsWhatRanAndNothingNew) {
  const SigningKey key = SigningKey::generate();
  sign_with(key);
  grant_keys = folder.path() + "/grant.pub";
  ASSERT_TRUE(replace_file(grant_keys, key.verifying_key().to_pem()));
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  const auto ran = bind("ran", "GPU-a");
  ASSERT_EQ(kubelet.admit(ran), "");
  ASSERT_EQ(kubelet.start_container(ran), "");
  agent.reset();
  ASSERT_TRUE(replace_file(grant_keys, "nonsense"));
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  EXPECT_EQ(kubelet.start_container(ran), "");
  const auto fresh = bind("fresh", "GPU-a");
  ASSERT_EQ(kubelet.admit(fresh), "");
  EXPECT_NE(kubelet.start_container(fresh).find("(none is known)"), std::string::npos);
}

/// Time slices on cards of a file; records which cards the agent keeps prepared.
class RecordingVendor final : public FileVendor {
 public:
  using FileVendor::FileVendor;
  [[nodiscard]] std::unique_ptr<Enforcer> enforcer(model::Isolation mode,
                                                   const EnforcerParts& /*of*/) const override;

  /// What each call of keep() named.
  [[nodiscard]] std::vector<std::vector<std::string>> kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }

 private:
  class Recorder;

  mutable std::mutex mutex_;
  mutable std::vector<std::vector<std::string>> kept_;
};

class RecordingVendor::Recorder final : public Enforcer {
 public:
  explicit Recorder(const RecordingVendor& vendor) : vendor_(vendor) {}
  Result<void> prepare(const std::string& /*card*/, const CardSharers& /*sharers*/) override {
    return {};
  }
  [[nodiscard]] Result<ContainerEdits> edits(
      std::string_view /*allocation*/,
      const std::vector<model::GrantedCard>& /*cards*/) const override {
    return ContainerEdits();
  }
  void keep(const CardsInMode& cards) override {
    std::vector<std::string> names;
    for (const auto& [card, sharers] : cards) names.push_back(card);
    const std::lock_guard lock(vendor_.mutex_);
    vendor_.kept_.push_back(std::move(names));
  }
  Result<void> release(const std::string& /*card*/) override { return {}; }
  void maintain() override {}
  [[nodiscard]] Enforcement enforcement(const model::GrantedCard& /*part*/) const override {
    return {};
  }

 private:
  const RecordingVendor& vendor_;
};

std::unique_ptr<Enforcer> RecordingVendor::enforcer(model::Isolation mode,
                                                    const EnforcerParts& /*of*/) const {
  return mode == model::Isolation::kTimeSlice ? std::make_unique<Recorder>(*this) : nullptr;
}

TEST_F(AgentTest, KeepsNoCardPreparedForAPodThatIsGone) {
  ASSERT_TRUE(replace_file(
      folder.path() + "/cards.yaml",
      "version: 1\ncards:\n- {id: GPU-a, model: A100, memMiB: 1000, isolation: [time-slice]}\n"));
  const auto recording = std::make_shared<RecordingVendor>(folder.path());
  vendor = recording;
  isolation = model::Isolation::kTimeSlice;
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 16; }));
  const auto gone = bind("gone", "GPU-a");
  ASSERT_EQ(kubelet.admit(gone), "");
  ASSERT_EQ(kubelet.start_container(gone), "");
  agent.reset();
  ASSERT_EQ(api.call({.method = kube::Method::kDelete,
                      .path = kube::pod_path("ml", "gone"),
                      .query = {{"gracePeriodSeconds", "0"}}})
                ->status,
            200);
  const std::size_t before = recording->kept().size();
  server.hold_pods(true);
  start();
  // By then its journal is read, in which the pod still is.
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 16 && server.holds(); }));
  server.hold_pods(false);
  ASSERT_TRUE(eventually([&] { return recording->kept().size() > before; }));
  EXPECT_EQ(recording->kept().at(before), std::vector<std::string>{});
}

}  // namespace
}  // namespace tangram::node
