// The agent needs all of its rights: without any single verb of deploy/node/rbac.yaml something
// fails. The agent and the API server are real; kubelet is a fake, and the cards come from a file.

#include "base/file.hpp"
#include "tests/e2e/agent_identity.hpp"
#include "tests/e2e/api_proxy.hpp"
#include "tests/e2e/fixture.hpp"
#include "tests/e2e/raw_json.hpp"
#include "tests/e2e/shipped_rights.hpp"
#include "tests/node/kubelet/fake_kubelet.hpp"
#include "tests/testing/temp_folder.hpp"

#include <functional>

namespace tangram::e2e {
namespace {

constexpr const char* kFile = "deploy/node/rbac.yaml";
constexpr const char* kNode = "/api/v1/nodes/node";

/// As a DRA driver publishes a card of the node.
constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";
constexpr const char* kSlice =
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"node-gpu"},)"
    R"("spec":{"driver":"gpu.nvidia.com","nodeName":"node","pool":{"name":"node","generation":1,)"
    R"("resourceSliceCount":1},"devices":[{"name":"gpu-0","attributes":{"uuid":{"string":"GPU-b"}}}]}})";

/// What fails without a right; "resource verb" is its name.
const std::map<std::string, std::string> kBreaks = {
    {"nodes get", "finds out how the runtime gets devices"},
    {"nodes list", "publishes cards"},
    {"nodes watch", "hears of changes"},
    {"nodes patch", "publishes cards"},
    {"nodes/status patch", "publishes capacities"},
    {"pods get", "starts pods that the watch does not show yet"},
    {"pods list", "publishes cards"},  // waits for pods: publishes no less than they request
    {"pods watch", "hears of changes"},
    {"resourceslices list", "withholds cards of DRA drivers"},
    {"events create", "writes events"},
    {"events patch", "counts repeated events"},
};

/// An agent on a simulated node, and its kubelet.
class AgentAtWork {
 public:
  explicit AgentAtWork(const std::string& kubeconfig) {
    const std::string cards = folder_.path() + "/cards.yaml";
    if (!replace_file(cards,
                      "{version: 1, cards: [{id: GPU-a, model: A100, memMiB: 1000}, "
                      "{id: GPU-b, model: A100, memMiB: 1000}]}\n")) {
      throw std::runtime_error("no file of cards");
    }
    kubelet_.start();
    const auto program = std::filesystem::path(environment().extender).parent_path();
    std::filesystem::remove(log_);
    auto started = Process::start({(program / "tangram-node").string(),
                                   "--node-name",
                                   "node",
                                   "--kubeconfig",
                                   kubeconfig,
                                   "--cards",
                                   "file:" + cards,
                                   "--kubelet-dir",
                                   folder_.path(),
                                   "--plugin-dir",
                                   kubelet_.plugin_folder(),
                                   "--cdi-dir",
                                   folder_.path() + "/cdi",
                                   "--nvidia-cdi-dirs",
                                   folder_.path() + "/none",
                                   "--state-dir",
                                   folder_.path() + "/state",
                                   "--run-dir",
                                   folder_.path() + "/run",
                                   "--listen",
                                   "127.0.0.1:0"},
                                  log_);
    if (!started) throw std::runtime_error(started.error().message);
    process_ = std::move(*started);
  }

  bool running() { return process_->running(); }
  testing::FakeKubelet& kubelet() { return kubelet_; }
  [[nodiscard]] std::string log() const {
    const auto text = read_file(log_.string());
    return text ? *text : "";
  }

 private:
  const std::filesystem::path log_ = environment().state / "logs" / "agent-rights.log";
  testing::TempFolder folder_;
  testing::FakeKubelet kubelet_{folder_.path(), 1};
  std::optional<Process> process_;
};

class AgentRightsTest : public E2eTest {
 protected:
  AgentRightsTest() { AgentIdentity::apply_rights(); }
  void SetUp() override {
    if (!serves(kSlices)) GTEST_SKIP() << "this version of the API server has no ResourceSlices";
    cluster_.ensure(kSlices, kSlice);
  }
  ~AgentRightsTest() override {
    cluster_.remove(std::string(kSlices) + "/node-gpu");
    for (const Role& role : shipped_roles(kFile)) role.apply(cluster_);
  }

  bool serves(const char* path) {
    const auto answer = api_->call({.path = path});
    return answer && answer->status != 404;
  }

  /// Makes the agent use every right. @returns the first thing it cannot do; "" = nothing
  std::string first_failure(const std::string& right) {
    cluster_.clear();
    cluster_.remove(Cluster::events_path("wrong"));
    cluster_.add_nodes({node_with_cards("node", 0)});
    cluster_.patch(kNode, R"({"metadata":{"annotations":{"tangram.dev/cards":null}}})");
    cluster_.patch(std::string(kNode) + "/status",
                   R"({"status":{"nodeInfo":{"kubeletVersion":"v1.36.3",)"
                   R"("containerRuntimeVersion":"containerd://2.1.9"}}})");
    const AgentIdentity identity(cluster_, "node");
    ApiProxy proxy("agent-rights", identity.kubeconfig());
    // Answers like a server without streaming lists, so that LIST is needed.
    if (right.ends_with(" list")) {
      proxy.plan().add({.match = {.watch = true},
                        .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 422},
                        .times = 2});
    }
    AgentAtWork agent(proxy.kubeconfig());
    if (!eventually([&] { return agent.kubelet().slots() > 0 || !agent.running(); }) ||
        !agent.running()) {
      return "finds out how the runtime gets devices";
    }
    const auto shows = [&](const char* text) {
      return cluster_.get(kNode).find(text) != std::string::npos;
    };
    if (!eventually([&] { return shows("GPU-a"); })) return "publishes cards";
    if (!eventually([&] { return shows("the DRA driver gpu.nvidia.com also publishes"); })) {
      return "withholds cards of DRA drivers";
    }
    if (!eventually([&] { return shows("tangram.dev/gpu-mem-mib"); })) {
      return "publishes capacities";
    }
    // Without watch it relists repeatedly, which works but is slow.
    if (agent.log().find("cannot watch resource") != std::string::npos) return "hears of changes";
    return first_failure_of_starts(proxy, agent);
  }

 private:
  std::string first_failure_of_starts(ApiProxy& proxy, AgentAtWork& agent) {
    const auto wrong = bound("wrong");
    EXPECT_EQ(agent.kubelet().admit(wrong), "");
    // The agent sees the pod by watch or by GET. In both cases it rejects the pod permanently.
    const auto refused = [&] {
      return agent.kubelet().start_container(wrong).find("no grant") != std::string::npos;
    };
    const bool by_watch = eventually([&] { return knows_of(agent, wrong) && refused(); });
    if (!by_watch) return "starts containers";
    if (!eventually([&] { return events_of("wrong").find("CannotStart") != std::string::npos; })) {
      return "writes events";
    }
    const auto counted = [&] {
      return refused() && events_of("wrong").find("\"series\"") != std::string::npos;
    };
    if (!eventually(counted)) return "counts repeated events";
    proxy.plan().add({.match = {.path_starts = "/api/v1/pods", .watch = true},
                      .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 500}});
    proxy.server().cut_watches();
    const auto unseen = bound("unseen");
    EXPECT_EQ(agent.kubelet().admit(unseen), "");
    const std::string message = agent.kubelet().start_container(unseen);
    if (message.find("cannot get resource") != std::string::npos) {
      return "starts pods that the watch does not show yet";
    }
    EXPECT_NE(message.find("no grant"), std::string::npos) << message;
    return "";
  }

  /// A pod that was bound without Tangram: it never starts, and an event reports this.
  testing::FakeKubelet::Owner bound(const std::string& name) {
    PodSpec pod = fraction_pod(name, "0.5");
    pod.node = "node";
    cluster_.add_pods({pod});
    const auto made = parse_json(cluster_.get(Cluster::pod_path(name)));
    return {.uid = text_of(made["metadata"], "uid"), .ns = "default", .pod = name};
  }

  /// Without the right to get pods, only the watch reports a pod.
  static bool knows_of(AgentAtWork& agent, const testing::FakeKubelet::Owner& owner) {
    return agent.kubelet().start_container(owner).find("not yet") == std::string::npos;
  }

  std::string events_of(const std::string& pod) {
    const auto list = parse_json(cluster_.get(Cluster::events_path(pod)));
    std::string found;
    for (const auto& event : list["items"].GetArray()) {
      found += text_of(event, "reason") + (event.HasMember("series") ? "\"series\"" : "");
    }
    return found;
  }

  static bool eventually(const std::function<bool()>& condition) {
    const auto deadline = TimePoint::clock::now() + kPatience;
    while (!condition()) {
      if (TimePoint::clock::now() > deadline) return false;
      std::this_thread::sleep_for(50ms);  // polls: no event reports the change
    }
    return true;
  }

  static constexpr std::chrono::seconds kPatience{10};
};

TEST_F(AgentRightsTest, AreEnough) { EXPECT_EQ(first_failure(""), ""); }

TEST_F(AgentRightsTest, AreAllNeeded) {
  const auto shipped = shipped_roles(kFile);
  for (const Right& right : shipped_rights(kFile)) {
    const auto breaks = kBreaks.find(right.name);
    ASSERT_NE(breaks, kBreaks.end()) << right.name << ": say here what needs it";
    right.without.apply(cluster_);
    const std::string failure = first_failure(right.name);
    EXPECT_EQ(failure, breaks->second) << "without " << right.name;
    Figures("agent_rights")
        .add("without", "\"" + right.name + "\"")
        .add("breaks", "\"" + failure + "\"");
    for (const Role& role : shipped) role.apply(cluster_);
  }
}

}  // namespace
}  // namespace tangram::e2e
