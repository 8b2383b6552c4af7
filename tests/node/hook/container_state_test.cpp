#include "node/hook/container_state.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace tangram::node::hook {
namespace {

TEST(ContainerStateTest, ReadsWhatARuntimeSays) {
  std::istringstream in(R"({"ociVersion":"1.2.0","id":"3fc4_b1.e8-a","status":"creating","pid":4711,
    "bundle":"/run/containerd/x","annotations":{"io.kubernetes.cri.container-type":"container"}})");
  const auto state = read_state(in);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->id, "3fc4_b1.e8-a");
  EXPECT_EQ(state->pid, 4711);
}

struct StateCase {
  std::string name;
  std::string text;
  std::string message;  ///< a part of it

  friend void PrintTo(const StateCase& c, std::ostream* out) { *out << c.name; }
};

class BadStateTest : public ::testing::TestWithParam<StateCase> {};

TEST_P(BadStateTest, IsRefusedWithAReason) {
  const auto state = decode_state(GetParam().text);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, Errc::kInvalidArgument);
  EXPECT_NE(state.error().message.find(GetParam().message), std::string::npos)
      << state.error().message;
  EXPECT_NE(state.error().message.find("createRuntime hook"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadStateTest,
    ::testing::ValuesIn(std::vector<StateCase>{
        {.name = "Nothing", .text = "", .message = "standard input is not"},
        {.name = "Garbage", .text = "\x7f\x45LF", .message = "standard input is not"},
        {.name = "Truncated", .text = R"({"id":"a","pid":47)", .message = "standard input is not"},
        {.name = "TwoTexts", .text = R"({"id":"a","pid":1}{})", .message = "standard input is not"},
        {.name = "PidTwice", .text = R"({"id":"a","pid":1,"pid":2})", .message = "\"pid\""},
        {.name = "Array", .text = "[1]", .message = "standard input is not"},
        {.name = "NoPid", .text = R"({"id":"a"})", .message = "the pid 0"},
        {.name = "PidZero", .text = R"({"id":"a","pid":0})", .message = "the pid 0"},
        {.name = "PidNegative", .text = R"({"id":"a","pid":-7})", .message = "the pid -7"},
        {.name = "PidAsText", .text = R"({"id":"a","pid":"../1"})", .message = "pid"},
        {.name = "PidWithFraction", .text = R"({"id":"a","pid":1.5})", .message = "pid"},
        {.name = "PidTooLarge",
         .text = R"({"id":"a","pid":9223372036854775808})",
         .message = "pid"},
        {.name = "NoId", .text = R"({"pid":1})", .message = "the id \"\""},
        {.name = "IdIsAPath", .text = R"({"id":"../a","pid":1})", .message = "the id \"../a\""},
        {.name = "IdIsHidden", .text = R"({"id":".a","pid":1})", .message = "the id \".a\""},
        {.name = "IdHasALine", .text = R"({"id":"a\nb","pid":1})", .message = R"("a\x0ab")"},
        {.name = "IdTooLong",
         .text = R"({"pid":1,"id":")" + std::string(256, 'a') + R"("})",
         .message = "the id"},
        {.name = "TooDeep",
         .text = R"({"id":"a","pid":1,"x":)" + std::string(5000, '['),
         .message = "standard input is not"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(ContainerStateTest, PassesOverWhatAnnotationsSay) {
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  for (const std::string& other :
       {std::string(R"({"pid":1,"pid":2})"), std::string(R"("\u0000 \"pid\":7")"), deep}) {
    const auto state = decode_state(R"({"annotations":)" + other + R"(,"id":"a","pid":4711})");
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->pid, 4711);
  }
}

TEST(ContainerStateTest, ReadsNoMoreThanItsBound) {
  const std::string begin = R"({"id":"a","pid":1,"annotations":{"x":")";
  const std::string end = R"("}})";
  const std::string most =
      begin + std::string(kMostStateBytes - begin.size() - end.size(), 'x') + end;
  EXPECT_TRUE(decode_state(most));
  std::istringstream in(most + std::string(100, ' '));
  const auto larger = read_state(in);
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code, Errc::kTooLarge);
  EXPECT_EQ(in.tellg(), static_cast<std::streamoff>(kMostStateBytes + 1));
}

}  // namespace
}  // namespace tangram::node::hook
