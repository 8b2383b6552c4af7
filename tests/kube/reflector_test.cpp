#include "kube/reflector.hpp"

#include "kube/local_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/kube_scripted_api.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;
using testing::json_at;
using testing::ScriptedApi;
using Lines = std::vector<std::string>;

/// Writes down what it is told; waits for a line when a test needs to.
class RecordingSink final : public ObjectSink {
 public:
  void replace(std::vector<std::string> objects) override {
    std::string line = "=";
    for (const std::string& object : objects) line += " " + json_at(object, "metadata.name");
    add(std::move(line));
  }
  void change(EventType type, std::string object) override {
    const char sign = type == EventType::kAdded ? '+' : type == EventType::kModified ? '~' : '-';
    add(sign + json_at(object, "metadata.name"));
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
      {.path = "/api/v1/pods", .field_selector = "spec.nodeName=n1", .page_size = 2},
      sink,
      clock,
      [this](milliseconds wait, const std::stop_token&) { slept.push_back(wait.count()); }};
};

TEST_F(ReflectorTest, ListsAllPagesThenWatchesFromTheList) {
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

TEST_F(ReflectorTest, BookmarksMoveTheVersionAndTellNobody) {
  api.will_answer(200, list("7", {}));
  api.will_watch({frame("BOOKMARK", "", "50")});
  run();
  EXPECT_EQ(sink.lines(), Lines{"="});
  EXPECT_EQ(asked(1, "resourceVersion"), "50");
}

TEST_F(ReflectorTest, ListThatExpiresHalfwayStartsOver) {
  api.will_answer(200, list("7", {"a"}, "next"));
  api.will_answer(410, R"({"kind":"Status","message":"expired"})");
  api.will_answer(200, list("9", {"b"}));
  run();
  EXPECT_EQ(sink.lines(), Lines{"= b"});
  EXPECT_FALSE(api.calls().at(2).query.contains("continue"));
  EXPECT_EQ(asked(0, "resourceVersion"), "9");
  EXPECT_EQ(reflector.health().lists, 1U);
}

TEST_F(ReflectorTest, ExpiredWatchListsAgainAtOnceThenAfterBackoff) {
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

TEST_F(ReflectorTest, BackoffDoublesToTheMaximumAndStartsAnew) {
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

TEST_F(ReflectorTest, HonoursRetryAfter) {
  api.will_answer(Response{.status = 429, .body = "later", .retry_after = std::chrono::seconds(5)});
  api.will_answer(200, list("7", {}));
  run();
  EXPECT_EQ(slept, std::vector<std::int64_t>{5000});
}

TEST_F(ReflectorTest, WatchThatEndsAtOnceAndSilentBacksOff) {
  api.will_answer(200, list("7", {}));
  api.will_watch({});
  api.will_watch({});
  run();
  EXPECT_EQ(slept, (std::vector<std::int64_t>{800, 1600}));
  EXPECT_EQ(asked(2, "resourceVersion"), "7");
}

TEST_F(ReflectorTest, OtherErrorFrameWatchesAgainFromTheSameVersion) {
  api.will_answer(200, list("7", {}));
  api.will_watch({error_frame(500)});
  run();
  EXPECT_EQ(slept, std::vector<std::int64_t>{800});
  EXPECT_EQ(asked(1, "resourceVersion"), "7");
  EXPECT_EQ(reflector.health().lists, 1U);
}

TEST_F(ReflectorTest, BrokenFramesTellTheSinkNothing) {
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

TEST_F(ReflectorTest, BrokenListsTellTheSinkNothing) {
  const Lines broken{"", "[]", R"({"items":[]})",
                     R"({"metadata":{"resourceVersion":"1"},"items":[5]})"};
  for (const std::string& text : broken) api.will_answer(200, text);
  run();
  EXPECT_EQ(sink.lines(), Lines{});
  EXPECT_EQ(slept.size(), broken.size());
  EXPECT_FALSE(reflector.health().synced);
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
