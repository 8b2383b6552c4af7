#include "model/answer_memo.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace tangram::model {
namespace {

struct Hash {
  [[nodiscard]] std::uint64_t operator()(std::uint64_t question) const {
    return question * 0x9e37'79b9'7f4a'7c15;
  }
};

/// Answers are squares of the questions; it counts how often they are worked out.
class AnswerMemoTest : public ::testing::Test {
 protected:
  void ask(std::uint64_t question) {
    EXPECT_EQ(memo_.answer(question,
                           [&] {
                             ++asked_;
                             return question * question;
                           }),
              question * question);
  }
  void ask_all(std::uint64_t last) {
    for (std::uint64_t question = 1; question <= last; ++question) ask(question);
  }

  AnswerMemo<std::uint64_t, std::uint64_t, Hash> memo_{2, 6};
  int asked_ = 0;
};

TEST_F(AnswerMemoTest, AsksOnceForWhatHasAPlace) {
  EXPECT_EQ(memo_.places(), 0U);
  ask(7);
  ask(7);
  memo_.begin_walk();
  ask(7);
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(memo_.places(), 4U);
  memo_.forget_all();
  ask(7);
  EXPECT_EQ(asked_, 2);
}

TEST_F(AnswerMemoTest, GrowsToItsLimitWhereAWalkHasManyQuestions) {
  ask_all(1000);
  EXPECT_EQ(memo_.places(), 64U);
  ask_all(1000);
  EXPECT_EQ(memo_.places(), 64U);
}

TEST(AnswerMemoOfManyWalksTest, StaysAsLargeAsOneWalkNeeds) {
  AnswerMemo<std::uint64_t, std::uint64_t, Hash> memo(4, 6);
  for (std::uint64_t question = 1; question <= 1000; ++question) {
    memo.begin_walk();
    EXPECT_EQ(memo.answer(question, [&] { return question + 1; }), question + 1);
    EXPECT_EQ(memo.answer(question, [] { return std::uint64_t{0}; }), question + 1);
  }
  EXPECT_EQ(memo.places(), 16U);
}

}  // namespace
}  // namespace tangram::model
