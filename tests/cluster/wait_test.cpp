#include "cluster/wait.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tangram::cluster {
namespace {

TEST(WaitTest, NamesEveryReasonOnce) {
  std::map<std::string_view, int> names;
  for (const Wait wait : kAllWaits) ++names[to_string(wait)];
  EXPECT_EQ(names.size(), kWaits);
}

TEST(WaitTest, TellsFullCardsFromThoseThatWillNeverDo) {
  using model::Misfit;
  for (const Misfit never :
       {Misfit::kUnknownNode, Misfit::kNoCards, Misfit::kModel, Misfit::kCardId,
        Misfit::kIsolationUnsupported, Misfit::kMemoryLimits, Misfit::kTooLarge}) {
    EXPECT_EQ(wait_for(never), Wait::kNoSuchCard);
  }
  EXPECT_EQ(wait_for(Misfit::kUnavailable), Wait::kUnavailable);
  EXPECT_EQ(wait_for(Misfit::kIsolationBusy), Wait::kIsolationBusy);
  EXPECT_EQ(wait_for(Misfit::kSharers), Wait::kSharers);
  EXPECT_EQ(wait_for(Misfit::kRoom), Wait::kRoom);
  EXPECT_EQ(wait_for(Misfit::kTogether), Wait::kRoom);
  EXPECT_EQ(wait_for(Misfit::kNotTried), Wait::kSettling);
}

}  // namespace
}  // namespace tangram::cluster
