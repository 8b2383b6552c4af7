#include "base/spelling.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tangram {
namespace {

using Names = std::vector<std::string_view>;
const Names kWords{"workers", "queue", "timeout_ms", "log"};

/// At most one letter in three wrong.
std::string_view nearest(std::string_view name, const Names& known) {
  return tangram::nearest(name, known, name.size() / 3);
}

TEST(NearestTest, FindsAWordWithOneLetterChangedAddedOrDropped) {
  EXPECT_EQ(nearest("workors", kWords), "workers");
  EXPECT_EQ(nearest("workerss", kWords), "workers");
  EXPECT_EQ(nearest("workrs", kWords), "workers");
  EXPECT_EQ(nearest("lo", Names{"log"}), "") << "two letters leave no room for a mistake";
}

TEST(NearestTest, FindsAWordWithOneLetterInThreeWrong) {
  EXPECT_EQ(nearest("timeout_s", kWords), "timeout_ms");
  EXPECT_EQ(nearest("timeouts", kWords), "timeout_ms");  // 2 of 8
  EXPECT_EQ(nearest("time_out", kWords), "");            // 4 of 8
}

TEST(NearestTest, TakesTheFirstOfEquallyNearWords) {
  EXPECT_EQ(nearest("bax", Names{"bar", "baz"}), "bar");
}

TEST(NearestTest, CountsWhatIsChangedAddedOrDroppedUpToTheMost) {
  EXPECT_EQ(tangram::nearest("gpu-memory", Names{"gpu-mem"}, 3), "gpu-mem");
  EXPECT_EQ(tangram::nearest("gpu-memory", Names{"gpu-mem"}, 2), "");
}

TEST(NearestTest, FindsNothingForAWordOfNoResemblance) {
  EXPECT_EQ(nearest("zzzzzz", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest(std::string(100'000, 'w'), kWords), "");
}

TEST(AlternativesTest, ReadsAsPeopleWriteIt) {
  EXPECT_EQ(alternatives(Names{}), "");
  EXPECT_EQ(alternatives(Names{"a"}), "a");
  EXPECT_EQ(alternatives(Names{"a", "b"}), "a or b");
  EXPECT_EQ(alternatives(Names{"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace tangram
