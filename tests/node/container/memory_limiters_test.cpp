#include "node/container/memory_limiters.hpp"

#include "node/container/card_environment.hpp"
#include "tests/node/container/start_fakes.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using model::Isolation;
using model::MemoryLimits;

model::Card card(const std::string& id, MemoryLimits means) {
  model::Card card;
  card.id = id;
  card.memory_limits = means;
  return card;
}

model::GrantedCard part(const std::string& id, std::int64_t limit) {
  model::GrantedCard part;
  part.uuid = id;
  part.memory_limit = Mebibytes(limit);
  return part;
}

class MemoryLimitersTest : public ::testing::Test {
 protected:
  MemoryLimitersTest()
      : limiters_([this](MemoryLimits means) -> MemoryLimiters::Made {
          ++makes_;
          if (!can_make_) return fail(Errc::kUnavailable, "the folder cannot be written");
          if (means < MemoryLimits::kLibrary) return std::unique_ptr<MemoryLimiter>();
          auto made = std::make_unique<FakeLimiter>();
          made_[means] = made.get();
          return made;
        }) {}

  Result<void> limit(const std::vector<model::GrantedCard>& cards,
                     Isolation mode = Isolation::kTimeSlice) {
    edits_ = {};
    vendor_ = {};
    return limiters_.limit("a-1", mode, cards, here_, vendor_, edits_);
  }

  std::vector<model::Card> here_{
      card("library", MemoryLimits::kLibrary), card("driver", MemoryLimits::kDriver),
      card("mps", MemoryLimits::kMps), card("none", MemoryLimits::kNone)};
  int makes_ = 0;
  bool can_make_ = true;
  std::map<MemoryLimits, FakeLimiter*> made_;
  MemoryLimiters limiters_;
  CdiEdits vendor_;
  ContainerEdits edits_;
};

using List = std::vector<std::string>;

TEST_F(MemoryLimitersTest, LimitsEachCardByItsOwnMeans) {
  ASSERT_TRUE(limit({part("library", 10), part("none", 20), part("driver", 30)}));
  EXPECT_EQ(edits_.env, (List{"TANGRAM_MEMORY_LIMITS=library,none,driver",
                              "FAKE_LIMITS=library:10 a-1", "FAKE_LIMITS=driver:30 a-1"}));
  EXPECT_EQ(vendor_.lists.at("env").size(), 2U);
}

TEST_F(MemoryLimitersTest, MpsLimitsMemoryInItsOwnModeOnly) {
  ASSERT_TRUE(limit({part("mps", 10)}, Isolation::kTimeSlice));
  EXPECT_EQ(edits_.env, List{"TANGRAM_MEMORY_LIMITS=none"});
  ASSERT_TRUE(limit({part("mps", 10)}, Isolation::kMps));
  EXPECT_EQ(edits_.env, List{"TANGRAM_MEMORY_LIMITS=mps"});
}

TEST_F(MemoryLimitersTest, MakesALimiterOnceAndTriesAgainIfItCannot) {
  can_make_ = false;
  const auto failed = limit({part("library", 10)});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::kUnavailable);
  can_make_ = true;
  ASSERT_TRUE(limit({part("library", 10)}));
  ASSERT_TRUE(limit({part("library", 10)}));
  EXPECT_EQ(makes_, 2);
}

TEST_F(MemoryLimitersTest, AnErrorOfALimiterIsTheResult) {
  ASSERT_TRUE(limit({part("library", 10)}));
  made_.at(MemoryLimits::kLibrary)->verdict = fail(Errc::kInvalidArgument, "too many cards");
  EXPECT_EQ(limit({part("library", 10)}).error().message, "too many cards");
}

TEST_F(MemoryLimitersTest, PassesUseAndWhatIsLeftToThoseThatAreMade) {
  limiters_.note_use({"a-1"}, {{"library", 5}});
  ASSERT_TRUE(limit({part("library", 10)}));
  limiters_.note_use({"a-1", "a-2"}, {{"library", 5}});
  const FakeLimiter& library = *made_.at(MemoryLimits::kLibrary);
  EXPECT_EQ(library.uses.size(), 2U);
  CardClaim claim;
  claim.allocations = {"a-1", "a-2"};
  limiters_.keep({claim});
  EXPECT_EQ(library.kept, (std::set<std::string, std::less<>>{"a-1", "a-2"}));
}

TEST_F(MemoryLimitersTest, ChangesALimitByItsMeans) {
  ASSERT_TRUE(limit({part("library", 10)}));
  FakeLimiter& library = *made_.at(MemoryLimits::kLibrary);
  library.limits["a-1 library"] = 10;
  ASSERT_TRUE(limiters_.change("a-1", MemoryLimits::kLibrary, {part("library", 5)}));
  EXPECT_EQ(library.changes, List{"a-1 library 5"});
  library.counted["a-1 library"] = 7;
  EXPECT_EQ(*limiters_.in_use("a-1", MemoryLimits::kLibrary, "library"), 7U);
  EXPECT_EQ(limiters_.in_use("a-1", MemoryLimits::kNone, "library").error().code, Errc::kNotFound);
  const auto none = limiters_.change("a-1", MemoryLimits::kMps, {part("mps", 5)});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::kInvalidArgument);
}

TEST_F(MemoryLimitersTest, TakesOverWhatAnEarlierAgentHasStarted) {
  limiters_.resume({{{"uid", "main", "library"}, MemoryLimits::kLibrary},
                    {{"uid", "main", "none"}, MemoryLimits::kNone}});
  limiters_.note_use({"a-1"}, {{"library", 5}});
  EXPECT_EQ(made_.at(MemoryLimits::kLibrary)->uses.size(), 1U);
  EXPECT_EQ(made_.count(MemoryLimits::kDriver), 0U);
}

TEST(StartedMeansTest, ReadsByWhatMeansContainersWereStarted) {
  const auto entry = [](const std::string& container, const List& env) {
    JournalEntry made;
    made.claim = Claim{};
    made.claim->pod_uid = "uid";
    made.claim->container = container;
    made.claim->spec = encode_cdi_spec("a-1", {.env = env, .mounts = {}}, {});
    return made;
  };
  JournalEntry unprepared;
  const auto started = started_means(
      {entry("main", {"TANGRAM_CARD_UUIDS=a,b", "TANGRAM_MEMORY_LIMITS=library,none"}),
       entry("earlier", {"TANGRAM_CARD_UUIDS=a"}),
       entry("odd", {"TANGRAM_CARD_UUIDS=a,b", "TANGRAM_MEMORY_LIMITS=library"}),
       entry("later", {"TANGRAM_CARD_UUIDS=a", "TANGRAM_MEMORY_LIMITS=sorcery"}), unprepared});
  EXPECT_EQ(started, (StartedMeans{{{"uid", "main", "a"}, MemoryLimits::kLibrary},
                                   {{"uid", "main", "b"}, MemoryLimits::kNone}}));
}

}  // namespace
}  // namespace tangram::node
