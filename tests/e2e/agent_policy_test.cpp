// What deploy/node/policy.yaml lets an agent's token write: its own Node, and there only what
// belongs to Tangram. policy-gpu-labels.yaml adds labels that nobody else has written.

#include "tests/e2e/agent_identity.hpp"
#include "tests/e2e/fixture.hpp"
#include "tests/e2e/raw_json.hpp"

#include <iostream>

namespace tangram::e2e {
namespace {

using ::testing::HasSubstr;

/// A patch, and the text of its refusal; "" = it is allowed.
struct Write {
  std::string what;
  std::string patch;
  std::string refusal;
  std::string subresource = {};  ///< "/status"
};

class AgentPolicyTest : public E2eTest {
 protected:
  explicit AgentPolicyTest(const std::string& policy = "policy.yaml") {
    cluster_.add_nodes({node_with_cards("a", 1), node_with_cards("b", 1)});
    // As on a real node, so that a patch could change something.
    cluster_.patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"zone":"z1"},)"
                                      R"("annotations":{"tangram.dev/cordon":"all"}}})");
    AgentIdentity::apply_rights(policy);
    agent_.emplace(cluster_, "a");
    api_of_a_ = open_api(agent_->kubeconfig());
    wait_until_in_force();
  }

  kube::Response patch(kube::KubeApi& api, const std::string& node, const Write& write) {
    kube::Request request;
    request.method = kube::Method::kPatch;
    request.path = "/api/v1/nodes/" + node + write.subresource;
    request.content_type = "application/merge-patch+json";
    request.body = write.patch;
    request.timeout = 30s;
    const auto answer = api.call(request);
    if (!answer) throw std::runtime_error(answer.error().message);
    return *answer;
  }

  void expect(kube::KubeApi& api, const std::string& node, const Write& write) {
    const auto answer = patch(api, node, write);
    if (write.refusal.empty()) {
      EXPECT_EQ(answer.status, 200) << write.what << ": " << answer.body;
      return;
    }
    EXPECT_EQ(answer.status, 422) << write.what << " on " << node << ": " << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(write.refusal)) << write.what;
    EXPECT_THAT(answer.body, HasSubstr("tangram-node")) << "the policy, and nothing else";
  }

  static Write cards(const std::string& refusal = "") {
    return {"cards", R"({"metadata":{"annotations":{"tangram.dev/cards":"{}"}}})", refusal};
  }

  /// Labels of GPU feature discovery, as members, and the agent's list of them, as JSON.
  static Write labels(const std::string& what, const std::string& members, const std::string& list,
                      const std::string& refusal = "") {
    return {what,
            R"({"metadata":{"labels":{)" + members +
                R"(},"annotations":{"tangram.dev/written-labels":)" + list + "}}}",
            refusal};
  }
  static Write one_label() {
    return labels("a count", R"("nvidia.com/gpu.count":"1")", R"("nvidia.com/gpu.count=1")");
  }
  static Write no_label() { return labels("no count", R"("nvidia.com/gpu.count":null)", "null"); }

  /// The API server does not report that it has read a policy, so this polls.
  void wait_until_in_force() {
    wait_until([&] { return patch(*api_of_a_, "b", cards()).status != 200; });
  }
  template <class InForce>
  static void wait_until(InForce&& in_force) {
    const auto deadline = TimePoint::clock::now() + 30s;
    while (!in_force()) {
      if (TimePoint::clock::now() > deadline) throw std::runtime_error("no policy is in force");
      std::this_thread::sleep_for(50ms);
    }
  }

  std::string node(const std::string& name) { return cluster_.get("/api/v1/nodes/" + name); }

  std::optional<AgentIdentity> agent_;
  std::unique_ptr<kube::KubeApi> api_of_a_;
};

TEST_F(AgentPolicyTest, ItsOwnNodeAndNoOther) {
  const std::string before = node("b");
  expect(*api_of_a_, "b",
         cards("an agent may write only its own Node; this token belongs to node a"));
  expect(*api_of_a_, "b",
         {"capacity", R"({"status":{"capacity":{"tangram.dev/gpu-milli":"9000"}}})",
          "this token belongs to node a", "/status"});
  EXPECT_EQ(node("b"), before);
  expect(*api_of_a_, "a", cards());
}

TEST_F(AgentPolicyTest, AllThatTheAgentWrites) {
  const std::vector<Write> writes = {
      {"cards and labels",
       R"({"metadata":{"annotations":{"tangram.dev/cards":"{\"version\":1,\"cards\":[]}"},)"
       R"("labels":{"tangram.dev/gpu":"true","tangram.dev/gpu-model":"A100"}}})",
       ""},
      {"no labels",
       R"({"metadata":{"labels":{"tangram.dev/gpu":null,"tangram.dev/gpu-model":null}}})", ""},
      {"no cards", R"({"metadata":{"annotations":{"tangram.dev/cards":null}}})", ""},
      {"resizes",
       R"({"metadata":{"annotations":{"tangram.dev/resizes":"{\"version\":1,\"pods\":{}}"}}})", ""},
      {"capacities",
       R"({"status":{"capacity":{"tangram.dev/gpu-milli":"8000","tangram.dev/gpu-mem-mib":"655360"}}})",
       "", "/status"},
      {"no capacities",
       R"({"status":{"capacity":{"tangram.dev/gpu-milli":null,"tangram.dev/gpu-mem-mib":null}}})",
       "", "/status"},
  };
  for (const Write& write : writes) expect(*api_of_a_, "a", write);
}

TEST_F(AgentPolicyTest, NothingElseOfItsOwnNode) {
  const std::string labels = "an agent may change only the labels tangram.dev/gpu and";
  const std::string annotations =
      "an agent may change only the annotations "
      "tangram.dev/cards, tangram.dev/resizes and tangram.dev/written-labels";
  const std::string capacities =
      "an agent may change only the capacities tangram.dev/gpu-milli and";
  const std::string status = "an agent may change only capacities in a Node's status";
  const std::string spec = "an agent may not change a Node's spec, which contains its taints";
  const std::string metadata =
      "an agent may change only labels and annotations in a Node's metadata";
  const std::vector<Write> writes = {
      {"a label", R"({"metadata":{"labels":{"pool":"mine"}}})", labels},
      {"another's label", R"({"metadata":{"labels":{"zone":"z2"}}})", labels},
      {"another's label away", R"({"metadata":{"labels":{"zone":null}}})", labels},
      {"a role", R"({"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}})", labels},
      {"a label by the status", R"({"metadata":{"labels":{"pool":"mine"}}})", labels, "/status"},
      {"the cordon", R"({"metadata":{"annotations":{"tangram.dev/cordon":null}}})", annotations},
      {"an annotation", R"({"metadata":{"annotations":{"x":"y"}}})", annotations},
      {"an annotation by the status", R"({"metadata":{"annotations":{"x":"y"}}})", annotations,
       "/status"},
      {"a finalizer", R"({"metadata":{"finalizers":["example.com/keep"]}})", metadata},
      {"a taint", R"({"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}})", spec},
      {"unschedulable", R"({"spec":{"unschedulable":true}})", spec},
      {"slots", R"({"status":{"capacity":{"tangram.dev/gpu-slot":"1000"}}})", capacities,
       "/status"},
      {"processors", R"({"status":{"capacity":{"cpu":"1000"}}})", capacities, "/status"},
      {"memory away", R"({"status":{"capacity":{"memory":null}}})", capacities, "/status"},
      {"allocatable", R"({"status":{"allocatable":{"tangram.dev/gpu-milli":"8000"}}})", status,
       "/status"},
      {"readiness", R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})", status,
       "/status"},
      {"an address", R"({"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.9"}]}})",
       status, "/status"},
      {"a part that this policy has never heard of",
       R"({"status":{"runtimeHandlers":[{"name":"mine"}]}})", status, "/status"},
  };
  const std::string before = node("a");
  for (const Write& write : writes) expect(*api_of_a_, "a", write);
  EXPECT_EQ(node("a"), before);
  Figures("agent_policy").add("refused", static_cast<int>(writes.size()));
}

TEST_F(AgentPolicyTest, WithoutTheFlagLabelsOfCardsCanOnlyGo) {
  const std::string unlisted = "an agent may change only the labels tangram.dev/gpu and";
  const std::string listed = "an agent without --gpu-labels may list no labels";
  // Another test's policy may still be in force.
  wait_until([&] {
    const bool written = patch(*api_of_a_, "a", one_label()).status == 200;
    if (written) patch(*api_of_a_, "a", no_label());
    return !written;
  });
  const std::string before = node("a");
  Write write = one_label();
  write.refusal = listed;
  expect(*api_of_a_, "a", write);
  expect(*api_of_a_, "a",
         {"unlisted", R"({"metadata":{"labels":{"nvidia.com/gpu.count":"1"}}})", unlisted});
  EXPECT_EQ(node("a"), before);
  // As an agent with the flag has left it.
  expect(
      *api_, "a",
      labels("of an earlier agent", R"("nvidia.com/gpu.count":"1","nvidia.com/gpu.family":"mine")",
             R"("nvidia.com/gpu.count=1")"));
  expect(*api_of_a_, "a",
         labels("another's away", R"("nvidia.com/gpu.family":null)", "null", unlisted));
  expect(*api_of_a_, "a", no_label());
}

class AgentLabelsPolicyTest : public AgentPolicyTest {
 protected:
  AgentLabelsPolicyTest() : AgentPolicyTest("policy-gpu-labels.yaml") {
    wait_until([&] { return patch(*api_of_a_, "a", one_label()).status == 200; });
    expect(*api_of_a_, "a", no_label());
    // Somebody else's.
    expect(*api_, "a",
           {"labels", R"({"metadata":{"labels":{"nvidia.com/gpu.family":"mine"}}})", ""});
  }
  void TearDown() override { AgentIdentity::apply_rights(); }
};

TEST_F(AgentLabelsPolicyTest, AllThatTheAgentWrites) {
  const std::vector<Write> writes = {
      labels(
          "labels",
          R"("nvidia.com/gpu.product":"NVIDIA-A100-SXM4-80GB-SHARED","nvidia.com/gpu.count":"8",)"
          R"("nvidia.com/cuda.driver-version.full":"550.107.02","nvidia.com/cuda.driver.rev":"",)"
          R"("nvidia.com/mig-1g.10gb.me.sharing-strategy":"time-slicing",)"
          R"("nvidia.com/mig.strategy":"mixed")",
          R"("nvidia.com/cuda.driver-version.full=550.107.02,nvidia.com/cuda.driver.rev=,)"
          R"(nvidia.com/gpu.count=8,nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB-SHARED,)"
          R"(nvidia.com/mig-1g.10gb.me.sharing-strategy=time-slicing,)"
          R"(nvidia.com/mig.strategy=mixed")"),
      labels("another count, and no MIG",
             R"("nvidia.com/gpu.count":"7","nvidia.com/mig.strategy":null,)"
             R"("nvidia.com/mig-1g.10gb.me.sharing-strategy":null)",
             R"("nvidia.com/cuda.driver-version.full=550.107.02,nvidia.com/cuda.driver.rev=,)"
             R"(nvidia.com/gpu.count=7,nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB-SHARED")"),
      labels("none",
             R"("nvidia.com/cuda.driver-version.full":null,"nvidia.com/cuda.driver.rev":null,)"
             R"("nvidia.com/gpu.count":null,"nvidia.com/gpu.product":null)",
             "null"),
  };
  for (const Write& write : writes) expect(*api_of_a_, "a", write);
}

TEST_F(AgentLabelsPolicyTest, NoOtherLabelAndNothingOfAnother) {
  const std::string unlisted = "an agent may change only the labels tangram.dev/gpu and";
  const std::string listed =
      "an agent may list in the annotation tangram.dev/written-labels only labels of NVIDIA's";
  const auto listing = [&](const std::string& name, const std::string& value) {
    return labels(name, '"' + name + R"(":")" + value + '"', '"' + name + "=" + value + '"',
                  listed);
  };
  const std::vector<Write> writes = {
      // By these, others' programs start on the node, or stop there.
      listing("nvidia.com/gpu.deploy.device-plugin", "true"),
      listing("nvidia.com/gpu.present", "true"),
      listing("nvidia.com/mps.capable", "true"),
      listing("nvidia.com/mig.config", "all-1g.10gb"),
      listing("nvidia.com/device-plugin.config", "whole"),
      listing("nvidia.com/gfd.timestamp", "1594644571"),
      listing("pool", "mine"),
      listing("nvidia.com/gpu.count", "many"),
      listing("nvidia.com/gpu.sharing-strategy", "all"),
      listing("nvidia.com/cuda.driver-version.full", "new"),
      {"unlisted", R"({"metadata":{"labels":{"nvidia.com/gpu.count":"1"}}})", unlisted},
      labels("a list without the label", "", R"("nvidia.com/gpu.count=1")", listed),
      labels("two values", R"("nvidia.com/gpu.count":"1")",
             R"("nvidia.com/gpu.count=1,nvidia.com/gpu.count=2")", listed),
      labels("another's label", R"("nvidia.com/gpu.family":"ampere")",
             R"("nvidia.com/gpu.family=ampere")", unlisted),
      labels("another's label as one's own", "", R"("nvidia.com/gpu.family=mine")", listed),
      labels("another's label away", R"("nvidia.com/gpu.family":null)", "null", unlisted),
      labels("a zone", R"("zone":"z2")", R"("zone=z2")", unlisted),
  };
  const std::string before = node("a");
  for (const Write& write : writes) expect(*api_of_a_, "a", write);
  EXPECT_EQ(node("a"), before);
  expect(*api_of_a_, "b", [&] {
    Write write = one_label();
    write.refusal = "this token belongs to node a";
    return write;
  }());
  Figures("agent_labels_policy").add("refused", static_cast<int>(writes.size()));
}

TEST_F(AgentLabelsPolicyTest, ValuesThatOthersMayWriteCannotBeListedInAdvance) {
  const std::string listed =
      "an agent may list in the annotation tangram.dev/written-labels only labels of NVIDIA's";
  const std::string unlisted = "an agent may change only the labels tangram.dev/gpu and";
  expect(*api_of_a_, "a",
         labels("one", R"("nvidia.com/gpu.count":"1")", R"("nvidia.com/gpu.count=1")"));
  expect(*api_of_a_, "a",
         labels("another, with the first kept", R"("nvidia.com/gpu.count":"2")",
                R"("nvidia.com/gpu.count=1,nvidia.com/gpu.count=2")", listed));
  expect(*api_of_a_, "a",
         {"the label away, the list kept",
          R"({"metadata":{"labels":{"nvidia.com/gpu.count":null}}})", ""});
  expect(*api_, "a",
         {"another's label", R"({"metadata":{"labels":{"nvidia.com/gpu.count":"4"}}})", ""});
  expect(*api_of_a_, "a",
         labels("a change of it", R"("nvidia.com/gpu.count":"99")",
                R"("nvidia.com/gpu.count=1,nvidia.com/gpu.count=99")", unlisted));
  expect(*api_of_a_, "a",
         {"its removal", R"({"metadata":{"labels":{"nvidia.com/gpu.count":null}}})", unlisted});
}

TEST_F(AgentPolicyTest, ATokenOfNoNodeWritesNone) {
  const auto api = open_api(agent_without_node());
  for (const char* node : {"a", "b"}) {
    expect(*api, node,
           cards("an agent may write only its own Node; this token belongs to no node"));
  }
}

TEST_F(AgentPolicyTest, OthersAreLeftAlone) {
  expect(*api_, "a", {"a label", R"({"metadata":{"labels":{"pool":"mine"}}})", ""});
  expect(*api_, "b", cards());
}

}  // namespace
}  // namespace tangram::e2e
