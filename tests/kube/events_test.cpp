#include "kube/events.hpp"

#include "kube/local/api.hpp"
#include "tests/testing/fault_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace tangram::kube {
namespace {

using namespace std::chrono_literals;
using testing::CallMatch;
using testing::Fault;
using testing::json_at;

EventNote about(const std::string& pod, const std::string& note = "card GPU-1 has failed") {
  return {.kind = "Pod",
          .ns = "ml",
          .name = pod,
          .uid = "uid-of-" + pod,
          .type = EventNote::Type::kWarning,
          .reason = "CardFailed",
          .action = "Watching",
          .note = note};
}

// ---- what becomes of a note ----

class EventSeriesTest : public ::testing::Test {
 protected:
  /// "new", "2" for the second of a series, "-" for one that may not be written.
  std::string take(const EventNote& note) {
    const auto write = series.take(note);
    if (!write) return "-";
    return write->count == 1 ? "new" : std::to_string(write->count);
  }
  testing::ManualClock clock;
  EventSeries series{clock};
};

TEST_F(EventSeriesTest, SameNoteOfTheSameObjectIsCounted) {
  const auto first = series.take(about("a"));
  EXPECT_EQ(take(about("a", "other")), "new");
  EXPECT_EQ(take(about("b")), "new");
  EventNote renewed = about("a");
  renewed.uid = "another pod under the name";
  EXPECT_EQ(take(renewed), "new");
  clock.advance(10min);
  const auto second = series.take(about("a"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->count, 1);
  EXPECT_EQ(second->count, 2);
  EXPECT_EQ(first->name, second->name);
}

TEST_F(EventSeriesTest, SeriesEndsTenMinutesAfterItsLastNote) {
  EXPECT_EQ(take(about("a")), "new");
  clock.advance(10min);
  EXPECT_EQ(take(about("a")), "2");
  clock.advance(10min);
  EXPECT_EQ(take(about("a")), "3");
  clock.advance(10min + 1ms);
  EXPECT_EQ(take(about("a")), "new");
}

TEST_F(EventSeriesTest, ObjectHasABurstThenOneInFiveMinutesAndNothingIsUncounted) {
  for (int i = 1; i <= 25; ++i) EXPECT_NE(take(about("a")), "-") << i;
  EXPECT_EQ(take(about("a")), "-");
  EXPECT_EQ(take(about("a", "something else")), "-") << "the limit is the object's";
  EXPECT_EQ(take(about("b")), "new");
  clock.advance(5min - 1ms);
  EXPECT_EQ(take(about("a")), "-");
  clock.advance(1ms);
  EXPECT_EQ(take(about("a")), "28");
  EXPECT_EQ(take(about("a")), "-");
}

TEST_F(EventSeriesTest, FirstNoteThatMayBeWrittenMakesTheEvent) {
  for (int i = 0; i < 25; ++i) (void)take(about("a", std::to_string(i)));
  EXPECT_EQ(take(about("a", "late")), "-");
  clock.advance(5min);
  EXPECT_EQ(take(about("a", "late")), "new");
}

TEST_F(EventSeriesTest, AllObjectsTogetherHaveALimitToo) {
  const auto written = [&](const std::string& prefix, int notes) {
    int count = 0;
    for (int i = 0; i < notes; ++i) {
      if (take(about(prefix + std::to_string(i))) != "-") ++count;
    }
    return count;
  };
  EXPECT_EQ(written("a", 150), 100);
  clock.advance(1s);
  EXPECT_EQ(written("b", 150), 10);
}

TEST_F(EventSeriesTest, RemembersOnlyTheLatest) {
  EXPECT_EQ(take(about("first")), "new");
  EXPECT_EQ(take(about("kept")), "new");
  for (int i = 0; i < 4095; ++i) {
    clock.advance(100ms);  // as fast as all together may be written
    ASSERT_EQ(take(about("p" + std::to_string(i))), "new");
    if (i == 2000) {
      ASSERT_EQ(take(about("kept")), "2");
    }
  }
  EXPECT_EQ(take(about("kept")), "3");
  EXPECT_EQ(take(about("first")), "new");
}

TEST_F(EventSeriesTest, NamesAreDifferentAndValid) {
  std::set<std::string> names;
  for (int i = 0; i < 20; ++i) names.insert(series.take(about("a", std::to_string(i)))->name);
  EXPECT_EQ(names.size(), 20U) << "though the clock stands still";
  EXPECT_TRUE(names.begin()->starts_with("a.")) << *names.begin();
  // Cut at the dot, which may not stand before another one.
  const std::string name = series.take(about(std::string(235, 'x') + "." + "yy"))->name;
  EXPECT_TRUE(name.starts_with(std::string(235, 'x') + ".1")) << name;
  EXPECT_LE(name.size(), 253U);
}

// ---- writing ----

class EventRecorderTest : public ::testing::Test {
 protected:
  /// The events of a namespace, as stored.
  std::vector<std::string> events(const std::string& ns = "ml") {
    const std::string path = "/apis/events.k8s.io/v1/namespaces/" + ns + "/events";
    return testing::items_of(local.call(testing::get_request(path))->body);
  }
  void say(const EventNote& note) {
    recorder.record(note);
    recorder.flush();
  }

  testing::ManualClock clock;
  LocalApi local{clock};
  testing::FaultApi api{local};
  EventRecorder recorder{api, {.instance = "extender-0"}, clock};
  const CallMatch creation{Method::kPost, "/events"};
};

TEST_F(EventRecorderTest, WritesWhatDescribeShows) {
  say(about("train-0"));
  ASSERT_EQ(events().size(), 1U);
  const std::string event = events()[0];
  EXPECT_TRUE(json_at(event, "metadata.name").starts_with("train-0."));
  EXPECT_EQ(json_at(event, "metadata.namespace"), "ml");
  EXPECT_EQ(json_at(event, "eventTime"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(json_at(event, "reportingController"), "tangram.dev/extender");
  EXPECT_EQ(json_at(event, "reportingInstance"), "extender-0");
  EXPECT_EQ(json_at(event, "type"), "Warning");
  EXPECT_EQ(json_at(event, "reason"), "CardFailed");
  EXPECT_EQ(json_at(event, "action"), "Watching");
  EXPECT_EQ(json_at(event, "note"), "card GPU-1 has failed");
  EXPECT_EQ(json_at(event, "regarding"),
            R"({"apiVersion":"v1","kind":"Pod","name":"train-0","namespace":"ml",)"
            R"("uid":"uid-of-train-0"})");
  EXPECT_EQ(json_at(event, "series"), "<none>");
  EXPECT_EQ(recorder.counts().written, 1U);
}

TEST_F(EventRecorderTest, RepeatsAreASeriesOfOneEvent) {
  say(about("a"));
  clock.advance(2s);
  say(about("a"));
  clock.advance(2s);
  say(about("a"));
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(json_at(events()[0], "series.count"), "3");
  EXPECT_EQ(json_at(events()[0], "series.lastObservedTime"), "2026-01-01T00:00:04.000000Z");
  EXPECT_EQ(json_at(events()[0], "eventTime"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(api.calls().size(), 3U);
}

TEST_F(EventRecorderTest, EventsOfNodesLieInTheDefaultNamespace) {
  say({.kind = "Node",
       .ns = "",
       .name = "n1",
       .uid = "",
       .reason = "R",
       .action = "A",
       .note = "x"});
  ASSERT_EQ(events("default").size(), 1U);
  EXPECT_EQ(json_at(events("default")[0], "regarding"),
            R"({"apiVersion":"v1","kind":"Node","name":"n1"})");
  EXPECT_EQ(json_at(events("default")[0], "type"), "Normal");
}

TEST_F(EventRecorderTest, LongNotesAreCutBetweenCharacters) {
  say(about("a", std::string(1023, 'x') + "é"));
  EXPECT_EQ(json_at(events().at(0), "note"), std::string(1023, 'x'));
}

TEST_F(EventRecorderTest, EventThatHasExpiredIsWrittenAnew) {
  say(about("a"));
  Request erase = testing::get_request("/apis/events.k8s.io/v1/namespaces/ml/events/" +
                                       json_at(events().at(0), "metadata.name"));
  erase.method = Method::kDelete;
  ASSERT_EQ(local.call(erase)->status, 200);
  say(about("a"));
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(json_at(events()[0], "series"), "<none>");
  say(about("a"));
  EXPECT_EQ(json_at(events()[0], "series.count"), "2");
}

TEST_F(EventRecorderTest, EventThatWasNotTakenIsCountedAndMadeAtTheNextNote) {
  api.will_answer(creation, 500);
  api.will(creation, Fault::Kind::kRefuseBefore);
  say(about("a"));
  say(about("a"));
  EXPECT_EQ(events().size(), 0U);
  EXPECT_EQ(recorder.counts().failed, 2U);
  say(about("a"));
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(json_at(events()[0], "series"), "<none>");
}

TEST_F(EventRecorderTest, FullQueueDropsAndNeverBlocks) {
  api.will(creation, Fault::Kind::kHold);
  recorder.record(about("held"));
  api.await_held(1);
  for (int i = 0; i < 1003; ++i) recorder.record(about("p" + std::to_string(i)));
  EXPECT_EQ(recorder.counts().overflow, 3U);
  api.release();
  recorder.flush();
  const auto counts = recorder.counts();
  EXPECT_EQ(counts.written, 100U);
  EXPECT_EQ(counts.limited, 901U);
}

TEST_F(EventRecorderTest, ManyThreadsRecordAtOnce) {
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 10; ++i) recorder.record(about("p" + std::to_string(t)));
      });
    }
  }
  recorder.flush();
  EXPECT_EQ(events().size(), 8U);
  for (const std::string& event : events()) EXPECT_EQ(json_at(event, "series.count"), "10");
  EXPECT_EQ(recorder.counts().written, 80U);
}

TEST(EventRecorderEndTest, EndsWithAFullQueue) {
  testing::ManualClock clock;
  LocalApi local(clock);
  testing::FaultApi api(local);
  api.will({Method::kPost, "/events"}, Fault::Kind::kHold);
  std::optional<EventRecorder> recorder;
  recorder.emplace(api, EventReporter{.instance = "x"}, clock);
  for (int i = 0; i < 50; ++i) recorder->record(about("p" + std::to_string(i)));
  api.await_held(1);
  std::jthread ender([&] { recorder.reset(); });
  api.release();
  ender.join();
  EXPECT_LE(api.calls().size(), 50U);
}

}  // namespace
}  // namespace tangram::kube
