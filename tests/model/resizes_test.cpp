#include "model/resizes.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tangram::model {
namespace {

const ResizeAnswers kAnswers{
    {"uid-1", {.applied = 3}},
    {"uid-2", {.applied = 2, .refused = 4, .why = ResizeRefusal::kInUse}},
};
constexpr std::string_view kText = R"({"version":1,"pods":{"uid-1":{"revision":3},)"
                                   R"("uid-2":{"revision":2,"refused":4,"why":"in-use"}}})";

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
  EXPECT_NE(why(R"({"u":{"revision":1,"refused":2,"why":"mood"}})").find("mood"),
            std::string::npos);
  EXPECT_NE(why(R"({"u":{}})").find("revision"), std::string::npos);
  EXPECT_NE(why(R"({"":{"revision":1}})").find("length"), std::string::npos);
  EXPECT_NE(why(R"({"u":{"revision":-1}})").find("revision"), std::string::npos);
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
