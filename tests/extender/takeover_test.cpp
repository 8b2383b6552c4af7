#include "extender/takeover.hpp"

#include "tests/extender/rig.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/passing_api.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::Fault;

/// An API server whose watches show nothing new while they are held.
class HeldWatches final : public testing::PassingApi {
 public:
  using PassingApi::PassingApi;

  Result<kube::Response> watch(const kube::Request& request, const kube::WatchFrame& frame,
                               std::stop_token stop) override {
    const auto late = [&](const std::string& text) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [this] { return !held_; });
      lock.unlock();
      return !stop.stop_requested() && frame(text);
    };
    return PassingApi::watch(request, late, stop);
  }
  void hold(bool held) {
    {
      const std::scoped_lock lock(mutex_);
      held_ = held;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool held_ = false;
};

const testing::CallMatch kMark{.method = kube::Method::kPatch, .path_ends = "/pods/own"};

/// A replica in pod "own", which follows the cluster, beside a leader that binds pod "p" to node
/// "a".
class TakeoverTest : public ::testing::Test {
 protected:
  TakeoverTest() {
    rig_.add_node("a");
    rig_.add_pod("own", {});
    uid_ = rig_.add_half("p");
    for (kube::Reflector* each : {&nodes_, &pods_}) {
      threads_.emplace_back([each](const std::stop_token& stop) { each->run(stop); });
    }
    EXPECT_TRUE(eventually([&] { return follows(nodes_) && follows(pods_); }));
  }
  ~TakeoverTest() override {
    for (std::jthread& thread : threads_) thread.request_stop();
    watches_.hold(false);
  }
  static bool follows(const kube::Reflector& one) { return one.health().following; }
  void bind_by_another() {
    rig_.ask(testing::write_request(kube::Method::kPost, "/api/v1/namespaces/ml/pods/p/binding",
                                    testing::binding_json("p", uid_, "a", {})));
  }
  bool knows_the_bind() { return rig_.entry(uid_).allocation != nullptr; }
  std::uint64_t lists() { return nodes_.health().lists + pods_.health().lists; }
  std::string mark() { return testing::json_at(rig_.read("own"), "metadata.labels"); }

  Rig rig_;
  std::string uid_;
  HeldWatches watches_{rig_.server};
  kube::Reflector nodes_{
      watches_, {.path = "/api/v1/nodes", .field_selector = ""}, rig_.nodes, rig_.clock};
  kube::Reflector pods_{
      watches_, {.path = "/api/v1/pods", .field_selector = ""}, rig_.pods, rig_.clock};
  Takeover takeover_{{.api = rig_.api,
                      .clock = rig_.clock,
                      .nodes = nodes_,
                      .pods = pods_,
                      .ns = "ml",
                      .pod = "own"}};
  std::vector<std::jthread> threads_;
};

TEST_F(TakeoverTest, IsDoneOnceTheWatchHasShownItsMark) {
  watches_.hold(true);
  bind_by_another();
  const std::uint64_t before = lists();
  takeover_.begin();
  EXPECT_NE(mark().find("taking-over-"), std::string::npos) << mark();
  EXPECT_FALSE(takeover_.done());
  EXPECT_FALSE(knows_the_bind());
  watches_.hold(false);
  EXPECT_TRUE(eventually([&] { return takeover_.done(); }));
  EXPECT_TRUE(knows_the_bind());
  EXPECT_EQ(lists(), before) << "however large the cluster is";
}

TEST_F(TakeoverTest, IsNotDoneByTheMarkOfAnEarlierTerm) {
  takeover_.begin();
  EXPECT_TRUE(eventually([&] { return takeover_.done(); }));
  const std::string first = mark();
  takeover_.end();
  EXPECT_FALSE(takeover_.done());
  rig_.clock.advance(1s);
  watches_.hold(true);
  takeover_.begin();
  EXPECT_NE(mark(), first);
  EXPECT_FALSE(takeover_.done());
}

TEST_F(TakeoverTest, ListsAnewWhereTheMarkDoesNotShow) {
  watches_.hold(true);
  bind_by_another();
  takeover_.begin();
  rig_.clock.advance(Takeover::kLongest);
  const std::uint64_t before = lists();
  EXPECT_FALSE(takeover_.done());
  watches_.hold(false);  // a list may be a stream, too
  EXPECT_TRUE(eventually([&] { return takeover_.done(); }));
  EXPECT_EQ(lists(), before + 2);
  EXPECT_TRUE(knows_the_bind());
}

TEST_F(TakeoverTest, ListsAnewWhereItsPodCannotBeMarked) {
  rig_.api.will_answer(kMark, 403);
  const std::uint64_t before = lists();
  takeover_.begin();
  EXPECT_TRUE(eventually([&] { return takeover_.done(); }));
  EXPECT_EQ(lists(), before + 2);
}

TEST_F(TakeoverTest, MarksAPodThatHasChangedMeanwhile) {
  rig_.api.will_answer(kMark, 409);
  const std::uint64_t before = lists();
  takeover_.begin();
  EXPECT_TRUE(eventually([&] { return takeover_.done(); }));
  EXPECT_EQ(lists(), before);
  const auto marks = rig_.api.calls(kMark);
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_NE(testing::json_at(marks[0].body, "metadata.resourceVersion"), "<none>")
      << "a late write must not take off the leader's label";
}

TEST_F(TakeoverTest, ListsAnewWhereThereIsNoPod) {
  Takeover outside({.api = rig_.api,
                    .clock = rig_.clock,
                    .nodes = nodes_,
                    .pods = pods_,
                    .ns = "ml",
                    .pod = ""});
  const std::uint64_t before = lists();
  outside.begin();
  EXPECT_TRUE(eventually([&] { return outside.done(); }));
  EXPECT_EQ(lists(), before + 2);
  EXPECT_TRUE(rig_.api.calls(kMark).empty());
}

TEST_F(TakeoverTest, EndsInTimeWhereTheApiServerIsSilent) {
  for (int i = 0; i < 3; ++i) {
    rig_.api.will({.method = kube::Method::kGet, .path_ends = "/pods/own"},
                  Fault::Kind::kLoseBefore);
  }
  takeover_.begin();
  const auto reads = rig_.api.calls({.method = kube::Method::kGet, .path_ends = "/pods/own"});
  ASSERT_EQ(reads.size(), 1U) << "a Lease is to be renewed meanwhile";
  EXPECT_LE(reads[0].timeout, Takeover::kLongest);
  EXPECT_TRUE(eventually([&] { return takeover_.done(); })) << "by lists";
}

}  // namespace
}  // namespace tangram::extender
