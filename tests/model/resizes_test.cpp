#include "model/resizes.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <set>
#include <string>

namespace tangram::model {
namespace {

constexpr CardAmounts kAmounts{Mebibytes(100), MilliGpu(200), Mebibytes(300), MilliGpu(400)};
const ResizeAnswers kAnswers{
    {"uid-1", {.applied = 3}},
    {"uid-2",
     {.applied = 2,
      .refused = 4,
      .why = ResizeRefusal::kInUse,
      .held = {{"main", {{"GPU-1", kAmounts}}}}}},
};
constexpr std::string_view kText =
    R"({"version":1,"pods":{"uid-1":{"revision":3},)"
    R"("uid-2":{"revision":2,"refused":4,"why":"in-use","held":{"main":{"GPU-1":)"
    R"({"memMiB":100,"milli":200,"memLimitMiB":300,"milliLimit":400}}}}}})";

TEST(ResizesTest, AreWrittenAndRead) {
  EXPECT_EQ(encode_resizes(kAnswers), kText);
  EXPECT_EQ(*decode_resizes(std::string(kText)), kAnswers);
  EXPECT_EQ(*decode_resizes(encode_resizes({})), ResizeAnswers());
}

TEST(ResizesTest, EveryTruncationIsRefused) {
  for (std::size_t size = 0; size < kText.size(); ++size) {
    EXPECT_FALSE(decode_resizes(std::string(kText.substr(0, size)))) << size;
  }
}

TEST(ResizesTest, SaysWhatIsWrong) {
  const auto why = [](const std::string& pods) {
    const auto read = decode_resizes(R"({"version":1,"pods":)" + pods + "}");
    return read ? "read" : read.error().message;
  };
  EXPECT_EQ(why(R"({"u":{"revision":1,"refused":2,"why":"no-room"}})"), "read");
  EXPECT_NE(why(R"({"u":{"revision":1,"refused":2}})").find("needs"), std::string::npos);
  EXPECT_NE(why(R"({"u":{"revision":1,"why":"in-use"}})").find("needs"), std::string::npos);
  EXPECT_NE(why(R"({"u":{"revision":2,"refused":2,"why":"in-use"}})").find("not later"),
            std::string::npos);
  EXPECT_NE(why(R"({"u":{"revision":1,"refused":2,"why":3}})").find("why"), std::string::npos);
  EXPECT_NE(why(R"({"u":{}})").find("revision"), std::string::npos);
  EXPECT_NE(why(R"({"":{"revision":1}})").find("length"), std::string::npos);
  EXPECT_NE(why(R"({"u":{"revision":-1}})").find("revision"), std::string::npos);
  EXPECT_NE(why(R"({"u":{"revision":1},"u":{"revision":2}})").find("twice"), std::string::npos);
}

TEST(ResizesTest, AReasonOfANewerAgentIsReadAsUnknown) {
  const std::string text =
      R"({"version":1,"pods":{"u":{"revision":1,"refused":2,"why":"mood","held":{"main":{"GPU-1":)"
      R"({"memMiB":100,"milli":200,"memLimitMiB":300,"milliLimit":400}}}}}})";
  const auto read = decode_resizes(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (ResizeAnswers{{"u",
                                   {.applied = 1,
                                    .refused = 2,
                                    .why = ResizeRefusal::kUnknown,
                                    .held = {{"main", {{"GPU-1", kAmounts}}}}}}}));
  EXPECT_EQ(*decode_resizes(encode_resizes(*read)), *read);
}

TEST(ResizesTest, SaysWhatIsWrongWithWhatIsHeld) {
  const auto why = [](const std::string& held) {
    const auto read =
        decode_resizes(R"({"version":1,"pods":{"u":{"revision":1,"held":)" + held + "}}}");
    return read ? "read" : read.error().message;
  };
  const auto main = [&](const std::string& card) {
    return why(R"({"main":{"a":{)" + card + "}}}");
  };
  EXPECT_EQ(why("{}"), "read");
  EXPECT_EQ(main(R"("memMiB":1,"milli":2,"memLimitMiB":1,"milliLimit":2,"more":0)"), "read");
  EXPECT_NE(main(R"("memMiB":1,"milli":2,"memLimitMiB":1)").find("milliLimit"), std::string::npos);
  EXPECT_NE(main(R"("memMiB":2,"milli":2,"memLimitMiB":1,"milliLimit":2)").find("below"),
            std::string::npos);
  EXPECT_NE(main(R"("memMiB":1,"milli":1001,"memLimitMiB":1,"milliLimit":1001)").find("1000"),
            std::string::npos);
  EXPECT_NE(main(R"("memMiB":-1,"milli":0,"memLimitMiB":1,"milliLimit":2)").find("memMiB"),
            std::string::npos);
  EXPECT_NE(why(R"({"main":{},"main":{}})").find("\"main\" stands twice"), std::string::npos);
  EXPECT_NE(why(R"({"":{}})").find("length"), std::string::npos);
  std::string many = "{";
  for (int i = 0; i < 17; ++i) many += (i > 0 ? ",\"c" : "\"c") + std::to_string(i) + "\":{}";
  EXPECT_NE(why(many + "}").find("more than 16 containers"), std::string::npos);
}

/// So many pods that are held to something; 2,000 are too many.
ResizeAnswers many_held(int pods) {
  ResizeAnswers answers;
  for (int i = 1000; i < 1000 + pods; ++i) {
    ResizeAnswer& answer = answers["0d4c7a3e-6f5b-4c7e-9d55-0c1f6f1f" + std::to_string(i)];
    answer = {.applied = 1, .refused = 2, .why = ResizeRefusal::kNoRoom, .held = {}};
    answer.held["main"]["GPU-1"] = kAmounts;
  }
  return answers;
}

TEST(ResizesTest, LeaveOutWhatIsHeldForWantOfSpaceAndNothingElse) {
  ResizeAnswers answers = many_held(2000);
  ResizeAnswers some = many_held(500);
  keep_to_size(some, {some.begin()->first});
  EXPECT_EQ(some, many_held(500));
  keep_to_size(answers, {});
  EXPECT_LE(encode_resizes(answers).size(), kMaxResizesBytes);
  EXPECT_EQ(answers.size(), kMaxResizeAnswers);
  EXPECT_EQ(answers.begin()->second, some.begin()->second);
  EXPECT_EQ(answers.rbegin()->second,
            (ResizeAnswer{.applied = 1, .refused = 2, .why = ResizeRefusal::kNoRoom, .held = {}}));
}

TEST(ResizesTest, LeaveOutFirstWhatTheGrantSays) {
  // About half of them have to go.
  ResizeAnswers answers = many_held(1200);
  std::set<std::string, std::less<>> as_granted;
  for (const auto& [uid, answer] : many_held(900)) as_granted.insert(uid);
  keep_to_size(answers, as_granted);
  EXPECT_LE(encode_resizes(answers).size(), kMaxResizesBytes);
  for (const auto& [uid, answer] : answers) {
    EXPECT_TRUE(as_granted.contains(uid) || !answer.held.empty()) << uid;
  }
  EXPECT_TRUE(answers.at(*as_granted.rbegin()).held.empty()) << "from the last on";
  EXPECT_FALSE(answers.at(*as_granted.begin()).held.empty());
}

TEST(ResizesTest, LeaveOutMoreIfWhatTheGrantSaysIsNotEnough) {
  ResizeAnswers answers = many_held(1200);
  const std::string first = answers.begin()->first;
  keep_to_size(answers, {first});
  EXPECT_LE(encode_resizes(answers).size(), kMaxResizesBytes);
  EXPECT_TRUE(answers.at(first).held.empty());
  EXPECT_FALSE(std::next(answers.begin())->second.held.empty());
  EXPECT_TRUE(answers.rbegin()->second.held.empty());
}

TEST(ResizesTest, HasALimit) {
  ResizeAnswers many;
  for (std::size_t i = 0; i < kMaxResizeAnswers; ++i) many["uid-" + std::to_string(i)];
  EXPECT_TRUE(decode_resizes(encode_resizes(many)));
  many["one more"];
  EXPECT_FALSE(decode_resizes(encode_resizes(many)));
}

}  // namespace
}  // namespace tangram::model
