#include "cli/doctor/doctor.hpp"

#include "base/base64.hpp"
#include "base/file.hpp"
#include "cli/doctor/checks.hpp"
#include "source_dir.hpp"
#include "tests/cli/rig.hpp"
#include "tests/testing/tls.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::cli {
namespace {

constexpr const char* kSystem = "/namespaces/tangram-system";

/// A healthy installation, in which each test breaks one thing.
class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() {
    rig_.fill();
    rig_.api.answer("/version", R"({"major":"1","minor":"36","gitVersion":"v1.36.3"})");
    agents(2, "nvidia");
    replicas(2);
    rig_.api.answer(core("services/tangram-extender"),
                    R"({"spec":{"clusterIP":"10.96.0.42","ports":[)"
                    R"({"name":"https","port":9898,"targetPort":"https"},)"
                    R"({"name":"metrics","port":9090,"targetPort":"metrics"}]}})");
    rig_.api.answer(core("services/tangram-webhook"),
                    R"({"spec":{"ports":[{"name":"webhook","port":443,"targetPort":9443}]}})");
    rig_.install(listening(9898, 9090, 9443));
    endpoints(1);
    lease("pod-1_0a", "2026-01-01T00:00:00.000000Z");
    registrations(authority_.certificate_pem());
    metrics(3);
    rig_.api.answer("/apis/authorization.k8s.io/v1/subjectaccessreviews", 201,
                    R"({"status":{"allowed":true}})");
    rig_.api.answer("/api/v1/namespaces", R"({"items":[]})");
    const auto loaded = rig_.server.load_yaml(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: pod-1, namespace: tangram-system, labels: "
        "{app.kubernetes.io/name: tangram-extender, tangram.dev/role: leader}}\nspec: {nodeName: "
        "a, "
        "containers: [{name: extender, image: x}]}\n");
    EXPECT_TRUE(loaded) << loaded.error().message;
  }

  static std::string core(const std::string& what) {
    return "/api/v1" + std::string(kSystem) + "/" + what;
  }
  static std::string apps(const std::string& what) {
    return "/apis/apps/v1" + std::string(kSystem) + "/" + what;
  }
  /// @param runtime  the RuntimeClass of the agents' pods; "" = none
  void agents(int ready, const std::string& runtime) {
    const std::string named = runtime.empty() ? "" : R"("runtimeClassName":")" + runtime + "\"";
    rig_.api.answer(apps("daemonsets/tangram-node"),
                    R"({"spec":{"template":{"spec":{)" + named +
                        R"(}}},"status":{"desiredNumberScheduled":2,"numberReady":)" +
                        std::to_string(ready) + "}}");
  }
  /// @param updated  of the chart's version
  void mps_pods(int ready, int updated) {
    rig_.api.answer(apps("daemonsets/tangram-mps"),
                    R"({"status":{"desiredNumberScheduled":3,"numberReady":)" +
                        std::to_string(ready) + R"(,"updatedNumberScheduled":)" +
                        std::to_string(updated) + "}}");
  }
  void replicas(int ready) {
    rig_.api.answer(apps("deployments/tangram-extender"),
                    R"({"spec":{"replicas":2,"template":{"spec":{"containers":[{"ports":[)"
                    R"({"name":"https","containerPort":9898},)"
                    R"({"name":"webhook","containerPort":9443},)"
                    R"({"name":"metrics","containerPort":9090}]}]}}},"status":{"readyReplicas":)" +
                        std::to_string(ready) + "}}");
  }
  /// The extender's configuration with these ports.
  static std::string listening(int server, int metrics, int webhook) {
    const auto listen = [](const char* section, int port) {
      return std::string(section) + ": {listen: 0.0.0.0:" + std::to_string(port) + "}\n";
    };
    return "tls: {certificate: /tls/tls.crt, key: /tls/tls.key, client_ca: /tls/ca.crt}\n" +
           listen("server", server) + listen("metrics", metrics) + listen("webhook", webhook);
  }
  void endpoints(int ready) {
    std::string list = R"({"conditions":{"ready":false}})";
    for (int i = 0; i < ready; ++i) list += R"(,{"conditions":{"ready":true}})";
    rig_.api.answer("/apis/discovery.k8s.io/v1" + std::string(kSystem) + "/endpointslices",
                    R"({"items":[{"endpoints":[)" + list + "]}]}");
  }
  void lease(const std::string& holder, const std::string& renewed) {
    rig_.api.answer(
        "/apis/coordination.k8s.io/v1" + std::string(kSystem) + "/leases/tangram-extender",
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{},"spec":{"holderIdentity":")" +
            holder + R"(","renewTime":")" + renewed + R"(","leaseDurationSeconds":15}})");
  }
  void registrations(const std::string& pem) {
    const std::string bundle = base64_encode(pem);
    for (const char* kind : {"mutating", "validating"}) {
      rig_.api.answer(
          "/apis/admissionregistration.k8s.io/v1/" + std::string(kind) + "webhookconfigurations",
          R"({"items":[{"metadata":{"name":"00-tangram"},"webhooks":[{"clientConfig":{"caBundle":")" +
              bundle +
              R"(","service":{"namespace":"tangram-system","name":"tangram-webhook"}}}]}]})");
    }
  }
  /// Namespaces with the label tangram.dev/admission: enabled, of this list; and the webhook and
  /// the policy that enforce it.
  void labelled(const std::string& names) {
    rig_.api.answer("/api/v1/namespaces", R"({"items":[)" + names + "]}");
    hidden("Fail");
    policy("Fail", "Deny");
  }
  void hidden(const std::string& failure_policy) {
    rig_.api.answer(
        kRegistrations + "validatingwebhookconfigurations",
        R"({"items":[{"metadata":{"name":"00-tangram"},"webhooks":[{"failurePolicy":")" +
            failure_policy + R"(","clientConfig":{"caBundle":")" +
            base64_encode(authority_.certificate_pem()) +
            R"(","service":{"namespace":"tangram-system","name":"tangram-webhook",)"
            R"("path":"/admission/validate/hidden"}}}]}]})");
  }
  void policy(const std::string& failure_policy, const std::string& action) {
    rig_.api.answer(kRegistrations + "validatingadmissionpolicies/tangram-hidden-cards",
                    R"({"spec":{"failurePolicy":")" + failure_policy + "\"}}");
    rig_.api.answer(kRegistrations + "validatingadmissionpolicybindings/tangram-hidden-cards",
                    R"({"spec":{"validationActions":["Audit",")" + action + "\"]}}");
  }
  const std::string kRegistrations = "/apis/admissionregistration.k8s.io/v1/";

  void metrics(int calls, const std::string& more = "") {
    rig_.api.answer(
        core("services/tangram-extender:metrics/proxy/metrics"),
        "# HELP x y\ntangram_extender_request_duration_seconds_count{verb=\"filter\"} " +
            std::to_string(calls) +
            "\ntangram_watch_lag_seconds{resource=\"nodes\"} 2.5\n"
            "tangram_tls_certificate_expiry_timestamp_seconds{listener=\"server\"} "
            "1800000000\n" +
            more);
  }

  Report report() { return examine({rig_.api, "https://api", "tangram-system", rig_.clock}); }
  /// All lines of the level, "subject: finding → next".
  std::vector<std::string> lines(Level level) {
    std::vector<std::string> texts;
    for (const Check& check : report()) {
      if (check.level != level) continue;
      texts.push_back(check.subject + ": " + check.finding +
                      (check.next.empty() ? "" : " → " + check.next));
    }
    return texts;
  }
  void expect_failure(const std::string& words) { expect(Level::kFail, words); }
  void expect_warning(const std::string& words) { expect(Level::kWarn, words); }

  Rig rig_;
  const testing::Identity authority_ = testing::make_identity("authority", "", nullptr);

 private:
  void expect(Level level, const std::string& words) {
    const auto found = lines(level);
    const bool said = std::any_of(found.begin(), found.end(), [&](const std::string& line) {
      return line.find(words) != std::string::npos;
    });
    std::string all;
    for (const std::string& line : found) all += line + "\n";
    EXPECT_TRUE(said) << words << " is not in:\n" << all;
    for (const Check& check : report()) {
      EXPECT_EQ(check.next.empty(), check.level == Level::kOk) << check.finding;
    }
  }
};

TEST_F(DoctorTest, ReportsNoProblemOfAHealthyInstallation) {
  const Report found = report();
  EXPECT_TRUE(passed(found));
  // The CA is of today, whenever that is.
  std::string text = draw_report(file_screen(), found);
  for (const char* kind : {"mutating", "validating"}) {
    const std::size_t begin =
        text.find("is valid until", text.find("the CA in " + std::string(kind)));
    text.replace(begin, text.find('\n', begin) - begin, "is valid");
  }
  EXPECT_EQ(text, R"(ok    API server                v1.36.3 at https://api
ok    nodes                     3 cards on 2 of 2 nodes
ok    agents                    2 of 2 are ready
ok    extender                  2 of 2 replicas ready
ok    extender                  pod-1 is the leader
ok    Service tangram-extender  10.96.0.42:9898, 1 endpoint; urlPrefix in kube-scheduler's configuration must name that address and port
ok    Lease                     held by pod-1_0a
ok    scheduler                 kube-scheduler has called the leader 3 times
ok    certificates              the extender's certificate {listener="server"} is valid until 2027-01-15T08:00:00Z
ok    webhook                   the CA in mutating 00-tangram is valid
ok    webhook                   the CA in validating 00-tangram is valid
ok    webhook                   its Service has 1 ready endpoint
ok    rights                    tangram-extender has the 21 rights that it needs
ok    rights                    tangram-node has the 11 rights that it needs
ok    pods                      2 GPU pods, no findings

15 ok, 0 warnings, 0 failures
)");
}

TEST_F(DoctorTest, WrapsLongLinesAtATerminal) {
  const Report report{{Level::kOk, "a", "fine", ""},
                      {Level::kFail, "Lease", "has no holder and has had none for a long while now",
                       "no replica leads, so look at the log of each of them"}};
  EXPECT_EQ(draw_report(terminal(60), report),
            "ok    a      fine\n"
            "fail  Lease  has no holder and has had none for a long while\n"
            "             now\n"
            "             → no replica leads, so look at the log of each\n"
            "               of them\n"
            "\n"
            "1 ok, 0 warnings, 1 failure\n");
}

TEST_F(DoctorTest, OnlyReads) {
  (void)report();
  for (const kube::Request& request : rig_.api.calls()) {
    const bool review = request.path.find("subjectaccessreviews") != std::string::npos;
    EXPECT_TRUE(request.method == kube::Method::kGet || review) << request.path;
  }
}

/// RBAC answers 403 for a name that the role does not list, whether there is such an object or not.
TEST_F(DoctorTest, ItsRoleNamesTheWorkloadsThatItReads) {
  (void)report();
  const auto role = read_file(TANGRAM_SOURCE_DIR "/deploy/cli/rbac.yaml");
  ASSERT_TRUE(role);
  const std::string start = "resources: [deployments, daemonsets]\n  resourceNames: [";
  const std::size_t found = role->find(start);
  ASSERT_NE(found, std::string::npos);
  const std::size_t names = found + start.size();
  const std::string list = ", " + role->substr(names, role->find(']', names) - names) + ", ";
  int read = 0;
  for (const kube::Request& request : rig_.api.calls()) {
    if (!request.path.starts_with("/apis/apps/v1/")) continue;
    ++read;
    const std::string name = request.path.substr(request.path.rfind('/') + 1);
    EXPECT_NE(list.find(", " + name + ", "), std::string::npos) << name;
  }
  EXPECT_GE(read, 3);
}

TEST_F(DoctorTest, StopsWhereThereIsNoServer) {
  rig_.api.answer("/version", 503, "not now");
  const Report found = report();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].level, Level::kFail);
  EXPECT_NE(found[0].next.find("kubectl cluster-info"), std::string::npos);
  rig_.api.answer("/version", R"({"minor":"21+","gitVersion":"v1.21.0"})");
  expect_failure("Tangram needs Kubernetes 1.22");
}

TEST_F(DoctorTest, ReportsFaultsOfNodes) {
  rig_.add_node("slotless", {testing::card("GPU-s")}, "", "{}", "tangram.dev/gpu-slot: \"0\"");
  rig_.add_node("shared", {testing::card("GPU-n")}, "", "{}",
                "tangram.dev/gpu-slot: \"16\", nvidia.com/gpu: \"1\"");
  model::Card unhealthy = testing::card("GPU-x");
  unhealthy.healthy = false;
  unhealthy.unavailable_reason = "XID 79";
  rig_.add_node("unhealthy", {unhealthy});
  EXPECT_TRUE(rig_.server.load_yaml(
      "apiVersion: v1\nkind: Node\nmetadata: {name: torn, annotations: {tangram.dev/cards: "
      "'{\"version\":9}'}}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: silent, labels: "
      "{tangram.dev/gpu: \"true\"}}\n"));
  expect_failure("nodes: cards, but no tangram.dev/gpu-slot in allocatable: slotless → ");
  expect_failure("nodes: annotation tangram.dev/cards cannot be read: torn (");
  expect_warning("nodes: label tangram.dev/gpu, but no cards annotation: silent → ");
  expect_warning(
      "nodes: another device plugin advertises GPUs of the node: shared (nvidia.com/gpu)");
  expect_warning("nodes: unhealthy cards: GPU-x of unhealthy (XID 79)");
  agents(1, "");
  expect_failure("agents: 1 of 2 are ready");
}

TEST_F(DoctorTest, ReportsACardThatSeveralNodesList) {
  rig_.add_node("copy", {testing::card("GPU-b0", "T4")});
  expect_failure("nodes: several nodes list the same card: GPU-b0 of b and copy → `nvidia-smi -L`");
}

TEST_F(DoctorTest, NamesCardsThatADraDriverPublishes) {
  constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";
  rig_.add_node("twice", {testing::card("GPU-t")});
  rig_.api.answer(kSlices,
                  R"({"metadata":{"resourceVersion":"1"},"items":[{"spec":{"driver":)"
                  R"("gpu.nvidia.com","devices":[{"attributes":{"uuid":{"string":"GPU-t"}}}]}}]})");
  expect_warning("nodes: a DRA driver publishes the same cards: GPU-t of twice (gpu.nvidia.com)");
  rig_.api.answer(kSlices, 403, "no");
  expect_warning("nodes: cannot be read: list resourceslices: 403: no");
}

TEST_F(DoctorTest, NamesTheMissingRuntimeClass) {
  agents(0, "nvidia");
  expect_failure(
      "agents: 0 of 2 are ready: RuntimeClass nvidia does not exist, so no pod of DaemonSet "
      "tangram-node can be made → create it, as NVIDIA's GPU operator does; or, where NVIDIA's "
      "runtime is the nodes' default, omit runtimeClassName");
  rig_.api.answer("/apis/node.k8s.io/v1/runtimeclasses/nvidia", R"({"handler":"nvidia"})");
  expect_failure("agents: 0 of 2 are ready → kubectl --namespace tangram-system get pods");
}

TEST_F(DoctorTest, ShowsTheDaemonSetsNewestEvent) {
  agents(1, "");
  rig_.api.answer(core("events"),
                  R"({"items":[
    {"reason":"FailedCreate","message":"new: \"quota\"","lastTimestamp":"2026-01-01T00:00:09Z"},
    {"reason":"FailedCreate","message":"old","lastTimestamp":"2026-01-01T00:00:02Z"},
    {"reason":"FailedCreate","message":"older","lastTimestamp":null,
     "eventTime":"2026-01-01T00:00:01.000000Z"}]})");
  expect_failure("agents: 1 of 2 are ready: FailedCreate at 2026-01-01T00:00:09Z: new: \"quota\"");
  for (const kube::Request& request : rig_.api.calls()) {
    if (!request.path.ends_with("/events")) continue;
    EXPECT_EQ(request.query.at("fieldSelector"),
              "involvedObject.kind=DaemonSet,involvedObject.name=tangram-node,type=Warning");
  }
}

TEST_F(DoctorTest, AnEventAddsNoLines) {
  agents(1, "");
  rig_.api.answer(core("events"),
                  R"({"items":[{"reason":"Failed","lastTimestamp":"2026-01-01T00:00:09Z",)"
                  R"("message":"no\n\nok    nodes  all well\u001b[8m"}]})");
  expect_failure(
      "agents: 1 of 2 are ready: Failed at 2026-01-01T00:00:09Z: no??ok    nodes  all well?[8m");
}

TEST_F(DoctorTest, AnAnswerOfTheServerAddsNoLines) {
  rig_.api.answer("/apis/resource.k8s.io/v1/resourceslices", 403, "no\nok  all");
  expect_warning("nodes: cannot be read: list resourceslices: 403: no?ok  all");
}

TEST_F(DoctorTest, ANameAddsNoLines) {
  std::string odd = testing::node_json("n\nok    nodes", {{"tangram.dev/cards", "none"}});
  odd.insert(odd.find(R"("name":)"), R"("uid":"u",)");
  rig_.api.answer("/api/v1/nodes", R"({"metadata":{"resourceVersion":"1"},"items":[)" + odd + "]}");
  expect_failure("nodes: annotation tangram.dev/cards cannot be read: n?ok    nodes (");
}

TEST_F(DoctorTest, ReportsPortsThatDoNotMeet) {
  rig_.install(listening(9899, 9090, 9443));
  expect_failure(
      "Service tangram-extender: sends port 9898 to port 9898, but server.listen of ConfigMap "
      "tangram-extender is port 9899 → ");
  rig_.install(listening(9898, 9091, 9444));
  expect_failure(
      "Service tangram-extender: sends port 9090 to port 9090, but metrics.listen of ConfigMap "
      "tangram-extender is port 9091");
  expect_failure(
      "Service tangram-webhook: sends port 443 to port 9443, but webhook.listen of ConfigMap "
      "tangram-extender is port 9444");
}

TEST_F(DoctorTest, ReportsATargetPortThatNoContainerHas) {
  rig_.api.answer(core("services/tangram-webhook"),
                  R"({"spec":{"ports":[{"name":"webhook","port":443,"targetPort":"hook"}]}})");
  expect_failure(
      "Service tangram-webhook: sends port 443 to port \"hook\", which no container of Deployment "
      "tangram-extender has");
}

TEST_F(DoctorTest, ReportsAPortThatKubeSchedulerDoesNotFind) {
  rig_.install("tangram-scheduler", "scheduler-config.yaml",
               "extenders:\n- urlPrefix: https://tangram-extender.tangram-system.svc:9898\n");
  EXPECT_TRUE(passed(report()));
  rig_.install("tangram-scheduler", "scheduler-config.yaml",
               "extenders:\n- urlPrefix: https://tangram-extender.tangram-system.svc:9899\n");
  expect_failure(
      "ConfigMap tangram-scheduler: urlPrefix https://tangram-extender.tangram-system.svc:9899 "
      "names port 9899, but Service tangram-extender takes its calls at port 9898");
}

TEST_F(DoctorTest, ReportsUnsignedGrants) {
  const SigningKey key = SigningKey::generate();
  rig_.install(
      "grants: {signing_key: /etc/tangram-grant-key/grant.key, public_keys: "
      "/etc/tangram-grant-keys}\n");
  rig_.install_key(key);
  expect_warning("grants: 1 of 1 are not signed by a known key: ml/half → ");
  rig_.sign_with(key);
  rig_.add_bound("good", "0.25", "a", {testing::shared("GPU-a1", 20'480, 250)});
  expect_warning("grants: 1 of 2 are not signed by a known key: ml/half → ");
}

TEST_F(DoctorTest, ReportsSignaturesThatItCannotCheck) {
  rig_.install(
      "grants: {signing_key: /etc/tangram-grant-key/grant.key, public_keys: "
      "/etc/tangram-grant-keys, required: true}\n");
  expect_warning(
      "grants: signatures were not checked: there is no ConfigMap "
      "tangram-system/tangram-grant-keys → ");
  rig_.install_key(SigningKey::generate());
  expect_warning("pods: GrantInvalid: ml/half");
}

TEST_F(DoctorTest, ReportsThatNothingIsInstalled) {
  rig_.api.answer("/api/v1/nodes", R"({"metadata":{"resourceVersion":"1"},"items":[]})");
  rig_.api.answer(apps("daemonsets/tangram-node"), 404, "");
  rig_.api.answer(apps("deployments/tangram-extender"), 404, "");
  for (const char* kind : {"mutating", "validating"}) {
    rig_.api.answer(
        "/apis/admissionregistration.k8s.io/v1/" + std::string(kind) + "webhookconfigurations",
        R"({"items":[]})");
  }
  expect_failure("nodes: none of 0 nodes lists GPU cards");
  expect_failure("extender: no Deployment tangram-extender in tangram-system");
  expect_warning("agents: no DaemonSet tangram-node");
  expect_warning("webhook: no webhook configuration refers to it");
}

TEST_F(DoctorTest, ReportsThePodsOfMpsDaemons) {
  const auto line = [this](Level level) {
    for (const std::string& text : lines(level)) {
      if (text.starts_with("MPS daemons' pods: ")) return text;
    }
    return std::string();
  };
  for (const Level level : {Level::kOk, Level::kWarn, Level::kFail}) EXPECT_EQ(line(level), "");
  mps_pods(3, 3);
  EXPECT_EQ(line(Level::kOk), "MPS daemons' pods: 3 of 3 are ready");
  mps_pods(3, 1);
  EXPECT_EQ(line(Level::kWarn),
            "MPS daemons' pods: 3 of 3 are ready, 2 of an earlier version of the chart → delete "
            "them when no pod of their nodes shares a card by MPS: docs/operations.md, \"Pods of "
            "MPS daemons\"");
  mps_pods(2, 3);
  EXPECT_EQ(
      line(Level::kFail),
      "MPS daemons' pods: 2 of 3 are ready: on the other nodes no pod can share a card by MPS "
      "→ kubectl --namespace tangram-system get pods -l app.kubernetes.io/name=tangram-mps "
      "-o wide");
  rig_.api.answer(apps("daemonsets/tangram-mps"), 403, "{}");
  EXPECT_NE(line(Level::kWarn), "");
}

TEST_F(DoctorTest, ReportsFaultsOfTheExtender) {
  rig_.api.answer(apps("deployments/tangram-extender"), R"({"spec":{"replicas":2},"status":{}})");
  expect_failure("extender: 0 of 2 replicas ready");
  replicas(1);
  expect_warning("extender: 1 of 2 replicas ready");
  lease("pod-1_0a", "2025-12-31T23:58:59.000000Z");
  expect_failure("Lease: pod-1_0a last renewed it at 2025-12-31T23:58:59.000000Z");
  lease("", "2026-01-01T00:00:00.000000Z");
  expect_failure("Lease: has no holder");
  endpoints(0);
  expect_failure("Service tangram-extender: 10.96.0.42:9898, no endpoint is ready");
  expect_failure("webhook: its Service has 0 ready endpoints");
  rig_.api.answer(core("pods"), R"({"items":[]})");
  expect_failure("no pod has the label tangram.dev/role: leader");
  rig_.api.answer(core("pods"),
                  R"({"items":[{"metadata":{"name":"x"}},{"metadata":{"name":"y"}}]})");
  expect_failure("several pods have the label tangram.dev/role: leader: x, y");
  rig_.api.answer(core("services/tangram-extender"), 404, "");
  expect_failure("Service tangram-extender: does not exist");
}

TEST_F(DoctorTest, ReadsTheLeadersMetrics) {
  metrics(0,
          "tangram_watch_lag_seconds{resource=\"pods\"} 300\n"
          "tangram_tls_certificate_expiry_timestamp_seconds{listener=\"webhook\"} 1767225000\n"
          "tangram_tls_certificate_expiry_timestamp_seconds{listener=\"other\"} 1767312000\n"
          "tangram_tls_reload_failures_total{listener=\"server\"} 2\n");
  expect_warning("scheduler: the leader has received no filter request");
  expect_failure("the last watch event is 300 s old {resource=\"pods\"}");
  expect_failure("certificate {listener=\"webhook\"} expired at 2025-12-31T23:50:00Z");
  expect_warning("certificate {listener=\"other\"} expires at 2026-01-02T00:00:00Z");
  expect_warning("changed files could not be loaded {listener=\"server\"}");
}

TEST_F(DoctorTest, ReportsFaultsOfTheWebhook) {
  registrations("no PEM at all");
  expect_failure("caBundle of mutating 00-tangram: has no PEM certificate");
  registrations("");
  expect_failure("mutating 00-tangram has no caBundle");
  registrations(authority_.certificate_pem());
  rig_.api.answer("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                  R"({"items":[]})");
  expect_failure("there is no validating configuration");
  rig_.clock.advance(std::chrono::hours(24 * 365 * 30));
  expect_failure("the CA in mutating 00-tangram expired at ");
}

TEST_F(DoctorTest, SaysWhereTheLabelOfHiddenCardsIsEnforced) {
  labelled(R"({"metadata":{"name":"ml"}},{"metadata":{"name":"web"}})");
  EXPECT_TRUE(lines(Level::kFail).empty());
  EXPECT_TRUE(lines(Level::kWarn).empty());
  const auto fine = lines(Level::kOk);
  EXPECT_EQ(std::ranges::count(fine,
                               "hidden cards: the label tangram.dev/admission=enabled is on ml, "
                               "web, and is enforced"),
            1);
  for (const kube::Request& request : rig_.api.calls()) {
    if (request.path != "/api/v1/namespaces") continue;
    EXPECT_EQ(request.query.at("labelSelector"), "tangram.dev/admission=enabled");
  }
}

TEST_F(DoctorTest, ReportsALabelOfHiddenCardsThatNoWebhookEnforces) {
  labelled(R"({"metadata":{"name":"ml"}})");
  const std::string words =
      "hidden cards: the label tangram.dev/admission=enabled is on ml, but no webhook with "
      "failurePolicy: Fail checks that the pods there see no card → kubectl apply webhook.yaml";
  hidden("Ignore");
  expect_failure(words);
  registrations(authority_.certificate_pem());
  expect_failure(words);
  rig_.api.answer("/api/v1/namespaces", R"({"items":[{"metadata":{"name":"kube-system"}},)"
                                        R"({"metadata":{"name":"tangram-system"}}]})");
  EXPECT_TRUE(passed(report())) << "these are exempt";
}

TEST_F(DoctorTest, ReportsALabelOfHiddenCardsWithoutThePolicy) {
  labelled(R"({"metadata":{"name":"ml"}})");
  const std::string words =
      "hidden cards: the label tangram.dev/admission=enabled is on ml, but no policy "
      "tangram-hidden-cards with a binding that denies → ";
  policy("Fail", "Warn");
  expect_warning(words);
  policy("Ignore", "Deny");
  expect_warning(words);
  for (const char* kind : {"validatingadmissionpolicies", "validatingadmissionpolicybindings"}) {
    policy("Fail", "Deny");
    rig_.api.answer(kRegistrations + kind + "/tangram-hidden-cards", 404, "");
    expect_warning(words);
    rig_.api.answer(kRegistrations + kind + "/tangram-hidden-cards", 403, "{}");
    expect_warning("hidden cards: cannot be read: 403");
  }
  rig_.api.answer("/version", R"({"major":"1","minor":"29","gitVersion":"v1.29.0"})");
  EXPECT_TRUE(lines(Level::kWarn).empty()) << "there are no such policies yet";
}

TEST_F(DoctorTest, ReportsMissingRights) {
  rig_.api.answer("/apis/authorization.k8s.io/v1/subjectaccessreviews", 201,
                  R"({"status":{"allowed":false}})");
  expect_failure("rights: tangram-extender may not: list nodes, watch nodes, get pods");
  expect_failure("rights: tangram-node may not: get nodes");
  for (const char* right :
       {"get leases tangram-extender", "update leases tangram-extender", "patch pods/status",
        "create pods/eviction", "patch csistoragecapacities tangram-wake",
        "get configmaps tangram-defrag", "patch configmaps tangram-defrag"}) {
    expect_failure(right);
  }
}

TEST_F(DoctorTest, AsksForTheRightsThatTheSettingsNeed) {
  rig_.api.answer("/apis/authorization.k8s.io/v1/subjectaccessreviews", 201,
                  R"({"status":{"allowed":false}})");
  const auto missing = [&](const std::string& right) {
    const auto failures = lines(Level::kFail);
    return std::ranges::any_of(failures, [&](const std::string& line) {
      return line.find("tangram-extender may not") != std::string::npos &&
             line.find(right) != std::string::npos;
    });
  };
  rig_.install(listening(9898, 9090, 9443) +
               "leader_election: {lease: other}\nscheduler: {wake: false}\n"
               "card_preemption: {enabled: false}\ndefrag: {on_request: false}\n");
  EXPECT_TRUE(missing("update leases other"));
  EXPECT_TRUE(missing("create pods/eviction"));
  for (const char* right : {"pods/status", "tangram-wake", "tangram-defrag"}) {
    EXPECT_FALSE(missing(right)) << right;
  }
  rig_.install(listening(9898, 9090, 9443) +
               "card_preemption: {enabled: false}\neviction: {enabled: false}\n"
               "broken_cards: {evict: false}\ndefrag: {on_request: false, enabled: false}\n");
  EXPECT_FALSE(missing("pods/eviction"));
  EXPECT_TRUE(missing("patch csistoragecapacities tangram-wake"));
  EXPECT_FALSE(missing("tokenreviews"));
  rig_.install(
      "tls: {certificate: c, key: k}\nmetrics: {listen: 0.0.0.0:9090, authentication: token}\n");
  EXPECT_TRUE(missing("create tokenreviews"));
  rig_.api.answer(core("configmaps/tangram-extender"), 403, "{}");
  EXPECT_TRUE(missing("create leases"));
  EXPECT_FALSE(missing("eviction")) << "it may be turned off";
}

TEST_F(DoctorTest, ReportsPodsThatNoSchedulerHandles) {
  const std::string waits = rig_.add_pod("lost", {{"gpu-fraction", "0.1"}}, "tangrm");
  EXPECT_TRUE(passed(report())) << "a scheduler may need a moment";
  rig_.clock.advance(std::chrono::minutes(1));
  lease("pod-1_0a", "2026-01-01T00:01:00.000000Z");
  expect_failure("scheduler: no scheduler handles pods with schedulerName tangrm: ml/lost");
  expect_failure("schedulerName tangram: ml/large");
}

TEST_F(DoctorTest, ReportsPodsWithFindings) {
  rig_.add_pod("wrong", {{"gpu-fraction", "0.3333"}});
  expect_warning("pods: RequestInvalid: ml/wrong → kubectl tangram explain wrong --namespace ml");
}

TEST_F(DoctorTest, WarnsOfWhatItMayNotRead) {
  const std::string forbidden = R"({"kind":"Status","message":"not for you"})";
  for (const std::string& path :
       {apps("daemonsets/tangram-node"), apps("deployments/tangram-extender"), core("pods"),
        core("services/tangram-extender"), core("services/tangram-extender:metrics/proxy/metrics"),
        std::string("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"),
        std::string("/apis/authorization.k8s.io/v1/subjectaccessreviews")}) {
    rig_.api.answer(path, 403, forbidden);
  }
  const auto warnings = lines(Level::kWarn);
  EXPECT_EQ(warnings.size(), 8U);
  for (const std::string& warning : warnings) {
    EXPECT_NE(warning.find("cannot be read: 403: not for you → ask for the ClusterRole "
                           "tangram-doctor"),
              std::string::npos)
        << warning;
  }
  EXPECT_TRUE(passed(report()));
  rig_.api.answer(core("services/tangram-extender:metrics/proxy/metrics"), 503, "no endpoints");
  expect_warning("metrics: cannot reach the leader's metrics: 503: no endpoints");
  rig_.api.answer("/api/v1/pods", 403, forbidden);
  expect_failure("GET /api/v1/pods: 403: not for you; ask for the ClusterRole tangram-viewer");
}

TEST_F(DoctorTest, WritesJson) {
  const Report two{{Level::kOk, "nodes", "fine", ""}, {Level::kFail, "Lease", "gone", "look"}};
  EXPECT_EQ(report_json(two),
            R"({"checks":[{"level":"ok","subject":"nodes","finding":"fine","next":""},)"
            R"({"level":"fail","subject":"Lease","finding":"gone","next":"look"}],"well":false})");
}

TEST(CertificatesTest, FindsTheLastExpiryOfABundle) {
  const auto one = testing::make_identity("one", "", nullptr);
  const auto expires = last_expiry("junk\n" + one.certificate_pem() + one.certificate_pem());
  ASSERT_TRUE(expires);
  EXPECT_GT(*expires, SystemClock().wall());
  EXPECT_EQ(last_expiry("").error().code, Errc::kInvalidArgument);
  EXPECT_EQ(last_expiry("CA_BUNDLE").error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace tangram::cli
