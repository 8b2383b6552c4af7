#pragma once

#include "extender/defragmenter.hpp"
#include "extender/health_routes.hpp"
#include "tests/extender/scheduling/verbs_fixture.hpp"
#include "tests/testing/exposition.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace tangram::extender {

using namespace std::chrono_literals;
using testing::json_at;
using Lines = std::vector<std::string>;

inline const testing::CallMatch kEvictions{.method = kube::Method::kPost, .path_ends = "/eviction"};

/// Nodes a, b and c with one card each. ReplicaSet "owner" has a pod with 0.4 on each; a pod that
/// wants a whole card fits only if one of them moves.
class DefragmenterTest : public VerbsTest {
 protected:
  DefragmenterTest() {
    for (const char* node : {"a", "b", "c"}) {
      rig_.ask(testing::write_request(
          kube::Method::kPatch, std::string("/api/v1/nodes/") + node + "/status",
          R"({"status":{"allocatable":{"cpu":"64","memory":"256Gi","tangram.dev/gpu-slot":"16"}}})"));
    }
    rig_.sync();
    for (const char* node : {"a", "b", "c"}) {
      bound(std::string("on-") + node, node);
    }
    make({.enabled = true});
  }
  void make(DefragmenterSettings settings) {
    relocation_.emplace(rig_.api, 4'000ms);
    defragmenter_.emplace(
        settings,
        Defragmenter::Parts{
            .api = rig_.api,
            .clock = rig_.clock,
            .ledger = rig_.ledger,
            .pods = rig_.table,
            .promises = rig_.promises,
            .policies = rig_.policies,
            .denials = rig_.denials,
            .places = rig_.move_places,
            .relocation = *relocation_,
            .budgets =
                [this] {
                  std::exchange(while_planning_, [] {})();
                  return budgets_known_ ? budgets_.all() : nullptr;
                },
            .following = [this] { return following_; },
            .may_write = [this](auto) { return leads_; },
            .report =
                [this](const cluster::PodName& pod, std::string_view reason, const std::string&) {
                  reports_.push_back(pod.name + " " + std::string(reason));
                }});
  }
  std::string pod(const std::string& name, const std::string& fraction, const std::string& owner,
                  int priority = 0) {
    testing::PodText text;
    text.name = name;
    text.annotations = {{"tangram.dev/gpu-fraction", fraction}};
    text.limits = {{"tangram.dev/gpu-slot", "1"}};
    text.owner = owner;
    text.labels = {{"app", name}};
    text.priority = priority;
    std::string uid = rig_.add_pod(text);
    rig_.show(name);
    return uid;
  }
  void bound(const std::string& name, const std::string& node,
             const std::string& owner = "ReplicaSet", const std::string& fraction = "0.4") {
    const std::string uid = pod(name, fraction, owner);
    EXPECT_EQ(rig_.bind(name, uid, node).outcome, BindOutcome::kBound);
    rig_.show(name);
  }
  /// So that two have to move for a whole card.
  void add_one_on_each() {
    for (const char* node : {"a", "b", "c"}) {
      bound(std::string("more-") + node, node, "ReplicaSet", "0.1");
    }
  }
  void wants_a_card(const std::string& name = "whole", int priority = 0) {
    pod(name, "1", "", priority);
    ask_again(name);
  }
  void ask_again(const std::string& name) {
    EXPECT_EQ(json_at(verbs().filter(ask(name)), "NodeNames"), "[]") << name;
  }
  std::string nodes_for(const std::string& name) {
    return json_at(verbs().filter(ask(name)), "NodeNames");
  }
  void look_for(std::chrono::milliseconds time) {
    for (auto passed = 0ms; passed < time; passed += 500ms) {
      defragmenter_->look();
      rig_.clock.advance(500ms);
    }
  }
  double count(const std::string& series) {
    return testing::Exposition(exposition({&*defragmenter_})).value(series);
  }
  double moves(const std::string& result) {
    return count("tangram_moves_total{result=\"" + result + "\"}");
  }
  double plans(const std::string& result) {
    return count("tangram_move_plans_total{result=\"" + result + "\"}");
  }
  void patch_node(const std::string& node, const std::string& spec) {
    rig_.ask(testing::write_request(kube::Method::kPatch, "/api/v1/nodes/" + node,
                                    R"({"spec":)" + spec + "}"));
  }
  /// The mover is gone, and its ReplicaSet makes another.
  void replace(const std::string& mover) {
    pod(mover + "-next", "0.4", "ReplicaSet");
    rig_.end_pod(mover);
  }
  /// The pod of add_one_on_each() or the other one is gone; ReplicaSet "owner" makes "next".
  void replace_by_next(const std::string& mover) {
    rig_.end_pod(mover);
    pod("next", mover.starts_with("on-") ? "0.4" : "0.1", "ReplicaSet");
  }
  void bind_next(const std::string& name, const std::string& node) {
    const std::string uid = rig_.table.find("ml", name)->uid;
    EXPECT_EQ(rig_.bind(name, uid, node).outcome, BindOutcome::kBound);
    rig_.show(name);
  }

  bool leads_ = true;
  bool budgets_known_ = true;
  std::function<void()> while_planning_ = [] {};  ///< happens once
  Lines reports_;
  std::optional<Evicting> relocation_;
  std::optional<Defragmenter> defragmenter_;
};

}  // namespace tangram::extender
