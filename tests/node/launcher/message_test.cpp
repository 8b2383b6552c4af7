#include "node/launcher/message.hpp"

#include <gtest/gtest.h>

namespace tangram::node::launcher {
namespace {

using namespace std::string_literals;

TEST(LauncherMessageTest, WritesRequestsAsOldVersionsReadThem) {
  EXPECT_EQ(encode(Request{{"a", "", "b c"}, {"X=1"}}).value(),
            "tangram-launcher 1\0"
            "3\0"
            "a\0\0b c\0X=1\0"s);
}

TEST(LauncherMessageTest, ReadsWhatItWrites) {
  const Request request{{"a", "", "b\nc"}, {"X=", "", "Y"}};
  const auto read = decode_request(encode(request).value());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->arguments, request.arguments);
  EXPECT_EQ(read->env, request.env);
}

TEST(LauncherMessageTest, RefusesWhatIsNoRequest) {
  for (const std::string& bytes :
       {""s, "\0"s, "tangram-launcher 1"s, "tangram-launcher 1\0"s, "tangram-launcher 1\0\0"s,
        "tangram-launcher 1\0"
        "0\0"s,
        "tangram-launcher 1\0"
        "2\0a\0"s,
        "tangram-launcher 1\0-1\0a\0"s, "tangram-launcher 1\0one\0a\0"s,
        "tangram-launcher 1\0"
        "99999999999999999999\0a\0"s,
        "tangram-launcher 10\0"
        "1\0a\0"s}) {
    EXPECT_FALSE(decode_request(bytes)) << ::testing::PrintToString(bytes);
  }
}

TEST(LauncherMessageTest, WritesNoRequestThatCannotBeRead) {
  EXPECT_EQ(encode(Request{{}, {"X=1"}}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(encode(Request{{"a\0b"s}, {}}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(encode(Request{{"a"}, {"X=\0"s}}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(encode(Request{{std::string(kMostRequestBytes, 'a')}, {}}).error().code,
            Errc::kTooLarge);
}

TEST(LauncherMessageTest, ReadsItsReplies) {
  EXPECT_EQ(std::get<Ended>(decode_reply(encode(Ended{137})).value()).exit_code, 137);
  EXPECT_EQ(std::get<Refused>(decode_reply(encode(Refused{"no"})).value()).why, "no");
}

TEST(LauncherMessageTest, CutsASentenceThatIsTooLong) {
  const std::string message = encode(Refused{std::string(5000, 'x')});
  EXPECT_EQ(message.size(), kMostReplyBytes);
  EXPECT_EQ(std::get<Refused>(decode_reply(message).value()).why.substr(0, 3), "xxx");
}

TEST(LauncherMessageTest, RefusesWhatIsNoReply) {
  for (const std::string& bytes :
       {""s, "tangram-launcher 1\0ended\0"s, "tangram-launcher 1\0ended\0x\0"s,
        "tangram-launcher 1\0begun\0"
        "1\0"s,
        "tangram-launcher 2\0ended\0"
        "1\0"s}) {
    EXPECT_FALSE(decode_reply(bytes)) << ::testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace tangram::node::launcher
