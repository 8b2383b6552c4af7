#include "node/isolation/enforcers.hpp"

#include "node/isolation/programs.hpp"
#include "tests/node/cards/scripted_source.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tangram::node {
namespace {

using model::Isolation;

const model::GrantedCard kPart;

/// What enforcers of tests work with.
struct Machine {
  ScriptedSource source;
  SystemPrograms programs;
  testing::ManualClock clock;
  EnforcerParts parts{source, programs, clock, 16, false, true};
};

/// What there is without a vendor.
Enforcers common_enforcers() {
  static Machine machine;
  return Enforcers(machine.parts, [](Isolation, const EnforcerParts&) { return nullptr; });
}

TEST(NoneEnforcerTest, DoesNothingAndSaysSo) {
  const Enforcers common = common_enforcers();
  Enforcer& enforcer = common.of(Isolation::kNone);
  EXPECT_TRUE(enforcer.prepare("GPU-a", {}));
  EXPECT_EQ(*enforcer.edits("slot-1.a", std::vector<model::GrantedCard>(2)), ContainerEdits{});
  enforcer.keep({{"GPU-a", {}}});
  enforcer.maintain();
  EXPECT_EQ(enforcer.enforcement(kPart).memory, Holder::kNobody);
  EXPECT_NE(enforcer.enforcement(kPart).note, "");
}

/// Records its calls.
class RecordingEnforcer final : public Enforcer {
 public:
  explicit RecordingEnforcer(std::vector<std::string>& calls) : calls_(calls) {}
  Result<void> prepare(const std::string&, const CardSharers&) override { return {}; }
  [[nodiscard]] Result<ContainerEdits> edits(
      std::string_view, const std::vector<model::GrantedCard>&) const override {
    return ContainerEdits{};
  }
  void keep(const CardsInMode& cards) override {
    std::string call = "keep";
    for (const auto& [card, sharers] : cards) call += " " + card;
    calls_.push_back(call);
  }
  Result<void> release(const std::string&) override { return {}; }
  void maintain() override { calls_.emplace_back("maintain"); }
  [[nodiscard]] Enforcement enforcement(const model::GrantedCard&) const override {
    return {Holder::kServer, Holder::kServer, ""};
  }

 private:
  std::vector<std::string>& calls_;
};

class EnforcersTest : public ::testing::Test {
 protected:
  std::unique_ptr<Enforcer> make(Isolation mode, const EnforcerParts& parts) {
    EXPECT_EQ(&parts.clock, &machine_.clock);
    if (mode == Isolation::kNone) return nullptr;
    return std::make_unique<RecordingEnforcer>(calls_[mode]);
  }

  std::map<Isolation, std::vector<std::string>> calls_;
  Machine machine_;
  Enforcers enforcers_{machine_.parts, [this](Isolation mode, const EnforcerParts& parts) {
                         return make(mode, parts);
                       }};
};

TEST_F(EnforcersTest, EachModeHasItsOwn) {
  EXPECT_EQ(enforcers_.of(Isolation::kMps).enforcement(kPart).memory, Holder::kServer);
  EXPECT_NE(&enforcers_.of(Isolation::kMps), &enforcers_.of(Isolation::kTimeSlice));
}

TEST_F(EnforcersTest, AModeWithoutAnEnforcerEnforcesNothing) {
  EXPECT_TRUE(enforcers_.of(Isolation::kNone).prepare("GPU-a", {}));
  EXPECT_EQ(enforcers_.of(Isolation::kNone).enforcement(kPart),
            common_enforcers().of(Isolation::kNone).enforcement(kPart));
  EXPECT_EQ(common_enforcers().of(Isolation::kMps).enforcement(kPart).memory, Holder::kNobody);
}

TEST_F(EnforcersTest, EachModeKeepsTheCardsThatAreSharedInIt) {
  SharedCards shared;
  shared.at(static_cast<std::size_t>(Isolation::kMps)) = {{"GPU-a", {}}, {"GPU-b", {}}};
  enforcers_.maintain(shared);
  EXPECT_EQ(calls_[Isolation::kMps], (std::vector<std::string>{"keep GPU-a GPU-b", "maintain"}));
  EXPECT_EQ(calls_[Isolation::kTimeSlice], (std::vector<std::string>{"keep", "maintain"}));
}

}  // namespace
}  // namespace tangram::node
