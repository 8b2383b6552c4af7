#include "config/suggest.hpp"

#include <gtest/gtest.h>

namespace tangram::config {
namespace {

const std::vector<std::string_view> kWords{"workers", "queue", "timeout_ms", "log"};

TEST(NearestTest, FindsAWordWithOneLetterChangedAddedOrDropped) {
  EXPECT_EQ(nearest("workors", kWords), "workers");
  EXPECT_EQ(nearest("workerss", kWords), "workers");
  EXPECT_EQ(nearest("workrs", kWords), "workers");
  EXPECT_EQ(nearest("lo", {"log"}), "") << "two letters leave no room for a mistake";
}

TEST(NearestTest, FindsAWordWithOneLetterInThreeWrong) {
  EXPECT_EQ(nearest("timeout_s", kWords), "timeout_ms");
  EXPECT_EQ(nearest("timeouts", kWords), "timeout_ms");  // 2 of 8
  EXPECT_EQ(nearest("time_out", kWords), "");            // 4 of 8
}

TEST(NearestTest, TakesTheFirstOfEquallyNearWords) {
  EXPECT_EQ(nearest("bax", {"bar", "baz"}), "bar");
}

TEST(NearestTest, FindsNothingForAWordOfNoResemblance) {
  EXPECT_EQ(nearest("zzzzzz", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest(std::string(100'000, 'w'), kWords), "");
}

TEST(AlternativesTest, ReadsAsPeopleWriteIt) {
  EXPECT_EQ(alternatives({}), "");
  EXPECT_EQ(alternatives({"a"}), "a");
  EXPECT_EQ(alternatives({"a", "b"}), "a or b");
  EXPECT_EQ(alternatives({"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace tangram::config
