// The events of a pending pod.

#include "tests/e2e/fixture.hpp"

#include <fstream>
#include <iostream>
#include <sstream>

namespace tangram::e2e {
namespace {

using ::testing::HasSubstr;

class DescribeTest : public E2eTest {
 protected:
  std::string kubectl(std::vector<std::string> arguments) {
    const auto output = environment().state / "kubectl.out";
    std::filesystem::remove(output);
    arguments.insert(arguments.begin(),
                     {environment().kubectl, "--kubeconfig", environment().admin_kubeconfig});
    auto process = Process::start(arguments, output);
    EXPECT_TRUE(process);
    while (process->running()) std::this_thread::sleep_for(10ms);
    std::ifstream file(output);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  /// Blocks until the pod's description has the text.
  std::string describe(const std::string& pod, const std::string& text) {
    std::string description;
    const auto deadline = TimePoint::clock::now() + 20s;
    do {
      description = kubectl({"describe", "pod", pod});
    } while (description.find(text) == std::string::npos && TimePoint::clock::now() < deadline);
    return description;
  }
};

TEST_F(DescribeTest, SaysWhyAPodDoesNotFit) {
  // Four nodes, four reasons, and one node without GPU.
  auto unhealthy = node_with_cards("sick", 1);
  unhealthy.cards.front().healthy = false;
  NodeSpec bare{.name = "bare", .cards = {}, .slots = 0, .labels = {}};
  cluster_.add_nodes({node_with_cards("full", 1), node_with_cards("small", 1, "Tesla-T4", 15'360),
                      node_with_cards("other", 1, "L40S", 46'068), unhealthy, bare});
  PodWatcher watcher(*api_);
  ExtenderProcess extender({});
  extender.start_ready();
  const Process scheduler = start_scheduler({.extender_url = extender.url()});
  PodSpec filler = fraction_pod("filler", "1");
  filler.node_selector = {{"kubernetes.io/hostname", "full"}};
  cluster_.add_pods({filler});
  ASSERT_TRUE(watcher.wait_pod_bound("filler", 30s));

  PodSpec pod;
  pod.name = "waiting";
  pod.gpu = {{"gpu-mem", "40Gi"}, {"gpu-model", "A100*,Tesla*"}};
  cluster_.add_pods({pod});
  const std::string text = describe("waiting", "FailedScheduling");
  const auto events = text.substr(std::min(text.find("Events:"), text.size()));
  std::cout << events << std::endl;
  EXPECT_THAT(events, HasSubstr("0/5 nodes are available"));
  EXPECT_THAT(events, HasSubstr("1 no GPU card has enough free memory and compute"));
  EXPECT_THAT(events, HasSubstr("1 request is larger than the node's GPU cards"));
  EXPECT_THAT(events, HasSubstr("1 node has too few GPU cards of the requested model"));
  EXPECT_THAT(events, HasSubstr("1 matching GPU cards are unhealthy or cordoned"));
  EXPECT_THAT(events, HasSubstr("1 Insufficient tangram.dev/gpu-slot"));

  const std::string explained = extender.get("/api/v1/explain?namespace=default&pod=waiting");
  EXPECT_THAT(explained, HasSubstr("request is larger than the node's GPU cards"));
}

TEST_F(DescribeTest, SaysWhatToWriteInsteadOfAWrongRequest) {
  cluster_.add_nodes({node_with_cards("node", 1)});
  // Without a new leader's writes, which wake every pod.
  ExtenderProcess extender({.settings = {"scheduler.wake=false"}});
  extender.start_ready();
  const Process scheduler = start_scheduler({.extender_url = extender.url()});
  cluster_.add_pods({fraction_pod("wrong", "0.3333")});
  const std::string text = describe("wrong", "write 0.333");
  EXPECT_THAT(text, HasSubstr("write 0.333"));
  const auto filters = [&] {
    return extender.metric("tangram_extender_request_duration_seconds_count", "filter");
  };
  const double before = filters();
  PodWatcher watcher(*api_);
  watcher.wait([](const SeenPods&) { return false; }, std::chrono::seconds(5));
  EXPECT_LE(filters() - before, 2) << "the pod is tried again by events alone";
}

}  // namespace
}  // namespace tangram::e2e
