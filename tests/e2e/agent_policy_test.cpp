// What deploy/node/policy.yaml lets an agent's token write: its own Node, and there only what
// belongs to Tangram.

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
  AgentPolicyTest() {
    cluster_.add_nodes({node_with_cards("a", 1), node_with_cards("b", 1)});
    // As on a real node, so that a patch could change something.
    cluster_.patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"zone":"z1"},)"
                                      R"("annotations":{"tangram.dev/cordon":"all"}}})");
    AgentIdentity::apply_rights();
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

  /// The API server does not report that it has read a policy, so this polls.
  void wait_until_in_force() {
    const auto deadline = TimePoint::clock::now() + 30s;
    while (patch(*api_of_a_, "b", cards()).status == 200) {
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
      "an agent may change only the annotations tangram.dev/cards and "
      "tangram.dev/resizes";
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
