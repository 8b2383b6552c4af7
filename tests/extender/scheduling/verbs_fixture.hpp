#pragma once

#include "extender/scheduling/verbs.hpp"
#include "tests/extender/rig.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace tangram::extender {

/// Nodes a, b and c with one card each, or so many; verbs that keep `short_list` nodes.
class VerbsTest : public ::testing::Test {
 protected:
  explicit VerbsTest(int cards = 1) {
    for (const char* name : {"a", "b", "c"}) rig_.add_node(name, cards);
    rig_.sync();
  }
  Verbs verbs(std::size_t short_list = 0) {
    return verbs_with({.short_list = short_list, .hold_ttl = hold_ttl_});
  }
  Verbs verbs_with(Verbs::Settings settings) {
    return Verbs({.ledger = rig_.ledger,
                  .policies = rig_.policies,
                  .offers = rig_.offers,
                  .binder = rig_.binder,
                  .promises = rig_.promises,
                  .denials = rig_.denials,
                  .groups = rig_.group_reservations,
                  .move_places = rig_.move_places,
                  .pods = rig_.table,
                  .budgets = [this] { return budgets_.all(); },
                  .not_ready = [this]() -> std::string_view {
                    return synced_ ? "" : "still reading the cluster; try again";
                  },
                  .clock = rig_.clock,
                  .following = [this] { return following_; }},
                 settings);
  }
  /// A pod that waits, known to the API server and the ledger. @returns its UID
  std::string wait(const std::string& name, const std::string& fraction = "0.5") {
    std::string uid = rig_.add_pod(name, {{"tangram.dev/gpu-fraction", fraction}});
    rig_.show(name);
    return uid;
  }
  /// The same with a priority above that of others.
  std::string wait_urgently(const std::string& name, const std::string& fraction) {
    testing::PodText pod;
    pod.name = name;
    pod.annotations = {{"tangram.dev/gpu-fraction", fraction}};
    pod.priority = kUrgent;
    std::string uid = rig_.add_pod(pod);
    rig_.show(name);
    return uid;
  }
  std::string ask(const std::string& pod, const std::string& names = R"(["a","b","c"])") {
    return R"({"Pod":)" + rig_.read(pod) + R"(,"Nodes":null,"NodeNames":)" + names + "}";
  }
  static std::string bind_body(const std::string& pod, const std::string& uid,
                               const std::string& node) {
    return R"({"PodName":")" + pod + R"(","PodNamespace":"ml","PodUID":")" + uid + R"(","Node":")" +
           node + R"("})";
  }

  /// The pods that are being deleted, as the API server has them.
  std::vector<std::string> leaving() {
    std::vector<std::string> names;
    for (const std::string& text : rig_.list("/api/v1/pods")) {
      if (testing::json_at(text, "metadata.deletionTimestamp") != "<none>") {
        names.push_back(testing::json_at(text, "metadata.name"));
      }
    }
    return names;
  }

  static constexpr int kUrgent = 100;
  Rig rig_;
  bool synced_ = true;
  bool following_ = true;
  std::chrono::milliseconds hold_ttl_{3'000};
  cluster::DisruptionBudgets budgets_;
};

}  // namespace tangram::extender
