#include "extender/scheduling/resizer.hpp"
#include "model/grant.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>

/// Random resizes, binds, ends, lost answers, grants that are put back, and restarts of the
/// extender and the node's agent, over an API server in memory. The agent is written here in the
/// simplest way that can be right.
///
/// TANGRAM_SEED=n begins with another seed; a failure prints what to set to see it again.
namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::Fault;
using testing::Random;

constexpr std::int64_t kCard = 1000;

std::string fraction_text(std::int64_t milli) { return model::share_text(MilliGpu(milli)); }

/// All of an extender that a restart loses.
struct Extender {
  Extender(kube::LocalApi& server, kube::KubeApi& way, const Clock& the_clock)
      : api(server), faulty(way), clock(the_clock) {
    look_at_nodes();
    look_at_pods();
  }

  void look_at_nodes() { testing::send_list(nodes, list("/api/v1/nodes")); }
  void look_at_pods() { testing::send_list(pods, list("/api/v1/pods")); }
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const {
    return testing::items_of(api.call(testing::get_request(path))->body);
  }

  kube::LocalApi& api;
  kube::KubeApi& faulty;
  const Clock& clock;
  cluster::SharedLedger ledger{clock};
  Offers offers{clock, 100, 60s};
  Promises promises{clock};
  cluster::PolicySource policies{Rig::binpack()};
  cluster::PodTable table;
  cluster::FeedCounters counters;
  cluster::NodeFeed nodes{ledger, counters};
  cluster::PodFeed pods{ledger, table, policies, counters, {}};
  Binder binder{{.api = faulty,
                 .ledger = ledger,
                 .pods = table,
                 .offers = offers,
                 .promises = promises,
                 .policies = policies,
                 .clock = clock,
                 .may_write = [](std::chrono::milliseconds) { return true; },
                 .sign = model::Signer(),
                 .check = model::SignatureCheck()},
                {.api_timeout = 4s, .assume_ttl = 70s}};
  Resizer resizer{{},
                  {.api = faulty,
                   .ledger = ledger,
                   .pods = table,
                   .promises = promises,
                   .policies = policies,
                   .clock = clock,
                   .may_write = [](std::chrono::milliseconds) { return true; },
                   .sign = model::Signer(),
                   .check = model::SignatureCheck(),
                   .report = [](const cluster::PodName&, std::string_view, const std::string&) {}}};
};

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    ask(testing::write_request(kube::Method::kPost, "/api/v1/nodes", Rig::node_text("n", 1)));
    restart_extender();
  }

  const char* step() {
    using Deed = const char* (World::*)();
    static constexpr std::array<std::pair<std::int64_t, Deed>, 11> kPercent{
        {{17, &World::request},
         {8, &World::create},
         {6, &World::end},
         {22, &World::extender_looks},
         {12, &World::watch_pods},
         {8, &World::watch_nodes},
         {14, &World::agent_applies},
         {6, &World::agent_answers},
         {2, &World::restart_extender},
         {2, &World::restart_agent},
         {3, &World::put_back}}};
    std::int64_t roll = random_.below(100);
    for (const auto& [percent, deed] : kPercent) {
      roll -= percent;
      if (roll < 0) return (this->*deed)();
    }
    return "nothing";
  }

  void check() const {
    std::int64_t sum = 0;
    for (const auto& [uid, held] : held_) sum += held.milli();
    EXPECT_LE(sum, kCard) << "more is in the containers' hands than the card has";
  }

  /// Without faults everything comes to its end: the last request wins, or is waiting for a reason.
  void check_end() {
    for (int i = 0; i < 12; ++i) {
      watch_pods();
      watch_nodes();
      extender_->resizer.look();
      agent_applies();
      agent_answers();
      clock_.advance(40s);
    }
    watch_pods();
    watch_nodes();
    const auto cluster = extender_->ledger.snapshot();
    const model::NodeState& node = *cluster->find("n");
    std::int64_t counted = 0;
    for (const auto& [name, wanted] : requested_) {
      if (!uids_.contains(name)) continue;
      const std::string& uid = uids_.at(name);
      if (!held_.contains(uid)) continue;  // not bound
      const auto entry =
          extender_->ledger.apply([&](const model::Ledger& ledger) { return *ledger.find(uid); });
      const auto pod = extender_->table.find_resizable(uid);
      const auto resize = cluster::resize_of(*entry.allocation, pod.get(), node);
      // An earlier grant may have been put back.
      const std::int64_t granted =
          std::max(entry.allocation->containers[0].cards[0].compute.count(), held_.at(uid).milli());
      if (!resize) {
        EXPECT_EQ(held_.at(uid).milli(), wanted) << name;
        EXPECT_EQ(held_.at(uid).revision, entry.allocation->revision) << name;
        counted += wanted;
      } else if (resize->state == cluster::ResizeState::kDeferred) {
        EXPECT_GT(node.use[0].compute.count() - granted + wanted, kCard) << name;
        counted += granted;
      } else {
        EXPECT_EQ(resize->state, cluster::ResizeState::kInfeasible) << name;
        EXPECT_LT(wanted, held_.at(uid).in_use) << name;
        counted += held_.at(uid).milli();
      }
    }
    EXPECT_EQ(node.use[0].compute.count(), counted);
  }

 private:
  /// What the agent has journaled of a pod, and what the pod uses.
  struct Held {
    int revision = 0;
    model::CardAmounts amounts;
    std::int64_t in_use = 0;
    int refused = 0;

    [[nodiscard]] std::int64_t milli() const { return amounts.compute.count(); }
  };

  kube::Response ask(const kube::Request& request) { return server_.call(request).value(); }
  static std::string path(const std::string& pod) { return "/api/v1/namespaces/ml/pods/" + pod; }

  std::string any_pod() {
    if (uids_.empty()) return "";
    return random_.one_of(uids_).first;
  }

  const char* request() {
    const std::string pod = any_pod();
    if (pod.empty()) return "request nothing";
    requested_[pod] = random_.between(1, 9) * 100;
    ask(testing::write_request(kube::Method::kPatch, path(pod),
                               R"({"metadata":{"annotations":{"tangram.dev/gpu-fraction":")" +
                                   fraction_text(requested_[pod]) + "\"}}}"));
    return "request";
  }

  const char* create() {
    if (uids_.size() >= 5) return "create nothing";
    const std::string name = "p" + std::to_string(next_name_++);
    requested_[name] = random_.between(1, 5) * 100;
    testing::PodText pod{.name = name};
    pod.annotations = {{"tangram.dev/gpu-fraction", fraction_text(requested_[name])},
                       {"tangram.dev/gpu-isolation", "time-slice"}};
    const auto made = ask(testing::write_request(kube::Method::kPost, "/api/v1/namespaces/ml/pods",
                                                 testing::pod_json(pod)));
    uids_[name] = testing::json_at(made.body, "metadata.uid");
    misbehave();
    extender_->binder.bind({.ns = "ml", .name = name, .uid = uids_[name], .node = "n"},
                           clock_.now() + 4s);
    return "create and bind";
  }

  const char* end() {
    const std::string pod = any_pod();
    if (pod.empty()) return "end nothing";
    auto gone = testing::write_request(kube::Method::kDelete, path(pod), "");
    gone.query["gracePeriodSeconds"] = "0";
    ask(gone);
    held_.erase(uids_.at(pod));  // its processes have ended before
    seen_.erase(pod);
    uids_.erase(pod);
    requested_.erase(pod);
    return "end";
  }

  void misbehave() {
    if (!random_.chance(20)) return;
    const auto kind = random_.chance(50) ? Fault::Kind::kLoseAnswer : Fault::Kind::kLoseBefore;
    api_.will({.method = random_.chance(50) ? kube::Method::kPatch : kube::Method::kGet}, kind);
  }

  const char* extender_looks() {
    misbehave();
    extender_->resizer.look();
    clock_.advance(std::chrono::milliseconds(random_.between(1, 3'000)));
    return "the extender looks";
  }
  const char* watch_pods() {
    extender_->look_at_pods();
    extender_->binder.resolve_overdue();
    return "watch pods";
  }
  const char* watch_nodes() {
    extender_->look_at_nodes();
    return "watch nodes";
  }
  const char* restart_extender() {
    // A write under way ends before another extender leads.
    extender_ = std::make_unique<Extender>(server_, api_, clock_);
    return "restart the extender";
  }

  /// The API server's store is restored, after the agent has answered, and extenders start. Or
  /// somebody writes an annotation that was kept, and the extender has followed so far.
  const char* put_back() {
    if (seen_.empty()) return "put back nothing";
    agent_answers();
    watch_nodes();
    watch_pods();
    const auto& [pod, texts] = random_.one_of(seen_);
    std::string body;
    json::Writer out(body);
    out.begin_object().key("metadata").begin_object().key("annotations").begin_object();
    out.member("tangram.dev/gpu-grant", random_.one_of(texts));
    out.end_object().end_object().end_object();
    ask(testing::write_request(kube::Method::kPatch, path(pod), body));
    if (random_.chance(70)) restart_extender();
    return "put an earlier grant back";
  }

  const char* agent_applies() {
    for (const auto& [name, uid] : uids_) {
      const auto pod = kube::decode_pod(ask(testing::get_request(path(name))).body);
      const auto text = pod->annotations.find("gpu-grant");
      if (pod->node.empty() || text == pod->annotations.end()) continue;
      const model::Grant grant = *model::decode_grant(text->second);
      seen_[name].push_back(text->second);
      const model::CardAmounts amounts = grant.containers[0].cards[0].amounts();
      const bool starts = !held_.contains(uid);
      Held& held = held_[uid];
      if (starts) {
        held = {.revision = grant.revision, .amounts = amounts};
      } else if (grant.revision > held.revision) {
        held.in_use = std::min(held.in_use, held.milli());
        if (amounts.compute.count() < held.in_use) {
          held.refused = grant.revision;
        } else {
          held = {.revision = grant.revision, .amounts = amounts, .in_use = held.in_use};
        }
      } else {
        held.refused = 0;
      }
      held.in_use = random_.chance(70) ? held.in_use : random_.between(0, held.milli() / 100) * 100;
      check();
    }
    return "the agent applies";
  }

  const char* agent_answers() {
    model::ResizeAnswers answers;
    for (const auto& [uid, held] : held_) {
      model::ResizeAnswer answer{.applied = held.revision,
                                 .held = {{"main", {{"n-0", held.amounts}}}}};
      if (held.refused > held.revision) {
        answer.refused = held.refused;
        answer.why = model::ResizeRefusal::kInUse;
      }
      answers[uid] = answer;
    }
    std::string text;
    json::Writer out(text);
    out.begin_object().key("metadata").begin_object().key("annotations").begin_object();
    out.member("tangram.dev/resizes", model::encode_resizes(answers));
    out.end_object().end_object().end_object();
    ask(testing::write_request(kube::Method::kPatch, "/api/v1/nodes/n", text));
    return "the agent answers";
  }

  /// It knows its journal only.
  const char* restart_agent() {
    for (auto& [uid, held] : held_) held.refused = 0;
    return "restart the agent";
  }

  Random random_;
  testing::ManualClock clock_;
  kube::LocalApi server_{clock_};
  testing::FaultApi api_{server_, testing::FaultApi::Record::kNothing};
  std::unique_ptr<Extender> extender_;
  std::map<std::string, std::string> uids_;  ///< of the pods there are, by name
  std::map<std::string, std::int64_t> requested_;
  std::map<std::string, Held> held_;                      ///< by UID
  std::map<std::string, std::vector<std::string>> seen_;  ///< grants of pods that run, by name
  int next_name_ = 0;
};

class ResizerPropertyTest : public ::testing::TestWithParam<int> {};

TEST_P(ResizerPropertyTest, NoCardIsOverGrantedAndTheLastRequestWins) {
  const char* from = std::getenv("TANGRAM_SEED");
  const auto first = from == nullptr ? std::uint64_t{1} : std::stoull(from);
  constexpr std::uint64_t kHistories = 10;
  const std::uint64_t begin = first + static_cast<std::uint64_t>(GetParam()) * kHistories;
  for (std::uint64_t seed = begin; seed < begin + kHistories; ++seed) {
    World world(seed);
    for (int step = 1; step <= 150; ++step) {
      const char* what = world.step();
      world.check();
      ASSERT_FALSE(HasFailure()) << "step " << step << " (" << what << "), TANGRAM_SEED=" << seed;
    }
    world.check_end();
    ASSERT_FALSE(HasFailure()) << "at the end, TANGRAM_SEED=" << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Random, ResizerPropertyTest, ::testing::Values(0, 1, 2));

}  // namespace
}  // namespace tangram::extender
