#include "kube/reflector.hpp"

#include "kube/local/api.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/kube_scripted_api.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <thread>

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;
using testing::json_at;
using testing::ScriptedApi;
using Lines = std::vector<std::string>;

/// Writes down what it is told; waits for a line when a test needs to.
class RecordingSink final : public WholeListSink {
 public:
  void replace(std::vector<std::string> objects) override {
    std::string line = "=";
    for (const std::string& object : objects) line += " " + json_at(object, "metadata.name");
    add(std::move(line));
  }
  void change(EventType type, std::string_view object) override {
    const char sign = type == EventType::kAdded ? '+' : type == EventType::kModified ? '~' : '-';
    add(sign + json_at(std::string(object), "metadata.name"));
  }
  Lines lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  /// @returns false if it does not come within 10 s
  bool wait_for(const std::string& line) {
    std::unique_lock lock(mutex_);
    return added_.wait_for(lock, std::chrono::seconds(10),
                           [&] { return !lines_.empty() && lines_.back() == line; });
  }

 private:
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    added_.notify_all();
  }
  mutable std::mutex mutex_;
  std::condition_variable added_;
  Lines lines_;
};

std::string list(const std::string& version, const Lines& names, const std::string& more = "") {
  std::string text = R"({"kind":"PodList","metadata":{"resourceVersion":")" + version +
                     R"(","continue":")" + more + R"("},"items":[)";
  for (const std::string& name : names) {
    if (text.back() != '[') text += ',';
    text += R"({"metadata":{"name":")" + name + R"("},"spec":{"x":"\u00e9]}"}})";
  }
  return text + "]}";
}

std::string frame(const std::string& type, const std::string& name, const std::string& version) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"name":")" + name +
         R"(","resourceVersion":")" + version + R"("}}})";
}

std::string error_frame(int code) {
  return R"({"type":"ERROR","object":{"kind":"Status","metadata":{},"message":"m","code":)" +
         std::to_string(code) + "}}";
}

std::string list_end(const std::string& version) {
  return R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" + version +
         R"(","annotations":{"a":"b","k8s.io/initial-events-end":"true"}}}})";
}

class ReflectorTest : public ::testing::Test {
 protected:
  ReflectorTest() {
    api.finished = [this] { stop.request_stop(); };
  }
  /// Runs until the script has run out.
  void run() { reflector.run(stop.get_token()); }
  [[nodiscard]] std::string asked(std::size_t watch, const std::string& name) const {
    const auto& query = api.opened().at(watch).query;
    return query.contains(name) ? query.at(name) : "";
  }

  testing::ManualClock clock;
  ScriptedApi api;
  RecordingSink sink;
  std::stop_source stop;
  std::vector<std::int64_t> slept;
  Reflector reflector{
      api,
      {.path = "/api/v1/pods",
       .field_selector = "spec.nodeName=n1",
       .page_size = 2,
       .max_kept_bytes = 1'000},
      sink,
      clock,
      [this](milliseconds wait, const std::stop_token&) { slept.push_back(wait.count()); }};
};

/// Before a server that refuses streaming lists, as those before Kubernetes 1.34 do.
class ReflectorListTest : public ReflectorTest {
 protected:
  Reflector* waiting_ = nullptr;
  ReflectorListTest() { api.will_watch({}, ScriptedApi::ended(422)); }
  /// Of the watches after the refusal.
  [[nodiscard]] std::string asked(std::size_t watch, const std::string& name) const {
    return ReflectorTest::asked(watch + 1, name);
  }
};

TEST_F(ReflectorListTest, ListsAllPagesThenWatchesFromTheList) {
  api.will_answer(200, list("7", {"a", "b"}, "next"));
  api.will_answer(200, list("7", {"c"}));
  api.will_watch(
      {frame("ADDED", "d", "8"), frame("MODIFIED", "a", "9"), frame("DELETED", "b", "10")});
  run();
  EXPECT_EQ(sink.lines(), (Lines{"= a b c", "+d", "~a", "-b"}));
  ASSERT_EQ(api.calls().size(), 2U);
  EXPECT_EQ(api.calls()[0].query.at("limit"), "2");
  EXPECT_EQ(api.calls()[0].query.at("fieldSelector"), "spec.nodeName=n1");
  EXPECT_FALSE(api.calls()[0].query.contains("continue"));
  EXPECT_EQ(api.calls()[1].query.at("continue"), "next");
  EXPECT_EQ(asked(0, "resourceVersion"), "7");
  EXPECT_EQ(asked(0, "fieldSelector"), "spec.nodeName=n1");
  EXPECT_EQ(asked(0, "allowWatchBookmarks"), "true");
  EXPECT_EQ(asked(1, "resourceVersion"), "10");
  EXPECT_EQ(slept, std::vector<std::int64_t>{});
  const auto health = reflector.health();
  EXPECT_TRUE(health.synced);
  EXPECT_EQ(health.lists, 1U);
  EXPECT_EQ(health.watches, 2U);
}

TEST_F(ReflectorListTest, ReturnsWhereTheServerNeedNotHaveTheKind) {
  Reflector optional(api, {.path = "/apis/g/v1/things", .optional = true}, sink, clock);
  api.will_answer(404, R"({"kind":"Status","message":"no such kind"})");
  api.will_answer(200, list("1", {}));
  optional.run(stop.get_token());
  EXPECT_EQ(api.calls().size(), 1U);
  EXPECT_EQ(sink.lines(), Lines{});
  EXPECT_FALSE(optional.health().synced);
}

TEST_F(ReflectorTest, ReturnsWhereItMayNotReadAKindThatTheServerNeedNotHave) {
  Reflector optional(api, {.path = "/apis/g/v1/things", .optional = true}, sink, clock);
  api.will_watch({}, ScriptedApi::ended(403));  // also what servers without streaming lists say
  api.will_answer(403, R"({"message":"forbidden"})");
  api.will_answer(200, list("1", {}));
  optional.run(stop.get_token());
  EXPECT_EQ(api.calls().size(), 1U);
  EXPECT_EQ(sink.lines(), Lines{});
}

TEST_F(ReflectorTest, WatchesTheFirstVersionThatTheServerHasAndLooksForOneAgain) {
  const auto absent = ScriptedApi::ended(404, R"({"message":"no such kind"})");
  api.will_watch({}, absent);
  api.will_watch({}, absent);
  api.will_watch({}, absent);
  api.will_watch({frame("ADDED", "a", "1"), list_end("1"), frame("ADDED", "b", "2")}, absent);
  api.will_watch({}, absent);
  api.will_watch({}, absent);
  watch_if_served(api, {{.path = "/apis/g/v2/things"}, {.path = "/apis/g/v1/things"}}, sink, clock,
                  stop.get_token(), [this](milliseconds wait, const std::stop_token&) {
                    slept.push_back(wait.count());
                    if (slept.size() == 3) stop.request_stop();
                  });
  EXPECT_EQ(sink.lines(), (Lines{"= a", "+b"}));
  std::vector<std::string> paths;
  for (const auto& request : api.opened()) paths.push_back(request.path);
  EXPECT_EQ(paths, (Lines{"/apis/g/v2/things", "/apis/g/v1/things", "/apis/g/v2/things",
                          "/apis/g/v1/things", "/apis/g/v2/things", "/apis/g/v1/things"}));
  EXPECT_EQ(slept, (std::vector<std::int64_t>{60'000, 60'000, 60'000}));
}

TEST_F(ReflectorListTest, BookmarksMoveTheVersionAndTellNobody) {
  api.will_answer(200, list("7", {}));
  api.will_watch({frame("BOOKMARK", "", "50")});
  run();
  EXPECT_EQ(sink.lines(), Lines{"="});
  EXPECT_EQ(asked(1, "resourceVersion"), "50");
}

TEST_F(ReflectorListTest, ListThatExpiresHalfwayStartsOver) {
  api.will_answer(200, list("7", {"a"}, "next"));
  api.will_answer(410, R"({"kind":"Status","message":"expired"})");
  api.will_answer(200, list("9", {"b"}));
  run();
  EXPECT_EQ(sink.lines(), Lines{"= b"});
  EXPECT_FALSE(api.calls().at(2).query.contains("continue"));
  EXPECT_EQ(asked(0, "resourceVersion"), "9");
  EXPECT_EQ(reflector.health().lists, 1U);
}

TEST_F(ReflectorListTest, APageThatComesAgainAndAgainIsNoList) {
  api.will_answer(200, list("7", {"a"}, "next"));
  api.will_answer(200, list("7", {"a"}, "next"));
  api.will_answer(200, list("9", {"b"}));
  run();
  EXPECT_EQ(sink.lines(), Lines{"= b"});
  EXPECT_FALSE(api.calls().at(2).query.contains("continue"));
  EXPECT_EQ(slept, std::vector<std::int64_t>{800});
}

TEST_F(ReflectorListTest, PagesThatComeRoundAreNoList) {
  for (const char* page : {"1", "2", "1"}) api.will_answer(200, list("7", {"a"}, page));
  api.will_answer(200, list("9", {"b"}));
  run();
  EXPECT_EQ(sink.lines(), Lines{"= b"});
  EXPECT_FALSE(api.calls().at(3).query.contains("continue"));
  EXPECT_EQ(slept, std::vector<std::int64_t>{800});
}

/// Counts what is listed and keeps nothing.
class CountingSink final : public ObjectSink {
 public:
  void begin_list() override { bytes = 0; }
  void listed(std::string_view object) override { bytes += object.size(); }
  void unlisted(std::string_view) override {}
  void end_list() override { ++lists; }
  void change(EventType, std::string_view) override {}
  [[nodiscard]] std::size_t kept_bytes() const override { return 0; }
  std::size_t bytes = 0;
  int lists = 0;
};

TEST_F(ReflectorListTest, TakesPagesWithoutEndOfWhichItKeepsNothing) {
  CountingSink counts;
  Reflector whole(api, {.path = "/x", .field_selector = "", .max_kept_bytes = 1'000}, counts, clock,
                  [](milliseconds, const std::stop_token&) {});
  for (int page = 0; page < 20; ++page) {
    api.will_answer(200, list("7", {std::string(400, 'x')}, page < 19 ? std::to_string(page) : ""));
  }
  whole.run(stop.get_token());
  EXPECT_EQ(counts.lists, 1);
  EXPECT_GT(counts.bytes, 8'000U);
}

TEST_F(ReflectorListTest, ListWithoutEndIsGivenUp) {
  const std::string long_name(200, 'x');
  for (const char* page : {"1", "2", "3"}) {
    api.will_answer(200, list("7", {long_name + page}, page));
  }
  api.will_answer(200, list("9", {"b"}));
  run();
  EXPECT_EQ(sink.lines(), Lines{"= b"});
  EXPECT_EQ(api.calls().size(), 4U);
  EXPECT_EQ(slept, std::vector<std::int64_t>{800});
}

TEST_F(ReflectorListTest, ExpiredWatchListsAgainAtOnceThenAfterBackoff) {
  api.will_answer(200, list("7", {"a"}));
  api.will_watch({error_frame(410)});
  api.will_answer(200, list("8", {"b"}));
  api.will_watch({}, ScriptedApi::ended(410));
  api.will_answer(200, list("9", {"c"}));
  api.will_watch({frame("ADDED", "d", "10")});
  run();
  EXPECT_EQ(sink.lines(), (Lines{"= a", "= b", "= c", "+d"}));
  EXPECT_EQ(slept, std::vector<std::int64_t>{800});  // only before the third list
  EXPECT_EQ(reflector.health().lists, 3U);
}

TEST_F(ReflectorListTest, BackoffDoublesToTheMaximumAndStartsAnew) {
  for (int i = 0; i < 7; ++i) api.will_answer(500, "");
  api.will_answer(200, list("7", {}));
  api.will_watch({}, fail(Errc::kTimeout, "cut"));
  api.will_watch({frame("ADDED", "a", "8")}, fail(Errc::kTimeout, "cut"));
  run();
  // The list succeeded but its watch said nothing: still the maximum. Then a word: anew.
  EXPECT_EQ(slept,
            (std::vector<std::int64_t>{800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 800}));
  EXPECT_EQ(sink.lines(), (Lines{"=", "+a"}));
  EXPECT_EQ(asked(2, "resourceVersion"), "8");
}

TEST_F(ReflectorListTest, FollowsWhileAWatchGoesOn) {
  std::vector<bool> following;
  const auto note = [&](const Reflector& one) { following.push_back(one.health().following); };
  Reflector* noted = nullptr;
  Reflector pausing{api,
                    {.path = "/api/v1/pods", .field_selector = ""},
                    sink,
                    clock,
                    [&](milliseconds, const std::stop_token&) { note(*noted); }};
  noted = &pausing;
  api.will_answer(500, "");  // and a pause
  api.will_answer(200, list("7", {}));
  api.will_watch({frame("ADDED", "a", "8")}, ScriptedApi::ended(), [&] { note(pausing); });
  api.will_watch({}, fail(Errc::kTimeout, "cut"), [&] { note(pausing); });  // and a pause
  api.will_watch({}, ScriptedApi::ended(410), [&] { note(pausing); });      // no pause: a list
  pausing.run(stop.get_token());
  EXPECT_EQ(following, (std::vector<bool>{false, true, true, false, true}));
  EXPECT_FALSE(pausing.health().following) << "it was reading a list when the script ran out";
}

TEST_F(ReflectorListTest, HonoursRetryAfter) {
  api.will_answer(Response{.status = 429, .body = "later", .retry_after = std::chrono::seconds(5)});
  api.will_answer(200, list("7", {}));
  run();
  EXPECT_EQ(slept, std::vector<std::int64_t>{5000});
}

TEST_F(ReflectorListTest, WatchThatEndsAtOnceAndSilentBacksOff) {
  api.will_answer(200, list("7", {}));
  api.will_watch({});
  api.will_watch({});
  run();
  EXPECT_EQ(slept, (std::vector<std::int64_t>{800, 1600}));
  EXPECT_EQ(asked(2, "resourceVersion"), "7");
}

TEST_F(ReflectorListTest, OtherErrorFrameWatchesAgainFromTheSameVersion) {
  api.will_answer(200, list("7", {}));
  api.will_watch({error_frame(500)});
  run();
  EXPECT_EQ(slept, std::vector<std::int64_t>{800});
  EXPECT_EQ(asked(1, "resourceVersion"), "7");
  EXPECT_EQ(reflector.health().lists, 1U);
}

TEST_F(ReflectorListTest, BrokenFramesTellTheSinkNothing) {
  api.will_answer(200, list("7", {"a"}));
  const Lines broken{"",
                     "{",
                     "[]",
                     R"({"type":"ADDED"})",
                     R"({"type":"ADDED","object":[]})",
                     R"({"type":"ADDED","object":{"metadata":{}}})",
                     R"({"type":"RENAMED","object":{"metadata":{"resourceVersion":"8"}}})"};
  for (const std::string& text : broken) api.will_watch({text});
  run();
  EXPECT_EQ(sink.lines(), Lines{"= a"});
  EXPECT_EQ(slept.size(), broken.size());
  for (std::size_t i = 0; i <= broken.size(); ++i) EXPECT_EQ(asked(i, "resourceVersion"), "7");
}

TEST_F(ReflectorListTest, BrokenListsTellTheSinkNothing) {
  const Lines broken{"", "[]", R"({"items":[]})",
                     R"({"metadata":{"resourceVersion":"1"},"items":[5]})"};
  for (const std::string& text : broken) api.will_answer(200, text);
  run();
  EXPECT_EQ(sink.lines(), Lines{});
  EXPECT_EQ(slept.size(), broken.size());
  EXPECT_FALSE(reflector.health().synced);
}

// ---- a frame that is too long: the same watch would come to it again ----

TEST_F(ReflectorTest, FrameThatIsTooLongIsFollowedByAListByPages) {
  api.will_watch({frame("ADDED", "a", "3"), list_end("7"), frame("ADDED", "b", "8")},
                 fail(Errc::kTooLarge, "a frame is longer than 10 bytes"));
  api.will_answer(200, list("20", {"a", "b", "large"}));
  api.will_watch({frame("ADDED", "c", "21")});
  run();
  EXPECT_EQ(sink.lines(), (Lines{"= a", "+b", "= a b large", "+c"}));
  EXPECT_EQ(asked(1, "resourceVersion"), "20");
  EXPECT_EQ(slept, std::vector<std::int64_t>{800});
  EXPECT_EQ(reflector.health().errors, 1U);
}

TEST_F(ReflectorTest, ListsAgainAfterABackoffHoweverManyFramesAreTooLong) {
  const auto too_long = [] { return fail(Errc::kTooLarge, "too long"); };
  api.will_watch({list_end("7"), frame("ADDED", "a", "8")}, too_long());
  api.will_answer(200, list("20", {}));
  api.will_watch({frame("ADDED", "b", "21")}, too_long());  // with an event: the first back-off
  api.will_answer(200, list("30", {}));
  api.will_watch({}, too_long());
  api.will_answer(200, list("40", {}));
  api.will_watch({}, too_long());
  api.will_answer(200, list("50", {}));
  run();
  EXPECT_EQ(slept, (std::vector<std::int64_t>{800, 800, 1600, 3200}));
  EXPECT_EQ(asked(4, "resourceVersion"), "50");
}

TEST_F(ReflectorTest, StreamedListWithAFrameThatIsTooLongIsFollowedByPages) {
  api.will_watch({frame("ADDED", "a", "3")}, fail(Errc::kTooLarge, "too long"));
  api.will_answer(200, list("20", {"a", "large"}));
  run();
  EXPECT_EQ(sink.lines(), (Lines{"= a large"}));
  EXPECT_EQ(slept, std::vector<std::int64_t>{800});
}

// ---- a server that was restored from a backup: its versions begin again at an earlier one ----

TEST_F(ReflectorListTest, AsksWhereTheServerIsAfterAWatchThatSaidNothing) {
  api.current_version = "5";
  api.will_answer(200, list("7", {"a"}));
  api.will_watch({}, Response{.status = 200}, [this] { clock.advance(milliseconds(600'000)); });
  api.will_answer(200, list("5", {"b"}));
  run();
  EXPECT_EQ(sink.lines(), (Lines{"= a", "= b"}));
  EXPECT_EQ(asked(1, "resourceVersion"), "5");
}

TEST_F(ReflectorListTest, GoesOnAfterASilentWatchOfAKindThatNobodyChanges) {
  api.will_answer(200, list("7", {"a"}));
  for (int i = 0; i < 3; ++i) {
    api.will_watch({}, fail(Errc::kTimeout, "silent"),
                   [this] { clock.advance(milliseconds(180'000)); });
  }
  run();
  EXPECT_EQ(sink.lines(), Lines{"= a"});
  EXPECT_EQ(asked(3, "resourceVersion"), "7");
}

/// What a reflector tells of a server to its end, and where its last watch began.
std::pair<Lines, std::string> follow(ScriptedApi& api) {
  testing::ManualClock clock;
  std::stop_source end;
  api.finished = [&] { end.request_stop(); };
  RecordingSink told;
  Reflector reflector(api, {.path = "/x", .field_selector = ""}, told, clock,
                      [](milliseconds, const std::stop_token&) {});
  reflector.run(end.get_token());
  return {told.lines(), api.opened().back().query.at("resourceVersion")};
}

TEST(ReflectorRestoredTest, ListsAgainWhereTheServerIsBehind) {
  const std::vector<ScriptedApi::Outcome> ends{fail(Errc::kTimeout, "cut"), ScriptedApi::ended()};
  for (const auto& end : ends) {
    ScriptedApi api;
    api.will_watch({}, ScriptedApi::ended(422));
    api.will_answer(200, list("100", {"a"}));
    api.will_watch({frame("ADDED", "b", "101")}, end);
    api.current_version = "99";
    api.will_answer(200, list("99", {"a"}));
    EXPECT_EQ(follow(api), std::pair(Lines{"= a", "+b", "= a"}, std::string("99")));
  }
}

TEST(ReflectorRestoredTest, WatchesOnWhereTheServerIsNotBehind) {
  for (const char* version : {"101", "1000"}) {
    ScriptedApi api;
    api.will_watch({}, ScriptedApi::ended(422));
    api.will_answer(200, list("100", {"a"}));
    api.will_watch({frame("ADDED", "b", "101")}, fail(Errc::kTimeout, "cut"));
    api.current_version = version;
    EXPECT_EQ(follow(api), std::pair(Lines{"= a", "+b"}, std::string("101"))) << version;
  }
}

TEST(ReflectorRestoredTest, ListsAgainWhenTheVersionGoesBack) {
  for (const std::string& back : {frame("BOOKMARK", "", "9"), frame("ADDED", "b", "9")}) {
    ScriptedApi api;
    api.will_watch({}, ScriptedApi::ended(422));
    api.will_answer(200, list("100", {"a"}));
    api.will_watch({back, frame("ADDED", "c", "101")});
    api.will_answer(200, list("11", {"d"}));
    EXPECT_EQ(follow(api), std::pair(Lines{"= a", "= d"}, std::string("11"))) << back;
  }
}

// ---- streaming lists ----

TEST_F(ReflectorTest, StreamTellsTheListInOnePieceThenGoesOn) {
  api.will_watch({frame("ADDED", "b", "3"), frame("ADDED", "a", "5"), list_end("7"),
                  frame("ADDED", "c", "8"), frame("DELETED", "b", "9")});
  run();
  EXPECT_EQ(sink.lines(), (Lines{"= a b", "+c", "-b"}));
  EXPECT_EQ(api.calls().size(), 0U);
  EXPECT_EQ(asked(0, "sendInitialEvents"), "true");
  EXPECT_EQ(asked(0, "resourceVersionMatch"), "NotOlderThan");
  EXPECT_EQ(asked(0, "allowWatchBookmarks"), "true");
  EXPECT_EQ(asked(0, "fieldSelector"), "spec.nodeName=n1");
  EXPECT_FALSE(api.opened()[0].query.contains("resourceVersion")) << "would not be consistent";
  EXPECT_EQ(asked(1, "resourceVersion"), "9");
  EXPECT_EQ(asked(1, "sendInitialEvents"), "");
  EXPECT_EQ(slept, std::vector<std::int64_t>{});
  EXPECT_TRUE(reflector.health().synced);
  EXPECT_EQ(reflector.health().lists, 1U);
  EXPECT_EQ(reflector.health().watches, 2U);
}

TEST_F(ReflectorTest, ChangesBeforeTheEndOfTheStreamedListArePartOfIt) {
  api.will_watch({frame("ADDED", "a", "3"), frame("ADDED", "b", "4"), frame("MODIFIED", "a", "5"),
                  frame("DELETED", "b", "6"), list_end("7")});
  run();
  EXPECT_EQ(sink.lines(), Lines{"= a"});
}

TEST_F(ReflectorTest, TakesAListOfAnyLengthOfWhichItKeepsLittle) {
  const std::string name(400, 'x');
  Lines frames{frame("ADDED", name, "1")};
  for (const char* version : {"2", "3", "4", "5"}) {
    frames.push_back(frame("MODIFIED", name, version));
  }
  frames.push_back(list_end("6"));
  api.will_watch(frames);
  run();
  EXPECT_EQ(sink.lines(), Lines{"= " + name});
  EXPECT_EQ(slept, std::vector<std::int64_t>{});
}

TEST_F(ReflectorTest, StreamedListWithoutEndIsGivenUp) {
  const std::string long_name(400, 'x');
  api.will_watch({frame("ADDED", long_name + "1", "1"), frame("ADDED", long_name + "2", "2"),
                  frame("ADDED", long_name + "3", "3"), list_end("4")});
  api.will_answer(200, list("8", {"a"}));
  run();
  EXPECT_EQ(sink.lines(), Lines{"= a"});
  EXPECT_EQ(slept, std::vector<std::int64_t>{800});
}

/// Pages come through where a proxy cuts a long answer, and the next stream may where pages do not.
TEST_F(ReflectorTest, StreamThatBreaksHalfwayDeliversNothingAndIsFollowedByPages) {
  api.will_watch({frame("ADDED", "a", "3")}, fail(Errc::kTimeout, "cut"));
  api.will_answer(500, "busy");
  api.will_watch({frame("ADDED", "a", "3")});
  api.will_answer(500, "busy");
  api.will_watch({frame("ADDED", "a", "3"), "{"});
  api.will_answer(500, "busy");
  api.will_watch({}, ScriptedApi::ended(503));
  api.will_answer(200, list("7", {"b"}));
  run();
  EXPECT_EQ(sink.lines(), Lines{"= b"});
  EXPECT_EQ(slept, (std::vector<std::int64_t>{800, 1600, 3200, 6400, 12800, 25600, 30000}));
  EXPECT_EQ(asked(3, "sendInitialEvents"), "true");
  EXPECT_EQ(reflector.health().errors, 7U);
}

TEST_F(ReflectorTest, RefusedStreamsAreNotAskedForAgain) {
  for (const int status : {400, 403, 422}) {
    ScriptedApi old;
    std::stop_source end;
    old.finished = [&] { end.request_stop(); };
    old.will_watch({}, ScriptedApi::ended(status));
    old.will_answer(200, list("7", {"a"}));
    old.will_watch({error_frame(410)});
    old.will_answer(200, list("8", {"b"}));
    RecordingSink told;
    Reflector patient(old, {.path = "/x", .field_selector = ""}, told, clock,
                      [](milliseconds, const std::stop_token&) {});
    patient.run(end.get_token());
    EXPECT_EQ(told.lines(), (Lines{"= a", "= b"})) << status;
    EXPECT_EQ(patient.health().errors, 1U) << "the 410 alone";
    ASSERT_EQ(old.opened().size(), 3U);
    EXPECT_FALSE(old.opened()[1].query.contains("sendInitialEvents"));
  }
}

TEST_F(ReflectorTest, ServerThatPassesOverTheQuestionIsAskedForPages) {
  api.will_watch({frame("ADDED", "a", "3"), frame("BOOKMARK", "", "4"), frame("ADDED", "z", "5")});
  api.will_answer(200, list("7", {"b"}));
  run();
  EXPECT_EQ(sink.lines(), Lines{"= b"});
  EXPECT_EQ(slept, std::vector<std::int64_t>{});
}

TEST_F(ReflectorTest, ExpiredWatchStreamsTheListAgain) {
  api.will_watch({frame("ADDED", "a", "3"), list_end("7"), error_frame(410)});
  api.will_watch({frame("ADDED", "b", "8"), list_end("9")});
  run();
  EXPECT_EQ(sink.lines(), (Lines{"= a", "= b"}));
  EXPECT_EQ(slept, std::vector<std::int64_t>{});
}

TEST_F(ReflectorTest, GivesAStreamedListMoreTimeThanAWatch) {
  api.will_watch({frame("ADDED", "a", "3"), list_end("7")});
  run();
  EXPECT_GE(std::stoi(asked(0, "timeoutSeconds")), 1'800);
  EXPECT_GE(api.opened()[0].timeout, std::chrono::seconds(1'830));
  EXPECT_LE(std::stoi(asked(1, "timeoutSeconds")), 600);
}

// ---- relist ----

TEST_F(ReflectorListTest, RelistBeforeTheFirstListIsServedByIt) {
  EXPECT_EQ(reflector.relist(), 1U);
  EXPECT_EQ(reflector.relist(), 2U);
  api.will_answer(200, list("7", {}));
  run();
  EXPECT_EQ(reflector.health().lists, 1U);
  EXPECT_EQ(reflector.health().relisted, 2U);
}

TEST_F(ReflectorListTest, RelistUnlessAskedAsksOnceUntilItIsServed) {
  reflector.relist_unless_asked();
  reflector.relist_unless_asked();
  api.will_answer(200, list("7", {}));
  run();
  EXPECT_EQ(reflector.health().relisted, 1U);
  reflector.relist_unless_asked();
  EXPECT_EQ(reflector.relist(), 3U);
}

TEST(ReflectorLocalTest, RelistCutsAWatchAndListsAnew) {
  testing::ManualClock clock;
  LocalApi api(clock);
  RecordingSink sink;
  Reflector reflector(api, {.path = "/api/v1/pods", .field_selector = ""}, sink, clock);
  std::jthread thread([&](const std::stop_token& stop) { reflector.run(stop); });
  ASSERT_TRUE(sink.wait_for("="));
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const std::string name = "p" + std::to_string(round);
    ASSERT_TRUE(api.call(testing::write_request(Method::kPost, "/api/v1/namespaces/ml/pods",
                                                testing::pod_json({.name = name}))));
    const std::uint64_t ticket = reflector.relist();
    EXPECT_EQ(ticket, round);
    ASSERT_TRUE(testing::eventually([&] { return reflector.health().relisted >= ticket; }));
    // Whatever the list has begun with, it has seen the pod that was there before.
    const Lines lines = sink.lines();
    const auto last = std::find_if(lines.rbegin(), lines.rend(),
                                   [](const std::string& line) { return line.starts_with("="); });
    EXPECT_NE(last->find(" " + name), std::string::npos) << *last;
  }
  EXPECT_EQ(reflector.health().errors, 0U);
}

/// A server whose lists wait until they are let go.
class HeldLists final : public KubeApi {
 public:
  explicit HeldLists(KubeApi& server) : server_(server) {}
  Result<Response> call(const Request& request) override {
    auto response = server_.call(request);
    begun.release();
    go.acquire();
    return response;
  }
  Result<Response> watch(const Request& request, const WatchFrame& frame,
                         std::stop_token stop) override {
    return server_.watch(request, frame, std::move(stop));
  }
  std::counting_semaphore<> begun{0};
  std::counting_semaphore<> go{0};

 private:
  KubeApi& server_;
};

TEST(ReflectorLocalTest, ListThatBeganBeforeTheCallDoesNotServeIt) {
  testing::ManualClock clock;
  LocalApi local(clock);
  HeldLists api(local);
  RecordingSink sink;
  Reflector reflector(api, {.path = "/api/v1/pods", .field_selector = ""}, sink, clock);
  std::jthread thread([&](const std::stop_token& stop) { reflector.run(stop); });
  api.begun.acquire();
  const std::uint64_t ticket = reflector.relist();
  api.go.release();
  api.begun.acquire();  // another one, since
  EXPECT_LT(reflector.health().relisted, ticket);
  api.go.release();
  EXPECT_TRUE(testing::eventually([&] { return reflector.health().relisted == ticket; }));
}

TEST_F(ReflectorListTest, RelistCutsTheWaitAfterAnErrorShort) {
  std::uint64_t ticket = 0;
  bool woken = false;
  Reflector waiting(api, {.path = "/x", .field_selector = ""}, sink, clock,
                    [&](milliseconds, const std::stop_token& wait) {
                      ticket = waiting_->relist();
                      woken = wait.stop_requested();
                    });
  waiting_ = &waiting;
  api.will_answer(500, "");
  api.will_answer(200, list("7", {"a"}));
  waiting.run(stop.get_token());
  EXPECT_TRUE(woken);
  EXPECT_EQ(waiting.health().relisted, ticket);
}

TEST(ReflectorLocalTest, FollowsTheLocalServerThroughACompaction) {
  testing::ManualClock clock;
  LocalApi api(clock);
  RecordingSink sink;
  const auto create = [&](const std::string& name) {
    ASSERT_TRUE(api.call(testing::write_request(Method::kPost, "/api/v1/namespaces/ml/pods",
                                                testing::pod_json({.name = name})))
                    .has_value());
  };
  create("a");
  Reflector reflector(api, {.path = "/api/v1/pods", .field_selector = "", .page_size = 1}, sink,
                      clock);
  std::jthread thread([&](const std::stop_token& stop) { reflector.run(stop); });
  ASSERT_TRUE(sink.wait_for("= a"));
  create("b");
  ASSERT_TRUE(sink.wait_for("+b"));
  api.compact();
  ASSERT_TRUE(sink.wait_for("= a b"));
  create("c");
  ASSERT_TRUE(sink.wait_for("+c"));
  EXPECT_EQ(sink.lines(), (Lines{"= a", "+b", "= a b", "+c"}));
}

}  // namespace
}  // namespace tangram::kube
