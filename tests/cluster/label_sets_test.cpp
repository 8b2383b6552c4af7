#include "cluster/label_sets.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tangram::cluster {
namespace {

TEST(LabelSetsTest, EqualLabelsAreOneCopy) {
  LabelSets sets;
  const auto first = sets.shared({{"app", "train"}, {"hash", "1"}});
  const auto second = sets.shared({{"app", "train"}, {"hash", "1"}});
  const auto other = sets.shared({{"app", "train"}, {"hash", "2"}});
  EXPECT_EQ(&first.get(), &second.get());
  EXPECT_NE(first, other);
  EXPECT_EQ(other.get().at("hash"), "2");
  EXPECT_TRUE(sets.shared({}).empty());
}

TEST(LabelSetsTest, ManySetsStayWhatTheyAre) {
  LabelSets sets;
  const auto kept = sets.shared({{"pod", "0"}});
  for (int i = 0; i < 25'000; ++i) {
    const model::Labels labels{{"pod", std::to_string(i)}};
    ASSERT_EQ(sets.shared(labels).get(), labels);
  }
  EXPECT_EQ(kept.get().at("pod"), "0");
}

}  // namespace
}  // namespace tangram::cluster
