#pragma once

#include "extender/health_routes.hpp"
#include "extender/scheduling/resizer.hpp"
#include "model/grant.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/exposition.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

inline const testing::CallMatch kRevisionWrite{.method = kube::Method::kPatch,
                                               .path_ends = "/pods/p"};

/// One node "n" with one card of 80 GiB, and a pod "p" that was bound with half of it.
class ResizerTest : public ::testing::Test {
 protected:
  ResizerTest() {
    rig_.add_node("n");
    rig_.sync();
    uid_ = bind("p", "0.5");
  }
  std::string bind(const std::string& name, const std::string& fraction) {
    std::string uid = rig_.add_pod(name, {{"tangram.dev/gpu-fraction", fraction},
                                          {"tangram.dev/gpu-isolation", "time-slice"}});
    rig_.show(name);
    EXPECT_EQ(rig_.bind(name, uid, "n").error, "");
    rig_.show(name);
    return uid;
  }
  /// A user changes the pod's request, and the watch shows it.
  void request(const std::string& fraction, const std::string& pod = "p") {
    annotate(pod, R"({"tangram.dev/gpu-fraction":")" + fraction + "\"}");
  }
  void annotate(const std::string& pod, const std::string& annotations) {
    rig_.ask(testing::write_request(kube::Method::kPatch, "/api/v1/namespaces/ml/pods/" + pod,
                                    R"({"metadata":{"annotations":)" + annotations + "}}"));
    rig_.show(pod);
  }
  /// The node's agent answers.
  void answer(const model::ResizeAnswers& answers) {
    std::string text;
    json::Writer out(text);
    out.begin_object().key("metadata").begin_object().key("annotations").begin_object();
    out.member("tangram.dev/resizes", model::encode_resizes(answers));
    out.end_object().end_object().end_object();
    const auto node =
        rig_.ask(testing::write_request(kube::Method::kPatch, "/api/v1/nodes/n", text));
    rig_.nodes.change(kube::EventType::kModified, node.body);
  }
  void applied(int revision) { answer({{uid_, {.applied = revision}}}); }
  void refused(int revision, model::ResizeRefusal why) {
    answer({{uid_, {.applied = revision - 1, .refused = revision, .why = why}}});
  }
  void look() {
    resizer_.look();
    rig_.show("p");
    clock().advance(std::chrono::seconds(1));
  }
  testing::ManualClock& clock() { return rig_.clock; }

  model::Grant grant(const std::string& pod = "p") { return rig_.grant_of(pod).value(); }
  std::int64_t granted(const std::string& pod = "p") {
    return grant(pod).containers[0].cards[0].compute.count();
  }
  std::int64_t used() { return rig_.used("n").count(); }
  std::size_t writes() { return rig_.api.calls(kRevisionWrite).size(); }
  std::string state() {
    const auto cluster = rig_.ledger.snapshot();
    const auto pod = rig_.table.find_resizable(uid_);
    const auto entry = rig_.entry(uid_);
    const auto resize = cluster::resize_of(*entry.allocation, pod.get(), *cluster->find("n"));
    return resize ? std::string(to_string(resize->state)) : "";
  }
  double results(const std::string& result) {
    return testing::Exposition(exposition({&resizer_}))
        .value("tangram_resizes_total{result=\"" + result + "\"}");
  }

  Rig rig_;
  std::string uid_;
  std::vector<std::string> told_;
  int may_write_times_ = 1'000;
  Resizer resizer_{
      {},
      {.api = rig_.api,
       .ledger = rig_.ledger,
       .pods = rig_.table,
       .promises = rig_.promises,
       .policies = rig_.policies,
       .clock = rig_.clock,
       .may_write =
           [this](std::chrono::milliseconds) { return rig_.may_write && may_write_times_-- > 0; },
       .sign = model::Signer(),
       .check = model::SignatureCheck(),
       .report =
           [this](const cluster::PodName& pod, std::string_view reason,
                  const std::string& sentence) {
             told_.push_back(pod.name + " " + std::string(reason) + ": " + sentence);
           }}};
};

}  // namespace tangram::extender
