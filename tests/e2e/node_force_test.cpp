// Pods that are deleted by force while they start, under a runtime that shows cards by
// NVIDIA_VISIBLE_DEVICES: no container without its device sees a card, and none runs for long.

#include "node/kubelet/container_runtime.hpp"
#include "node/kubelet/pod_resources.hpp"
#include "tests/e2e/folder_watch.hpp"
#include "tests/e2e/node_fixture.hpp"
#include "tests/e2e/raw_json.hpp"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

namespace tangram::e2e {
namespace {

using std::chrono::milliseconds;
using Arguments = std::vector<std::string>;

// The agent ends such a container within half a second on an idle machine. With forty runnable
// processes on two cores the longest of six lived 4.3 s, as this test sees it.
constexpr milliseconds kLongestLife = 10s;

std::string text_in(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// Lists kubelet's pods as often as an exporter of metrics may, which is when kubelet takes the
/// devices of deleted pods, and sees for how long containers run.
class Observer {
 public:
  explicit Observer(const RealNode& node)
      : lister_(node.pod_resources(), "tangram.dev/gpu-slot"), runtime_(node.runtime()) {}

  /// Of the longest-lived container of these pods.
  [[nodiscard]] milliseconds longest_life(const std::set<std::string>& uids) const {
    const std::scoped_lock lock(mutex_);
    milliseconds longest{0};
    for (const auto& [id, life] : lives_) {
      if (!uids.contains(life.uid)) continue;
      longest = std::max(longest, std::chrono::duration_cast<milliseconds>(life.last - life.first));
    }
    return longest;
  }
  [[nodiscard]] bool runs_any(const std::set<std::string>& uids) const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(running_,
                               [&](const auto& running) { return uids.contains(running.pod_uid); });
  }

 private:
  struct Life {
    std::string uid;
    TimePoint first;
    TimePoint last;
  };

  void run(const std::stop_token& stop) {
    constexpr milliseconds kPause = 25ms;  // kubelet answers 100 lists a second
    while (!stop.stop_requested()) {
      static_cast<void>(lister_.list());
      if (auto running = runtime_.list()) see(std::move(*running));
      std::this_thread::sleep_for(kPause);
    }
  }
  void see(std::vector<node::RuntimeContainer> running) {
    const auto now = TimePoint::clock::now();
    const std::scoped_lock lock(mutex_);
    running_ = std::move(running);
    for (const auto& one : running_) {
      lives_.try_emplace(one.id, Life{one.pod_uid, now, now}).first->second.last = now;
    }
  }

  node::PodResources lister_;
  node::CriRuntime runtime_;
  mutable std::mutex mutex_;
  std::map<std::string, Life> lives_;  ///< by container
  std::vector<node::RuntimeContainer> running_;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

class NodeForceTest : public NodeTest {
 protected:
  NodeForceTest() { restart_containerd({"--runtime=nvidia"}); }
  ~NodeForceTest() override {
    try {
      std::filesystem::remove(vendor_spec());
      restart_containerd({});
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }

  void restart_containerd(const Arguments& arguments) const {
    node_.stop("containerd");
    node_.start("containerd", arguments);
  }
  void restart_agent(const Arguments& more) {
    node_.stop("tangram-node");
    ASSERT_TRUE(eventually(60s, [&] { return slots_offered() == 0; }));
    Arguments arguments = agent_arguments();
    arguments.insert(arguments.end(), more.begin(), more.end());
    node_.start("tangram-node", arguments);
    ASSERT_TRUE(wait_node_offers_slots(60s)) << agent_log();
  }

  /// As the webhook leaves it, with an image that requests all cards.
  static NodePod hidden_pod(const std::string& name) {
    NodePod pod = gpu_pod(name, {{"gpu-fraction", "0.02"}, {"gpu-isolation", "none"}});
    pod.containers.front().cuda_image = true;
    pod.containers.front().env = {{"NVIDIA_VISIBLE_DEVICES", "void"}};
    return pod;
  }

  // --- forced deletions

  struct Deletion {
    std::string pod;  ///< the object before
    WallTime at;
  };

  /// The pods for which the agent has just written a spec, each once.
  std::vector<std::string> prepared_pods() {
    std::vector<std::string> pods;
    for (const auto& entry : std::filesystem::directory_iterator(node_.journal())) {
      const std::string file = entry.path();
      if (!file.ends_with(".json") || prepared_.contains(file)) continue;
      const std::string text = text_in(file);
      if (text.empty()) continue;  // removed
      const auto json = parse_json(text);
      if (!json.HasMember("claim") || text_of(json["claim"], "spec").empty()) continue;
      prepared_.insert(file);
      pods.push_back(text_of(json["claim"], "pod"));
    }
    return pods;
  }

  void delete_after(const std::string& name, milliseconds wait) {
    try {
      Deletion deletion{.pod = cluster_.get(Cluster::pod_path(name)), .at = {}};
      std::this_thread::sleep_for(wait);
      deletion.at = std::chrono::system_clock::now();
      cluster_.delete_pod(name);
      const std::string uid = text_of(parse_json(deletion.pod)["metadata"], "uid");
      const std::scoped_lock lock(deleting_);
      deletions_[uid] = std::move(deletion);
    } catch (const std::exception& error) {
      ADD_FAILURE() << name << ": " << error.what();
    }
  }

  /// Creates pods and deletes each at a random moment about the answer of the agent to kubelet.
  void force(int first, int count, std::mt19937& random) {
    std::uniform_int_distribution<int> delay(0, 60);
    const FolderWatch watch(node_.journal());
    std::vector<NodePod> pods;
    for (int i = first; i < first + count; ++i) {
      pods.push_back(hidden_pod("force-" + std::to_string(i)));
    }
    create(pods);
    std::vector<std::jthread> deleting;
    const auto deadline = TimePoint::clock::now() + 120s;
    while (deleting.size() < pods.size() && TimePoint::clock::now() < deadline) {
      watch.wait(20ms);
      for (const std::string& pod : prepared_pods()) {
        deleting.emplace_back(
            [this, pod, wait = milliseconds(delay(random))] { delete_after(pod, wait); });
      }
    }
    EXPECT_EQ(deleting.size(), pods.size()) << "not all pods came to their start";
  }

  void expect_forced_deletions_show_nobody_a_card(const std::string& figures, int count) {
    constexpr int kAtATime = 20;
    auto random = seeded_random();
    const Observer observer(node_);
    prepared_pods();  // of earlier tests
    for (int i = 0; i < count && !HasFailure(); i += kAtATime) {
      force(i, std::min(kAtATime, count - i), random);
    }
    std::set<std::string> forced;
    const std::string nodes = list_all(*api_, "/api/v1/nodes");
    for (const auto& [uid, deletion] : deletions_) {
      forced.insert(uid);
      checker_.learn(nodes, R"({"items":[)" + deletion.pod + "]}");
    }
    EXPECT_TRUE(eventually(120s, [&] { return !observer.runs_any(forced); }));
    report(figures, observer, forced);
  }

  void report(const std::string& figures, const Observer& observer,
              const std::set<std::string>& forced) {
    std::set<std::string> without_device;
    int saw_a_card = 0;
    std::set<std::string> before_deletion;
    for (const Start& start : starts_.read()) {
      if (start.at < deletions_.at(start.uid).at) before_deletion.insert(start.uid);
      if (start.environment.contains("TANGRAM_ALLOCATION")) continue;
      without_device.insert(start.uid);
      saw_a_card += start.environment.at("E2E_VISIBLE_CARDS").empty() ? 0 : 1;
    }
    const auto in_window = static_cast<int>(forced.size() - before_deletion.size());
    const auto longest = observer.longest_life(without_device);
    Figures(figures)
        .add("deletions", static_cast<int>(forced.size()))
        .add("in_window", in_window)
        .add("started", static_cast<int>(starts_.read().size()))
        .add("without_device", static_cast<int>(without_device.size()))
        .add("saw_a_card", saw_a_card)
        .add("longest_life_ms", static_cast<int>(longest.count()));
    const auto verdict = checker_.check(starts_.read(), forced);
    EXPECT_TRUE(verdict.problems.empty()) << verdict.summary();
    EXPECT_EQ(saw_a_card, 0);
    EXPECT_GT(in_window, static_cast<int>(forced.size()) / 4) << "the deletions come too late";
    EXPECT_LE(longest, kLongestLife);
  }

  // --- the vendor's specs

  [[nodiscard]] std::filesystem::path vendor_spec() const { return node_.cdi() / "nvidia.json"; }

  /// As `nvidia-ctk cdi generate` makes them; a variable stands for the device node.
  void write_vendor_spec() const {
    std::string devices;
    for (const CardSpec& card : cards_) {
      devices += devices.empty() ? "" : ",";
      devices += R"({"name":")" + card.id + R"(","containerEdits":{"env":["E2E_CARD_OF_VENDOR=)" +
                 card.id + R"("]}})";
    }
    std::ofstream(vendor_spec()) << R"({"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","devices":[)"
                                 << devices << "]}";
  }

  std::set<std::string> prepared_;  ///< files of the journal that were seen
  std::mutex deleting_;
  std::map<std::string, Deletion> deletions_;  ///< by UID; under deleting_
};

TEST_F(NodeForceTest, AThousandForcedDeletionsShowNobodyACard) {
  expect_forced_deletions_show_nobody_a_card("node_force", sized(1000, 40));
}

TEST_F(NodeForceTest, ForcedDeletionsShowNobodyACardByAnnotation) {
  restart_agent({"--device-ids-by=cdi-annotation"});
  expect_forced_deletions_show_nobody_a_card("node_force_annotation", sized(200, 10));
}

TEST_F(NodeForceTest, WhereTheRuntimeIgnoresDevicesAContainerDoesNotStart) {
  restart_containerd({"--runtime=nvidia", "--cdi=false"});
  NodePod pod = hidden_pod("ignored");
  pod.containers.push_back({.name = "plain"});
  create(pod);
  const std::string uid = uid_of("ignored");
  EXPECT_TRUE(eventually(60s, [&] {
    return events_text(*api_).find("ignored StartPostponed: CDI is off") != std::string::npos;
  })) << describe(states()["ignored"]);
  EXPECT_TRUE(wait_starts(uid, "plain", 1, 60s)) << "a container without a card is left alone";
  EXPECT_TRUE(starts_.of(uid, "main").empty());
  restart_containerd({"--runtime=nvidia"});
  EXPECT_TRUE(wait_starts(uid, "main", 1, 60s)) << "kubelet tries again";
  const Start start = starts_.of(uid, "main").front();
  EXPECT_TRUE(start.environment.contains("TANGRAM_ALLOCATION"));
}

TEST_F(NodeForceTest, WhereTheVariableCarriesTheCardItShowsNothingToPodsOfTheWebhook) {
  write_vendor_spec();
  restart_containerd({"--runtime=nvidia", "--cdi=false"});
  restart_agent({"--device-ids-by=env"});
  create(hidden_pod("hidden"));
  create(gpu_pod("bare", {{"gpu-fraction", "0.5"}, {"gpu-isolation", "none"}}));
  EXPECT_TRUE(eventually(60s, [&] {
    const auto state = states()["hidden"].containers;
    return state.contains("main") &&
           state.at("main").message.find("this node passes the card in NVIDIA_VISIBLE_DEVICES") !=
               std::string::npos;
  })) << describe(states()["hidden"]);
  const std::string uid = uid_of("bare");
  ASSERT_TRUE(wait_starts(uid, "main", 1, 60s)) << describe(states()["bare"]);
  const Start start = starts_.of(uid, "main").front();
  EXPECT_NE(start.environment.at("E2E_VISIBLE_CARDS"), "");
  EXPECT_EQ(start.environment.at("E2E_VISIBLE_CARDS"), start.environment.at("TANGRAM_CARD_UUIDS"));
  EXPECT_TRUE(starts_.of(uid_of("hidden")).empty());
  EXPECT_TRUE(eventually(
      30s, [&] { return events_text(*api_).find("CardByEnvironment") != std::string::npos; }));
  EXPECT_TRUE(states()["bare"].all_running()) << "the agent recognises its device in the variable";
}

}  // namespace
}  // namespace tangram::e2e
