#include "extender/page/broadcast.hpp"

#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::extender {
namespace {

constexpr std::uint64_t kLife = 0xaf;

struct IdCase {
  std::string name;
  std::string text;
  bool taken = false;
  friend void PrintTo(const IdCase& c, std::ostream* out) { *out << c.name; }
};
class EventIdTest : public ::testing::TestWithParam<IdCase> {};

TEST_P(EventIdTest, TakesOneSpellingOnly) {
  const auto id = parse_event_id(GetParam().text);
  ASSERT_EQ(id.has_value(), GetParam().taken);
  if (id) {
    EXPECT_EQ(to_string(*id), GetParam().text);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EventIdTest,
                         ::testing::ValuesIn(std::vector<IdCase>{
                             {"Smallest", "0000000000000000-0", true},
                             {"Usual", "00000000000000af-17", true},
                             {"Largest", "ffffffffffffffff-18446744073709551615", true},
                             {"Empty", ""},
                             {"OnlyLife", "00000000000000af"},
                             {"NoNumber", "00000000000000af-"},
                             {"TooLarge", "00000000000000af-18446744073709551616"},
                             {"Negative", "00000000000000af--1"},
                             {"Signed", "00000000000000af-+1"},
                             {"Capitals", "00000000000000AF-1"},
                             {"ZeroBefore", "00000000000000af-01"},
                             {"Prefixed", "0x000000000000af-1"},
                             {"ShortLife", "af-1"},
                             {"Blank", "00000000000000af-1 "},
                             {"More", "00000000000000af-1\n2"},
                             {"Long", std::string(100'000, '1')},
                         }),
                         [](const auto& row) { return row.param.name; });

class BroadcastTest : public ::testing::Test {
 protected:
  using Stream = std::shared_ptr<http::BodyStream>;

  /// All that the stream has to say now.
  std::string take(const Stream& stream) {
    std::string text;
    for (auto step = next(stream); step.piece; step = next(stream)) text += *step.piece;
    return text;
  }
  http::BodyStream::Step next(const Stream& stream) {
    return stream->take_or_wake([this] { ++wakes_; });
  }
  static std::string event(int number, const std::string& data) {
    return "id: " + to_string({kLife, static_cast<std::uint64_t>(number)}) +
           "\nevent: change\ndata: " + data + "\n\n";
  }

  testing::ManualClock clock_;
  BroadcastLimits limits_{.streams = 3, .kept_bytes = 1'000, .kept_events = 4};
  Broadcast cast_{kLife, clock_, limits_};
  int wakes_ = 0;
};

TEST_F(BroadcastTest, TellsANewcomerThatItMustReadAnew) {
  cast_.publish("change", "1");
  const auto stream = cast_.open(std::nullopt);
  const std::string hello = take(stream);
  EXPECT_NE(hello.find("event: hello\ndata: {\"resumed\":false}\n\n"), std::string::npos) << hello;
  EXPECT_NE(hello.find("id: 00000000000000af-1\n"), std::string::npos) << hello;
  EXPECT_EQ(take(stream), "") << "what came before it is not sent";
}

TEST_F(BroadcastTest, SharesOneTextAmongAllStreams) {
  const auto one = cast_.open(std::nullopt);
  const auto other = cast_.open(std::nullopt);
  take(one);
  take(other);
  EXPECT_EQ(wakes_, 0);
  cast_.publish("change", "{}");
  EXPECT_EQ(wakes_, 2);
  const auto first = next(one);
  const auto second = next(other);
  EXPECT_EQ(*first.piece, event(1, "{}"));
  EXPECT_EQ(first.piece.get(), second.piece.get());
}

TEST_F(BroadcastTest, WakesOncePerAsking) {
  const auto stream = cast_.open(std::nullopt);
  take(stream);
  cast_.publish("change", "1");
  cast_.publish("change", "2");
  EXPECT_EQ(wakes_, 1);
  EXPECT_EQ(take(stream), event(1, "1") + event(2, "2"));
}

TEST_F(BroadcastTest, ResumesBehindTheLastEventSeen) {
  for (int i = 1; i <= 3; ++i) cast_.publish("change", std::to_string(i));
  const auto stream = cast_.open(EventId{kLife, 1});
  const std::string sent = take(stream);
  EXPECT_NE(sent.find("{\"resumed\":true}"), std::string::npos) << sent;
  EXPECT_TRUE(sent.ends_with(event(2, "2") + event(3, "3"))) << sent;
}

TEST_F(BroadcastTest, ResumesWhereNothingWasMissed) {
  EXPECT_NE(take(cast_.open(EventId{kLife, 0})).find("true"), std::string::npos);
  cast_.publish("change", "1");
  EXPECT_NE(take(cast_.open(EventId{kLife, 1})).find("true"), std::string::npos);
}

TEST_F(BroadcastTest, DoesNotResumeBehindWhatIsNotKept) {
  for (int i = 1; i <= 6; ++i) cast_.publish("change", std::to_string(i));
  EXPECT_NE(take(cast_.open(EventId{kLife, 2})).find("true"), std::string::npos) << "3..6 are kept";
  EXPECT_NE(take(cast_.open(EventId{kLife, 1})).find("false"), std::string::npos);
}

TEST_F(BroadcastTest, DoesNotResumeBehindWhatNeverWas) {
  cast_.publish("change", "1");
  constexpr auto kMost = ~std::uint64_t{0};
  for (const EventId id :
       {EventId{kLife, 2}, EventId{kLife, kMost}, EventId{kLife + 1, 1}, EventId{0, 0}}) {
    EXPECT_NE(take(cast_.open(id)).find("false"), std::string::npos) << to_string(id);
  }
}

TEST_F(BroadcastTest, DoesNotResumeBehindWhatWasNotTold) {
  cast_.publish("change", "1");
  cast_.forget();
  EXPECT_NE(take(cast_.open(EventId{kLife, 1})).find("false"), std::string::npos);
  EXPECT_NE(take(cast_.open(cast_.newest())).find("true"), std::string::npos);
}

TEST_F(BroadcastTest, KeepsNoMoreBytesThanItMay) {
  cast_.publish("change", std::string(600, 'a'));
  cast_.publish("change", std::string(600, 'b'));
  EXPECT_NE(take(cast_.open(EventId{kLife, 0})).find("false"), std::string::npos);
  EXPECT_NE(take(cast_.open(EventId{kLife, 1})).find("true"), std::string::npos);
}

TEST_F(BroadcastTest, TellsAnEventLargerThanItKeeps) {
  const auto stream = cast_.open(std::nullopt);
  take(stream);
  cast_.publish("change", std::string(5'000, 'a'));
  EXPECT_EQ(take(stream), event(1, std::string(5'000, 'a')));
}

TEST_F(BroadcastTest, DropsAStreamThatFallsBehind) {
  const auto slow = cast_.open(std::nullopt);
  const auto quick = cast_.open(std::nullopt);
  take(slow);
  take(quick);
  for (int i = 1; i <= 5; ++i) {
    cast_.publish("change", "x");
    EXPECT_EQ(take(quick), event(i, "x"));
  }
  EXPECT_TRUE(next(slow).ended);
  EXPECT_EQ(cast_.counts().dropped, 1U);
  EXPECT_FALSE(next(quick).ended);
}

TEST_F(BroadcastTest, OpensNoMoreStreamsThanItMay) {
  std::vector<Stream> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(cast_.open(std::nullopt));
  EXPECT_EQ(cast_.open(std::nullopt), nullptr);
  EXPECT_EQ(cast_.counts().streams, 3U);
  EXPECT_EQ(cast_.counts().refused, 1U);
  streams.pop_back();  // its connection ended
  EXPECT_EQ(cast_.counts().streams, 2U);
  EXPECT_NE(cast_.open(std::nullopt), nullptr);
}

TEST_F(BroadcastTest, BeatsOnlyForThoseWhoHeardNothing) {
  const auto idle = cast_.open(std::nullopt);
  take(idle);
  cast_.beat();
  EXPECT_EQ(wakes_, 1);
  EXPECT_EQ(take(idle), "event: beat\ndata: {}\n\n");
  cast_.publish("change", "1");
  cast_.beat();
  EXPECT_EQ(take(idle), event(1, "1"));
}

TEST_F(BroadcastTest, EndsAStreamThatLastsTooLong) {
  const auto stream = cast_.open(std::nullopt);
  take(stream);
  clock_.advance(limits_.longest - std::chrono::seconds(1));
  EXPECT_FALSE(next(stream).ended);
  clock_.advance(std::chrono::seconds(1));
  EXPECT_TRUE(next(stream).ended);
}

TEST_F(BroadcastTest, EndsAllStreamsWhenItCloses) {
  const auto stream = cast_.open(std::nullopt);
  take(stream);
  cast_.close();
  EXPECT_EQ(wakes_, 1);
  EXPECT_TRUE(next(stream).ended);
  EXPECT_EQ(cast_.open(std::nullopt), nullptr);
}

TEST(BroadcastLifeTest, IsOutlivedByItsStreams) {
  const testing::ManualClock clock;
  std::shared_ptr<http::BodyStream> stream;
  {
    Broadcast cast(kLife, clock);
    stream = cast.open(std::nullopt);
  }
  EXPECT_NE(stream->take_or_wake([] {}).piece, nullptr);  // its greeting
  EXPECT_TRUE(stream->take_or_wake([] {}).ended);
}

}  // namespace
}  // namespace tangram::extender
