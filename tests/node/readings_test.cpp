#include "node/readings.hpp"

#include "node/isolation/programs.hpp"
#include "tests/node/cards/scripted_source.hpp"
#include "tests/node/container/start_fakes.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using model::Isolation;

/// Its server holds the largest share only.
class LargestIsHeld final : public Enforcer {
 public:
  Result<void> prepare(const std::string&, const CardSharers&) override { return {}; }
  [[nodiscard]] Result<ContainerEdits> edits(
      std::string_view, const std::vector<model::GrantedCard>&) const override {
    return ContainerEdits{};
  }
  void keep(const CardsInMode&) override {}
  Result<void> release(const std::string&) override { return {}; }
  void maintain() override {}
  [[nodiscard]] Enforcement enforcement(const model::GrantedCard& part) const override {
    const Holder holder = part.memory_limit >= Mebibytes(500) ? Holder::kServer : Holder::kClient;
    return {holder, holder, ""};
  }
};

class ReadPodsTest : public ::testing::Test {
 protected:
  ReadPodsTest() {
    CardReading reading;
    reading.card.id = "GPU-a";
    reading.card.memory = Mebibytes(1000);
    reading.card.compute = kWholeGpu;
    cards_.push_back(reading);
  }

  void put(const std::string& name, const std::vector<model::ContainerGrant>& containers) {
    for (const model::ContainerGrant& container : containers) {
      CardClaim claim;
      claim.pod_uid = claim.pod = name;
      claim.isolation = Isolation::kMps;
      claim.container = container;
      claims_.push_back(std::move(claim));
    }
  }
  std::set<ContainerOnCard> leased_;
  std::vector<PodReading> read() {
    return read_pods({.claims = claims_,
                      .enforcers = enforcers_,
                      .started = started_,
                      .leased = leased_,
                      .processes = processes_},
                     cards_);
  }

  std::vector<CardClaim> claims_;
  StartedMeans started_;
  FakeProcesses processes_;
  std::vector<CardReading> cards_;
  ScriptedSource source_;
  SystemPrograms programs_;
  testing::ManualClock clock_;
  Enforcers enforcers_{{source_, programs_, clock_, 16, false, true},
                       [](Isolation, const EnforcerParts&) -> std::unique_ptr<Enforcer> {
                         return std::make_unique<LargestIsHeld>();
                       }};
};

TEST_F(ReadPodsTest, SayWhoHoldsEachPodsPart) {
  put("a", {{"main", {part("GPU-a", 500, 500)}}});
  put("b", {{"main", {part("GPU-a", 250, 250)}}});
  const auto readings = read();
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].memory_held_by, Holder::kServer);
  EXPECT_EQ(readings[1].memory_held_by, Holder::kClient);
  EXPECT_EQ(readings[0].compute_held_by, Holder::kServer);
  EXPECT_EQ(readings[1].compute_held_by, Holder::kClient);
}

TEST_F(ReadPodsTest, TheLibraryHoldsMemoryAndTheLeaseHoldsCompute) {
  put("a", {{"main", {part("GPU-a", 250, 250)}}});
  started_[{"a", "main", "GPU-a"}] = model::MemoryLimits::kLibrary;
  EXPECT_EQ(read()[0].memory_held_by, Holder::kServer);
  EXPECT_EQ(read()[0].compute_held_by, Holder::kClient);
  leased_.insert({"a", "main", "GPU-a"});
  EXPECT_EQ(read()[0].compute_held_by, Holder::kServer);
}

TEST_F(ReadPodsTest, OfSeveralContainersTheOneThatIsHeldLeastCounts) {
  put("a", {{"one", {part("GPU-a", 100, 100)}}, {"two", {part("GPU-a", 500, 500)}}});
  const auto readings = read();
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings[0].memory_held_by, Holder::kClient);
  EXPECT_EQ(readings[0].memory_limit_bytes, std::uint64_t{600} << 20U);
}

TEST_F(ReadPodsTest, AWholeCardIsHeldWhateverItsMode) {
  put("a", {{"main", {part("GPU-a", 1000, 1000)}}});
  const auto readings = read();
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings[0].isolation, "whole");
  EXPECT_EQ(readings[0].memory_held_by, Holder::kServer);
}

}  // namespace
}  // namespace tangram::node
