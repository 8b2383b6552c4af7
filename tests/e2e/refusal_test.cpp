// Tangram returns one node. Another extender refuses it, in a cluster in which nothing else
// happens.

#include "base/json.hpp"
#include "base/rapidjson.hpp"
#include "http/server.hpp"
#include "tests/e2e/fixture.hpp"

#include <atomic>
#include <stdexcept>

namespace tangram::e2e {
namespace {

/// An extender that takes one node and refuses all others.
class ChoosyExtender {
 public:
  explicit ChoosyExtender(std::string only) : only_(std::move(only)) {
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
  [[nodiscard]] int refusals() const { return refusals_; }

 private:
  std::string filter(const std::string& body) {
    rapidjson::Document request;
    request.Parse(body.c_str());
    std::string text;
    json::Writer out(text);
    bool taken = false;
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

  const std::string only_;
  std::atomic<int> refusals_{0};
  std::unique_ptr<http::Server> server_;
};

TEST_F(E2eTest, AnotherExtenderThatRefusesTheBestNodeDoesNotHoldThePod) {
  std::vector<NodeSpec> nodes;
  for (const char* name : {"one", "two", "three", "four"}) {
    nodes.push_back(node_with_cards(name, 1));
  }
  cluster_.add_nodes(nodes);
  PodWatcher watcher(*api_);
  ChoosyExtender choosy("three");
  ExtenderProcess extender({.settings = {"scheduler.policy=binpack"}});
  extender.start_ready();
  const Process scheduler = start_scheduler(
      {.name = "two-extenders", .extender_url = extender.url(), .second_url = choosy.url()});

  constexpr int kPods = 4;
  std::vector<double> waits;
  for (int i = 0; i < kPods; ++i) {
    const std::string name = "pod-" + std::to_string(i);
    const auto begin = TimePoint::clock::now();
    cluster_.add_pods({fraction_pod(name, "0.25")});
    const auto seen = watcher.wait_pod_bound(name, 60s);
    ASSERT_TRUE(seen) << "it would wait 5 minutes";
    EXPECT_EQ(seen->node, "three");
    waits.push_back(seconds_between(begin, seen->bound));
    cluster_.delete_pod(name);  // else binpack prefers its node from now on
    ASSERT_TRUE(
        watcher.wait([&](const SeenPods& pods) { return pods.at(seen->uid).deleted; }, 10s));
  }
  Figures("refusal").add("refusals", choosy.refusals()).spread("wait_s", waits);
  EXPECT_GT(choosy.refusals(), 0) << "it has refused nothing: the test is too kind";
  expect_books_right(extender);
}

}  // namespace
}  // namespace tangram::e2e
