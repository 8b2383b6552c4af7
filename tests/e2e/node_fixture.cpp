#include "tests/e2e/node_fixture.hpp"

#include "tests/e2e/raw_json.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>

namespace tangram::e2e {

namespace {

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kReplicaSets = "/apis/apps/v1/namespaces/default/replicasets";
const std::string kNode = std::string("/api/v1/nodes/") + RealNode::kName;

// Kubelet takes 1 to 2 s to end a pod, and half a minute to end a hundred on two cores.
constexpr auto kRemovalLimit = 120s;
// Kubelet finds plugins at once, and reports them in the node's status within 10 s.
constexpr auto kRegistrationLimit = 60s;

}  // namespace

std::vector<CardSpec> eight_cards() { return node_with_cards(RealNode::kName, 8).cards; }

std::mt19937 seeded_random() {
  const char* given = std::getenv("TANGRAM_E2E_SEED");
  const unsigned seed =
      given == nullptr ? std::random_device()() : static_cast<unsigned>(std::stoul(given));
  std::cout << "seed " << seed << std::endl;
  return std::mt19937(seed);
}

NodeTest::NodeTest(std::vector<CardSpec> cards, int sharers)
    : cards_(cards.empty() ? eight_cards() : std::move(cards)), sharers_(sharers) {
  for (const char* program : {"containerd", "kubelet"}) {
    if (node_.pid(program) == 0) node_.start(program);  // an earlier test ended too early
  }
  remove_pods();
  starts_.forget();  // those of earlier tests, which checker_ does not know
  node_.kill("tangram-node");
  if (!eventually(kRegistrationLimit, [&] { return slots_offered() == 0; })) {
    throw std::runtime_error("kubelet does not see that the agent is gone");
  }
  // Else the agent reports an earlier test's cards as missing, with their faults.
  cluster_.patch(kNode, R"({"metadata":{"annotations":{"tangram.dev/cards":null}}})");
  if (fewer_slots_than_usual()) forget_allocations();
  node_.write_cards(cards_);
  start_agent();
  extender_.start_ready();
  scheduler_ = start_scheduler({.extender_url = extender_.url()});
}

NodeTest::~NodeTest() {
  if (!HasFailure()) return;
  for (const auto& [name, pod] : states()) std::cout << name << ": " << describe(pod) << "\n";
  std::cout << "the agent's last lines:\n" << agent_log() << std::endl;
}

bool NodeTest::fewer_slots_than_usual() const {
  return cards_.size() < eight_cards().size() || sharers_ < kUsualSharers;
}

void NodeTest::forget_allocations() {
  // Later it knows of no slots, and would leave their number in the Node's status.
  (void)eventually(kRegistrationLimit, [&] { return slots_offered() == 0; });
  node_.stop("kubelet");
  std::filesystem::remove(node_.plugins() / "kubelet_internal_checkpoint");
  node_.start("kubelet");
}

bool NodeTest::eventually(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
  const auto deadline = TimePoint::clock::now() + limit;
  while (!condition()) {
    if (TimePoint::clock::now() > deadline) return false;
    std::this_thread::sleep_for(20ms);  // polls: other processes cause the change
  }
  return true;
}

void NodeTest::create(const NodePod& pod) { cluster_.create(kPods, node_pod_json(pod)); }

void NodeTest::create(const std::vector<NodePod>& pods) {
  in_parallel(static_cast<int>(pods.size()),
              [&](int i) { create(pods[static_cast<std::size_t>(i)]); });
}

void NodeTest::remove_pods() {
  cluster_.remove(kPods);
  if (!eventually(kRemovalLimit, [&] { return states().empty(); })) {
    throw std::runtime_error("pods do not end");
  }
}

void NodeTest::create_replica_set(const std::string& name, int replicas, NodePod pod) {
  pod.labels["app"] = name;
  cluster_.create(kReplicaSets,
                  R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":")" + name +
                      R"("},"spec":{"replicas":)" + std::to_string(replicas) +
                      R"(,"selector":{"matchLabels":{"app":")" + name + R"("}},"template":)" +
                      node_pod_template_json(pod) + "}}");
}

void NodeTest::remove_replica_sets() {
  cluster_.remove(kReplicaSets);
  remove_pods();
}

ExtenderProcess& NodeTest::use_extender(const std::string& name,
                                        std::vector<std::string> settings) {
  extender_.kill();
  other_extender_.emplace(ExtenderProcess::Options{.name = name, .settings = std::move(settings)});
  other_extender_->start_ready();
  scheduler_->kill();
  scheduler_ = start_scheduler({.extender_url = other_extender_->url()});
  return *other_extender_;
}

std::string NodeTest::card_of(const std::string& pod) {
  const std::string text = cluster_.get(Cluster::pod_path(pod));
  const std::size_t grant = text.find("tangram.dev/gpu-grant");
  const std::size_t at = grant == std::string::npos ? grant : text.find("GPU-", grant);
  return at == std::string::npos ? "" : text.substr(at, cards_.front().id.size());
}

bool NodeTest::wait_all_settled(std::chrono::seconds limit) {
  return eventually(limit, [&] {
    return std::ranges::all_of(states(), [](const auto& entry) {
      const PodState& pod = entry.second;
      return pod.phase == "Succeeded" || pod.phase == "Failed" || pod.all_running();
    });
  });
}

bool NodeTest::wait_starts(const std::string& uid, const std::string& container, int count,
                           std::chrono::seconds limit) {
  return eventually(limit, [&] {
    starts_.read();
    return static_cast<int>(starts_.of(uid, container).size()) >= count;
  });
}

std::vector<std::string> NodeTest::agent_arguments() const {
  return {"--sharers-per-card", std::to_string(sharers_)};
}

void NodeTest::restart_apiserver() {
  auto restart = Process::start({environment().control, "restart-apiserver"},
                                environment().state / "logs/restart-apiserver.log");
  if (!restart) throw std::runtime_error(restart.error().message);
  while (restart->running()) std::this_thread::sleep_for(10ms);
}

void NodeTest::start_agent() {
  node_.start("tangram-node", agent_arguments());
  if (!wait_node_offers_slots(kRegistrationLimit)) {
    throw std::runtime_error("kubelet does not offer the agent's slots:\n" + agent_log());
  }
}

int NodeTest::slots_offered() {
  const auto node = parse_json(cluster_.get(kNode));
  const std::string slots = text_of(node["status"]["allocatable"], "tangram.dev/gpu-slot");
  return slots.empty() ? 0 : std::stoi(slots);
}

std::string NodeTest::cards_published() {
  const auto annotations = annotations_of(parse_json(cluster_.get(kNode)));
  const auto cards = annotations.find("cards");
  return cards == annotations.end() ? "" : cards->second;
}

bool NodeTest::wait_node_offers_slots(std::chrono::seconds limit) {
  const int slots = static_cast<int>(cards_.size()) * sharers_;
  return eventually(limit, [&] {
    const std::string published = cards_published();
    return slots_offered() == slots && std::ranges::all_of(cards_, [&](const CardSpec& card) {
             return published.find(card.id) != std::string::npos;
           });
  });
}

int NodeTest::times_published() const {
  std::ifstream log(environment().state / "logs/tangram-node.log");
  int times = 0;
  for (std::string line; std::getline(log, line);) {
    if (line.find("slots to kubelet") != std::string::npos) ++times;
  }
  return times;
}

bool NodeTest::wait_slots_published_after(int before, std::chrono::seconds limit) {
  return eventually(limit, [&] { return times_published() > before; }) &&
         wait_node_offers_slots(limit);
}

std::string NodeTest::agent_log() const {
  return tail(environment().state / "logs/tangram-node.log", 30);
}

void NodeTest::expect_books_right() {
  const Verdict verdict = check_cluster(*api_);
  EXPECT_TRUE(verdict.problems.empty()) << verdict.summary();
}

void NodeTest::expect_all_starts_right() {
  checker_.learn(*api_);
  const auto verdict = checker_.check(starts_.read());
  EXPECT_TRUE(verdict.problems.empty()) << verdict.summary();
}

}  // namespace tangram::e2e
