// Which users may write grants, and what may change once a pod is bound: with the webhook, and with
// the shipped policies alone.

#include "tests/e2e/fixture.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/raw_json.hpp"
#include "tests/e2e/webhook.hpp"

#include <iostream>
#include <optional>

namespace tangram::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMallory = "system:serviceaccount:default:mallory";
constexpr const char* kExtender = "system:serviceaccount:tangram-system:tangram-extender";
constexpr const char* kGrant = "tangram.dev/gpu-grant";

/// All rights that a user could be given in a namespace.
constexpr const char* kMallorysRights = R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: mallory, namespace: default}
rules:
  - apiGroups: [""]
    resources: [pods, pods/status, pods/binding, bindings, pods/ephemeralcontainers, pods/resize]
    verbs: ["*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: mallory, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: mallory}
subjects: [{kind: ServiceAccount, name: mallory, namespace: default}]
)";

enum class Guard { kWebhook, kPolicies };

class ForgingTest : public E2eTest, public ::testing::WithParamInterface<Guard> {
 protected:
  ForgingTest() {
    const auto rights = kubectl({"apply", "-f", "-"}, kMallorysRights);
    EXPECT_TRUE(rights.done()) << rights.text;
    if (GetParam() == Guard::kWebhook) {
      webhook_.emplace(cluster_, Webhook::Options{});
      scheduler_ = webhook_->scheduler();
    } else {
      policies_.emplace(cluster_, "deploy/webhook/policies.yaml");
      extender_.emplace(ExtenderProcess::Options{.name = "policies"});
      extender_->start_ready();
      scheduler_ = start_scheduler({.extender_url = extender_->url()});
      PodSpec forged = fraction_pod("forged", "0.5");
      forged.gpu["gpu-grant"] = "{}";
      wait_until_refused(*api_, pod_json(forged));
    }
    NodeSpec node = node_with_cards("node", 2);
    node.aggregates = true;
    cluster_.add_nodes({node});
    PodSpec waiting = fraction_pod("waiting", "0.5");
    waiting.gpu["gpu-model"] = "no such card";
    cluster_.add_pods({fraction_pod("granted", "0.5"), waiting});
    EXPECT_TRUE(watcher_.wait_pod_bound("granted", 30s));
    grant_ = annotations_of(pod("granted"))["gpu-grant"];
    EXPECT_FALSE(grant_.empty());
  }

  rapidjson::Document pod(const std::string& name) {
    return parse_json(cluster_.get(Cluster::pod_path(name)));
  }

  static std::string quoted(const std::string& text) {
    std::string made;
    for (const char c : text) made += c == '"' ? "\\\"" : std::string(1, c);
    return "\"" + made + "\"";
  }

  static std::string annotation(const std::string& name, const std::string& json) {
    return R"({"metadata":{"annotations":{")" + name + "\":" + json + "}}}";
  }

  /// @param subresource  "" = the pod itself
  void expect_patch_refused(const std::string& pod, const std::string& patch,
                            const std::string& subresource = "") {
    std::vector<std::string> arguments = {"patch", "pod", pod, "--type=merge", "-p", patch};
    if (!subresource.empty()) arguments.push_back("--subresource=" + subresource);
    expect_refused(kubectl(arguments, "", kMallory), pod + " " + subresource + " " + patch);
  }

  static void expect_refused(const KubectlAnswer& answer, const std::string& what) {
    std::cout << "--- " << what << "\n" << answer.text << std::flush;
    EXPECT_FALSE(answer.done()) << what;
    EXPECT_THAT(answer.text, HasSubstr("denied")) << what;
    EXPECT_THAT(answer.text, ::testing::ContainsRegex("tangram\\.dev/gpu")) << what;
    EXPECT_EQ(answer.text.find("cannot patch resource"), std::string::npos)
        << "refused for lack of rights: " << answer.text;
    EXPECT_EQ(answer.text.find("cannot create resource"), std::string::npos)
        << "refused for lack of rights: " << answer.text;
  }

  std::optional<Webhook> webhook_;
  std::optional<Applied> policies_;
  std::optional<ExtenderProcess> extender_;
  std::optional<Process> scheduler_;
  PodWatcher watcher_{*api_};
  std::string grant_;
};

TEST_P(ForgingTest, NobodyCreatesAPodWithAGrant) {
  PodSpec forged = fraction_pod("forged", "0.5");
  forged.gpu["gpu-grant"] = "{}";
  expect_refused(kubectl({"create", "-f", "-"}, pod_json(forged), kMallory), "create with a grant");
}

TEST_P(ForgingTest, NobodySetsChangesRemovesOrCopiesAGrant) {
  for (const char* subresource : {"", "status"}) {
    expect_patch_refused("granted", annotation(kGrant, R"("{}")"), subresource);
    expect_patch_refused("granted", annotation(kGrant, "null"), subresource);
    expect_patch_refused("waiting", annotation(kGrant, R"("{}")"), subresource);
    expect_patch_refused("waiting", annotation(kGrant, quoted(grant_)), subresource);
  }
  EXPECT_EQ(annotations_of(pod("granted")).at("gpu-grant"), grant_);
  EXPECT_FALSE(annotations_of(pod("waiting")).contains("gpu-grant"));
}

TEST_P(ForgingTest, NobodyElseBindsWithAGrant) {
  const std::string binding =
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"waiting","annotations":{")" +
      std::string(kGrant) + "\":" + quoted(grant_) +
      R"(}},"target":{"apiVersion":"v1","kind":"Node","name":"node"}})";
  for (const char* path :
       {"/api/v1/namespaces/default/pods/waiting/binding", "/api/v1/namespaces/default/bindings"}) {
    expect_refused(kubectl({"create", "--raw", path, "-f", "-"}, binding, kMallory), path);
  }
  EXPECT_EQ(text_of(pod("waiting")["spec"], "nodeName"), "");
}

TEST_P(ForgingTest, OnlyTheAmountsOfABoundPodCanChange) {
  const std::string fraction = "tangram.dev/gpu-fraction";
  for (const char* subresource : {"", "status"}) {
    expect_patch_refused("granted", annotation("tangram.dev/gpu-model", R"("T4")"), subresource);
    expect_patch_refused("granted", annotation("tangram.dev/gpu-policy", R"("spread")"),
                         subresource);
    expect_patch_refused("granted", annotation("tangram.dev/gpu-count", R"("2")"), subresource);
    expect_patch_refused("granted", annotation(fraction, "null"), subresource);
    expect_patch_refused("granted", annotation("tangram.dev/gpu-mem.other", R"("1Gi")"),
                         subresource);
  }
  expect_patch_refused("granted", annotation(fraction, R"("0.4")"), "status");
  expect_patch_refused("granted", R"({"metadata":{"annotations":{"tangram.dev/gpu-fraction":"0.4",)"
                                  R"("tangram.dev/gpu-grant":"{}"}}})");
  EXPECT_EQ(annotations_of(pod("granted")).at("gpu-fraction"), "0.5");
  const auto labelled = kubectl({"label", "pod", "granted", "team=blue"}, "", kMallory);
  EXPECT_TRUE(labelled.done()) << labelled.text;
  const auto annotated = kubectl({"annotate", "pod", "granted", "note=mine"}, "", kMallory);
  EXPECT_TRUE(annotated.done()) << annotated.text;

  for (const std::string& request :
       {annotation(fraction, R"("0.4")"), annotation("tangram.dev/gpu-compute-limit", R"("0.9")"),
        std::string(R"({"metadata":{"annotations":{"tangram.dev/gpu-fraction":null,)"
                    R"("tangram.dev/gpu-mem":"1Gi"}}})")}) {
    const auto resized =
        kubectl({"patch", "pod", "granted", "--type=merge", "-p", request}, "", kMallory);
    EXPECT_TRUE(resized.done()) << request << ": " << resized.text;
  }
  EXPECT_EQ(annotations_of(pod("granted")).at("gpu-mem"), "1Gi");
}

TEST_P(ForgingTest, APodThatWasBoundWithoutAGrantCannotBeResized) {
  PodSpec placed = fraction_pod("placed", "0.5");
  placed.gpu["gpu-model"] = "no such card";
  cluster_.add_pods({placed});
  const std::string binding = R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"placed"},)"
                              R"("target":{"apiVersion":"v1","kind":"Node","name":"node"}})";
  const auto bound =
      kubectl({"create", "--raw", "/api/v1/namespaces/default/pods/placed/binding", "-f", "-"},
              binding, kMallory);
  ASSERT_TRUE(bound.done()) << bound.text;
  expect_patch_refused("placed", annotation("tangram.dev/gpu-fraction", R"("0.4")"));
}

TEST_P(ForgingTest, TheExtenderWritesNoGrantThatIsNoRevision) {
  const auto patch = [&](const std::string& text) {
    return kubectl({"patch", "pod", "granted", "--type=merge", "-p", text}, "", kExtender);
  };
  expect_refused(patch(annotation("tangram.dev/gpu-fraction", R"("0.4")")),
                 "the extender: request");
  EXPECT_THAT(patch(annotation(kGrant, "null")).text, HasSubstr("denied"));
  if (GetParam() == Guard::kWebhook) {
    expect_refused(patch(annotation(kGrant, R"("{}")")), "the extender: an empty grant");
    expect_refused(patch(annotation(kGrant, quoted(grant_ + " "))), "the extender: the same grant");
  }
  const auto another =
      kubectl({"patch", "pod", "waiting", "--type=merge", "-p", annotation(kGrant, quoted(grant_))},
              "", kExtender);
  EXPECT_THAT(another.text, HasSubstr("only of a bound pod with a grant")) << "of another pod";
  EXPECT_EQ(annotations_of(pod("granted")).at("gpu-grant"), grant_);
}

TEST_P(ForgingTest, RequestsOfWaitingPodsCanChange) {
  const auto changed = kubectl(
      {"annotate", "--overwrite", "pod", "waiting", "tangram.dev/gpu-model=A100*"}, "", kMallory);
  EXPECT_TRUE(changed.done()) << changed.text;
  EXPECT_TRUE(watcher_.wait_pod_bound("waiting", 30s));
}

TEST_P(ForgingTest, ABindByAnotherGrantsNothing) {
  const std::string binding =
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"waiting"},)"
      R"("target":{"apiVersion":"v1","kind":"Node","name":"node"}})";
  const auto bound =
      kubectl({"create", "--raw", "/api/v1/namespaces/default/pods/waiting/binding", "-f", "-"},
              binding, kMallory);
  std::cout << "--- bind without a grant\n" << bound.text << std::endl;
  EXPECT_FALSE(annotations_of(pod("waiting")).contains("gpu-grant"));
  expect_patch_refused("waiting", annotation(kGrant, quoted(grant_)));
  EXPECT_EQ(check_cluster(*api_).granted, 1);
}

INSTANTIATE_TEST_SUITE_P(By, ForgingTest, ::testing::Values(Guard::kWebhook, Guard::kPolicies),
                         [](const auto& row) {
                           return row.param == Guard::kWebhook ? "TheWebhook" : "PoliciesAlone";
                         });

}  // namespace
}  // namespace tangram::e2e
