#include "tests/extender/scheduling/verbs_fixture.hpp"

#include <string>
#include <vector>

namespace tangram::extender {
namespace {

using testing::json_at;

/// Nodes a, b and c of five cards each, which differ by a little; and a pod of 14 containers.
///
/// A card with a place for three of them can take at most one of 340 thousandths, so of these at
/// most six find a place, and there are seven. By their number and sum they would all fit.
class SearchBudgetTest : public VerbsTest {
 protected:
  SearchBudgetTest() : VerbsTest(5) {
    rig_.ledger.apply([](model::Ledger& ledger) {
      ledger.observe(testing::allocation("on-a", "a", {testing::shared("a-0", 1, 1)}));
      ledger.observe(testing::allocation("on-b", "b", {testing::shared("b-0", 1, 2)}));
      ledger.observe(testing::allocation("on-c", "c", {testing::shared("c-0", 1, 3)}));
    });
    add_pod("hard", std::vector<int>{340, 340, 340, 340, 340, 340, 340,  //
                                     328, 328, 328, 328, 328, 328, 328});
  }

  void add_pod(const std::string& name, const std::vector<int>& milli) {
    testing::PodText pod;
    pod.name = name;
    for (std::size_t i = 0; i < milli.size(); ++i) {
      const std::string container = i == 0 ? "main" : "c" + std::to_string(i);
      if (i > 0) pod.more_containers.push_back(container);
      pod.annotations["tangram.dev/gpu-fraction." + container] = "0." + std::to_string(milli[i]);
    }
    rig_.add_pod(pod);
    rig_.show(name);
  }

  /// With so few steps, one search is made at each try.
  Verbs searching(std::int64_t steps = 1) { return verbs_with({.search_steps = steps}); }
};

TEST_F(SearchBudgetTest, ATryThatIsCutShortIsAnErrorAndTheNextOneGoesOn) {
  Verbs all = searching();
  for (int cut_short = 0; cut_short < 2; ++cut_short) {
    const std::string reply = all.filter(ask("hard"));
    EXPECT_NE(json_at(reply, "Error").find("in too many ways"), std::string::npos) << reply;
    EXPECT_EQ(rig_.table.waits().at(cluster::Wait::kSettling), 1);
  }
  const std::string reply = all.filter(ask("hard"));
  EXPECT_EQ(json_at(reply, "Error"), "") << reply;
  for (const char* node : {"a", "b", "c"}) {
    EXPECT_NE(json_at(reply, std::string("FailedAndUnresolvableNodes.") + node).find("together"),
              std::string::npos)
        << reply;
  }
  EXPECT_EQ(rig_.table.waits().at(cluster::Wait::kRoom), 1);
}

TEST_F(SearchBudgetTest, ABudgetThatSufficesAnswersAtOnce) {
  const std::string reply = searching(100'000).filter(ask("hard"));
  EXPECT_EQ(json_at(reply, "Error"), "") << reply;
}

TEST_F(SearchBudgetTest, OffersTheBestNodeThatWasTried) {
  add_pod("easy", {300, 300});
  EXPECT_EQ(json_at(searching().filter(ask("easy")), "NodeNames"), R"(["a"])");
  EXPECT_EQ(json_at(searching().filter(ask("easy", R"(["b","c"])")), "NodeNames"), R"(["b"])");
}

TEST_F(SearchBudgetTest, ANominatedPodNeverGetsAnError) {
  rig_.nominate("hard", "b");
  const std::string reply = searching().filter(ask("hard"));
  EXPECT_EQ(json_at(reply, "Error"), "") << reply;
  EXPECT_NE(json_at(reply, "FailedNodes.b").find("in too many ways"), std::string::npos) << reply;
  ASSERT_EQ(rig_.denials.all().size(), 1U);
  EXPECT_TRUE(rig_.denials.all().front()->for_now);
}

TEST_F(SearchBudgetTest, PodsOfOneContainerNeedNone) {
  rig_.add_half("half");
  rig_.show("half");
  // binpack: the fullest first.
  EXPECT_EQ(json_at(searching(0).filter(ask("half")), "NodeNames"), R"(["c"])");
}

}  // namespace
}  // namespace tangram::extender
