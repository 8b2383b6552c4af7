#include "cluster/move_request.hpp"

#include <gtest/gtest.h>

namespace tangram::cluster {
namespace {

using std::chrono::seconds;

MoveRequest request() {
  return {.id = "r-1", .until = WallTime(seconds(1'000)), .movers = {"a", "b"}, .waiting = {"w"}};
}

TEST(MoveRequestTest, IsReadAsItWasWritten) {
  EXPECT_EQ(read_move_request(to_json(request())).value(), request());
  for (const MoveState state : {MoveState::kRunning, MoveState::kDone, MoveState::kStopped}) {
    const MoveProgress progress{
        .id = "r-1", .state = state, .evicted = 2, .placed = 1, .message = "a \"place\" was taken"};
    EXPECT_EQ(read_move_progress(to_json(progress)).value(), progress);
  }
}

TEST(MoveRequestTest, RefusesWhatIsNone) {
  const std::string whole = to_json(request());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), with(R"("r-1")", R"("")"),
        with(R"("r-1")", "\"" + std::string(65, 'x') + "\""), with("1000", "-1"),
        with("1000", "99999999999"), with("1000", "\"soon\""), with(R"("a")", R"("")"),
        with(R"(["a","b"])", "[]"), with(R"(["w"])", "null")}) {
    EXPECT_FALSE(read_move_request(text)) << text;
  }
  MoveRequest many = request();
  many.movers.assign(MoveRequest::kMostPods + 1, "uid");
  EXPECT_FALSE(read_move_request(to_json(many)));
  EXPECT_FALSE(read_move_progress(R"({"id":"r","state":"lost"})"));
  EXPECT_FALSE(read_move_progress(R"({"id":"r","state":"done","evicted":-1})"));
  EXPECT_FALSE(read_move_progress(R"({"state":"done"})"));
}

TEST(MoveRequestTest, IsOpenUntilItsProgressOrItsTimeIsOver) {
  const WallTime now{seconds(999)};
  const auto progress = [](const std::string& id, MoveState state) {
    return MoveProgress{.id = id, .state = state};
  };
  EXPECT_TRUE(is_open(request(), std::nullopt, now));
  EXPECT_TRUE(is_open(request(), progress("r-1", MoveState::kRunning), now));
  EXPECT_TRUE(is_open(request(), progress("earlier", MoveState::kDone), now));
  EXPECT_FALSE(is_open(request(), progress("r-1", MoveState::kDone), now));
  EXPECT_FALSE(is_open(request(), progress("r-1", MoveState::kStopped), now));
  EXPECT_FALSE(is_open(request(), std::nullopt, WallTime(seconds(1'000))));
}

TEST(MoveRequestTest, StandsInTheConfigMapBesideOtherKeys) {
  const auto read =
      read_move_requests(R"({"metadata":{"name":"tangram-defrag","resourceVersion":"7"},)"
                         R"("data":{"request":"{}","progress":"p","other":"x"}})");
  EXPECT_EQ(read.value().version, "7");
  EXPECT_EQ(read.value().request, "{}");
  EXPECT_EQ(read.value().progress, "p");
  EXPECT_EQ(read_move_requests(R"({"metadata":{}})").value().request, "") << "as it is created";
  EXPECT_FALSE(read_move_requests("<html>"));
  EXPECT_EQ(move_request_patch(kRequestKey, "{\"a\"}"), R"({"data":{"request":"{\"a\"}"}})");
  EXPECT_EQ(move_request_patch(kRequestKey, "", "7"),
            R"({"metadata":{"resourceVersion":"7"},"data":{"request":""}})");
  EXPECT_EQ(move_requests_path("system"), "/api/v1/namespaces/system/configmaps/tangram-defrag");
}

}  // namespace
}  // namespace tangram::cluster
