#include "extender/page/packing_stream.hpp"

#include "tests/extender/rig.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

class PackingStreamTest : public ::testing::Test {
 protected:
  PackingStreamTest() {
    rig_.add_node("a", 2);
    rig_.sync();
  }
  static http::Request request(const std::string& header, const std::string& after = "") {
    http::Request request;
    if (!header.empty()) request.headers.push_back({"Last-Event-ID", header});
    if (!after.empty()) request.query["after"] = after;
    return request;
  }
  static std::string take(const http::Response& response) {
    std::string text;
    for (auto step = response.stream->take_or_wake([] {}); step.piece;
         step = response.stream->take_or_wake([] {})) {
      text += *step.piece;
    }
    return text;
  }
  /// The event that the packing is of.
  std::string read() { return testing::json_at(news_.packing(), "event"); }
  void bind(const std::string& name) {
    const std::string uid = rig_.add_half(name);
    rig_.show(name);
    EXPECT_EQ(rig_.bind(name, uid, "a").outcome, BindOutcome::kBound);
    rig_.show(name);
  }

  Rig rig_;
  PackingStream news_{{.ledger = rig_.ledger, .pods = rig_.table, .clock = rig_.clock},
                      BroadcastLimits{.streams = 2}};
};

TEST_F(PackingStreamTest, TellWhatChangedSinceThePackingWasRead) {
  const std::string event = read();
  bind("p");
  news_.look();
  const auto stream = news_.open(request("", event));
  EXPECT_EQ(stream.content_type, "text/event-stream");
  const std::string sent = take(stream);
  EXPECT_NE(sent.find("{\"resumed\":true}"), std::string::npos) << sent;
  EXPECT_NE(sent.find("event: change"), std::string::npos) << sent;
  EXPECT_NE(sent.find("\"name\":\"p\""), std::string::npos) << sent;
  news_.look();
  EXPECT_EQ(take(stream), "") << "sent once";
}

TEST_F(PackingStreamTest, MakeThePackingOfWhatWasTold) {
  const std::string before = news_.packing();
  bind("p");
  EXPECT_EQ(news_.packing(), before) << "no event tells of p yet";
  news_.look();
  EXPECT_NE(news_.packing().find("\"name\":\"p\""), std::string::npos);
}

TEST_F(PackingStreamTest, PreferTheHeaderOfABrowserThatComesBack) {
  const std::string first = read();
  bind("p");
  news_.look();
  const std::string second = read();
  const std::string sent = take(news_.open(request(second, first)));
  EXPECT_NE(sent.find("{\"resumed\":true}"), std::string::npos) << sent;
  EXPECT_EQ(sent.find("event: change"), std::string::npos) << sent;
}

TEST_F(PackingStreamTest, TellWhoHasSeenNothingToReadAnew) {
  read();
  for (const std::string seen : {"", "rubbish", "0000000000000001-0"}) {
    const std::string sent = take(news_.open(request(seen)));
    EXPECT_NE(sent.find("{\"resumed\":false}"), std::string::npos) << seen << ": " << sent;
  }
}

TEST_F(PackingStreamTest, RestWhenNobodyLooksAndForgetWhatTheyHadTold) {
  const std::string event = read();
  rig_.clock.advance(PackingStream::kQuiet + std::chrono::seconds(1));
  news_.look();
  bind("p");
  news_.look();
  EXPECT_NE(take(news_.open(request(event))).find("{\"resumed\":false}"), std::string::npos);
  EXPECT_NE(news_.packing().find("\"name\":\"p\""), std::string::npos);
}

TEST_F(PackingStreamTest, GoOnForWhoIsAwayForAMoment) {
  const std::string event = read();
  rig_.clock.advance(PackingStream::kQuiet - std::chrono::seconds(1));
  bind("p");
  news_.look();
  EXPECT_NE(take(news_.open(request(event))).find("event: change"), std::string::npos);
}

TEST_F(PackingStreamTest, GoOnAsLongAsSomebodyListens) {
  const auto stream = news_.open(request("", read()));
  take(stream);
  for (int i = 0; i < 3; ++i) {
    rig_.clock.advance(PackingStream::kQuiet + std::chrono::seconds(1));
    news_.look();
    EXPECT_EQ(take(stream), "event: beat\ndata: {}\n\n");
  }
}

TEST_F(PackingStreamTest, TurnAwayWhoIsTooMany) {
  const auto one = news_.open(request(""));
  const auto other = news_.open(request(""));
  const auto refused = news_.open(request(""));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.stream, nullptr);
  EXPECT_EQ(news_.counts().streams, 2U);
  EXPECT_EQ(news_.counts().refused, 1U);
}

TEST_F(PackingStreamTest, CompareNothingWhileNobodyHasAsked) {
  bind("p");
  news_.look();
  EXPECT_TRUE(read().ends_with("-0"));
}

}  // namespace
}  // namespace tangram::extender
