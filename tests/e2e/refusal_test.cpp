// Tangram returns one node. Another extender refuses it, in a cluster in which nothing else
// happens.

#include "base/json.hpp"
#include "base/rapidjson.hpp"
#include "http/server.hpp"
#include "tests/e2e/fixture.hpp"

#include <atomic>
#include <mutex>
#include <stdexcept>

namespace tangram::e2e {
namespace {

/// An extender that takes one node and refuses all others.
class ChoosyExtender {
 public:
  ChoosyExtender() {
    http::Options options;
    options.address = "127.0.0.1";
    auto server =
        http::Server::create(options, [this](http::Request request, http::Responder responder) {
          responder.send(http::json_response(filter(request.body)));
        });
    if (!server) throw std::runtime_error(server.error().message);
    server_ = std::move(*server);
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_->port());
  }
  void take(const std::string& only) {
    const std::scoped_lock lock(mutex_);
    only_ = only;
  }
  [[nodiscard]] int refusals() const { return refusals_; }

 private:
  std::string filter(const std::string& body) {
    rapidjson::Document request;
    request.Parse(body.c_str());
    std::string text;
    json::Writer out(text);
    bool taken = false;
    const std::scoped_lock lock(mutex_);
    out.begin_object().key("NodeNames").begin_array();
    for (const auto& name : request["NodeNames"].GetArray()) {
      if (name.GetString() != only_) continue;
      out.string(name.GetString());
      taken = true;
    }
    out.end_array().end_object();
    if (!taken) ++refusals_;
    return text;
  }

  std::atomic<int> refusals_{0};
  std::mutex mutex_;
  std::string only_;  ///< under mutex_
  std::unique_ptr<http::Server> server_;
};

TEST_F(E2eTest, AnotherExtenderThatRefusesTheBestNodeDoesNotHoldThePod) {
  std::vector<NodeSpec> nodes;
  for (const char* name : {"one", "two", "three", "four"}) {
    nodes.push_back(node_with_cards(name, 1));
  }
  cluster_.add_nodes(nodes);
  PodWatcher watcher(*api_);
  ChoosyExtender choosy;
  ExtenderProcess extender({.settings = {"scheduler.policy=binpack"}});
  extender.start_ready();
  const Process scheduler = start_scheduler(
      {.name = "two-extenders", .extender_url = extender.url(), .second_url = choosy.url()});

  // Makes it the fullest, which binpack prefers.
  PodSpec first = fraction_pod("first", "0.25");
  first.node_selector = {{"kubernetes.io/hostname", "one"}};
  choosy.take("one");
  cluster_.add_pods({first});
  ASSERT_TRUE(watcher.wait_pod_bound("first", 30s));
  choosy.take("three");

  constexpr int kPods = 4;
  std::vector<double> waits;
  for (int i = 0; i < kPods; ++i) {
    const std::string name = "pod-" + std::to_string(i);
    watcher.wait([](const SeenPods&) { return false; }, 1s);  // events of the last pod are over
    const auto begin = TimePoint::clock::now();
    cluster_.add_pods({fraction_pod(name, "0.25")});
    const auto seen = watcher.wait_pod_bound(name, 60s);
    ASSERT_TRUE(seen) << "it would wait 5 minutes";
    EXPECT_EQ(seen->node, "three");
    waits.push_back(seconds_between(begin, seen->bound));
    cluster_.delete_pod(name);  // else its node is the fullest
    ASSERT_TRUE(
        watcher.wait([&](const SeenPods& pods) { return pods.at(seen->uid).deleted; }, 10s));
  }
  Figures("refusal").add("refusals", choosy.refusals()).spread("wait_s", waits);
  EXPECT_GE(choosy.refusals(), kPods) << "the best node was not offered first";
  expect_books_right(extender);
}

}  // namespace
}  // namespace tangram::e2e
