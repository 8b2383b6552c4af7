// kubectl-tangram as people run it, against an API server over HTTP.

#include "cli/format.hpp"
#include "tests/cli/served_rig.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdlib>

namespace tangram::cli {
namespace {

class ProgramTest : public ::testing::Test, protected ServedRig {
 protected:
  struct Ended {
    int exit = -1;
    std::string out;
    std::string err;
  };

  /// @param variables  of the environment: "NO_COLOR=1"
  Ended run(const std::string& arguments, const std::string& variables = "") {
    const std::string command = "env -u KUBECONFIG KUBECONFIG=" + file("kubeconfig") + " " +
                                variables + " " + KUBECTL_TANGRAM + " " + arguments + " >" +
                                file("out") + " 2>" + file("err") + " </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out"), read("err")};
  }
};

std::string node_of(const std::string& name, const std::string& cards) {
  std::string text = testing::node_json(name, {{"tangram.dev/cards", cards}});
  return text.insert(text.find(R"("name":)"), R"("uid":"u","resourceVersion":"8",)");
}

TEST_F(ProgramTest, ShowsThePackingWithoutColoursInAFile) {
  const Ended top = run("top");
  EXPECT_EQ(top.exit, 0) << top.err;
  EXPECT_NE(top.out.find("3 cards on 2 nodes"), std::string::npos) << top.out;
  EXPECT_EQ(top.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(top.err, "");
  EXPECT_EQ(testing::json_at(run("top -o json").out, "pending").substr(0, 2), "[\n");
  EXPECT_EQ(run("top -o yaml").out.substr(0, 9), "version: ");
  EXPECT_EQ(run("top zebra").exit, 1);
}

TEST_F(ProgramTest, ListsThePodsOfTheContextsNamespace) {
  EXPECT_EQ(run("pods").out,
            "NAME   NODE  CARDS   REQUEST  GRANT      STATE\n"
            "half   a     GPU-a0  0.5      40Gi, 0.5  Starting\n"
            "large  -     -       100Gi    -          Pending\n");
  EXPECT_EQ(run("pods -n other").out, "no pod of namespace other requests a GPU; all: -A\n");
  EXPECT_NE(run("pods -A").out.find("\nml         half "), std::string::npos);
}

TEST_F(ProgramTest, ExplainsAPod) {
  const Ended waiting = run("explain large");
  EXPECT_EQ(waiting.exit, 0) << waiting.err;
  EXPECT_NE(waiting.out.find("ml/large is pending: no scheduler has tried the pod yet"),
            std::string::npos);
  EXPECT_NE(waiting.out.find("It fits none of 2 nodes"), std::string::npos);
  EXPECT_NE(waiting.out.find("note: the defaults of policy and isolation are assumed"),
            std::string::npos);
  EXPECT_NE(run("explain ml/half").out.find("is bound to node a"), std::string::npos);
  const Ended unknown = run("explain no-such-pod");
  EXPECT_EQ(unknown.exit, 1);
  EXPECT_NE(unknown.err.find("kubectl tangram pods -A"), std::string::npos);
}

TEST_F(ProgramTest, EndsWithTheAnswer) {
  EXPECT_EQ(run("fit --gpu-fraction 0.5").exit, 0);
  EXPECT_EQ(run("fit --gpu-fraction 0.5 --count 9").exit, 3);
  EXPECT_EQ(run("fit --gpu-mem 200Gi").exit, 3);
  EXPECT_EQ(run("fit --gpu-fraction 0.3333").exit, 2);
  EXPECT_EQ(run("fit --gpu-fraction").exit, 2);
  const Ended stuck = run("defrag");
  EXPECT_EQ(stuck.exit, 3) << stuck.err;
  EXPECT_NE(stuck.out.find("no move of pods that may move"), std::string::npos) << stuck.out;
  EXPECT_EQ(run("defrag --max-moves 0").exit, 2);
  EXPECT_EQ(run("doctor").exit, 3) << "nothing is installed there";
}

TEST_F(ProgramTest, TriesManifestsOut) {
  const std::string head =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {tangram.dev/gpu-fraction: "
      "\"0.5\"}}\nspec: {containers: [{name: main";
  write("pods.yaml", head + ", resources: {limits: {tangram.dev/gpu-slot: 1}}}]}\n");
  const Ended good = run("whatif -f " + file("pods.yaml"));
  EXPECT_EQ(good.exit, 0) << good.err;
  EXPECT_NE(good.out.find("1 of 1 GPU pod would be placed; nothing was written"),
            std::string::npos);
  write("slotless.yaml", head + "}]}\n");
  const Ended slotless = run("whatif -f " + file("slotless.yaml"));
  EXPECT_EQ(slotless.exit, 3) << "there is no webhook";
  EXPECT_NE(slotless.out.find("requests a GPU and has no slot"), std::string::npos);
  const std::string configurations =
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
  rig_.api.answer(configurations, 403, "not for you");
  const Ended assumed = run("whatif -f " + file("slotless.yaml"));
  EXPECT_EQ(assumed.exit, 0) << assumed.err;
  EXPECT_NE(assumed.out.find("note: the webhook is assumed to give pods their slots: "
                             "mutatingwebhookconfigurations: 403: not for you; ask for the "
                             "ClusterRole tangram-viewer"),
            std::string::npos)
      << assumed.out;
  const Ended missing = run("whatif -f " + file("none.yaml"));
  EXPECT_EQ(missing.exit, 1);
  EXPECT_NE(missing.err.find("none.yaml"), std::string::npos);
}

TEST_F(ProgramTest, FillsManifestsByTheExtendersSettings) {
  const std::string head =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {tangram.dev/gpu-fraction: ";
  const std::string rest = "}}\nspec: {containers: [{name: main}]}\n";
  const std::string config = "# a\ttab\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
  write("good.yaml", head + "'0.5'" + rest + "---\n" + config);
  rig_.install("admission: {scheduler_name: tangram}\n");
  const Ended good = run("fill -f " + file("good.yaml"));
  EXPECT_EQ(good.exit, 0) << good.err;
  EXPECT_NE(good.out.find("schedulerName: tangram\n"), std::string::npos) << good.out;
  EXPECT_NE(good.out.find("---\n" + config), std::string::npos) << good.out;
  EXPECT_EQ(good.err, "note: " + file("good.yaml") +
                          ": left as they are, since their kinds are not known to have pod "
                          "templates: ConfigMap c\n");
  write("bad.yaml", head + "'5'" + rest);
  const Ended bad = run("fill -f " + file("bad.yaml") + " -f " + file("good.yaml"));
  EXPECT_EQ(bad.exit, 3);
  EXPECT_NE(bad.err.find(file("bad.yaml") + ": document 1 (Pod p): pod p: "), std::string::npos);
  EXPECT_EQ(bad.out, good.out);
  const Ended offline = run("fill --offline -f " + file("good.yaml"), "KUBECONFIG=/none");
  EXPECT_EQ(offline.exit, 0) << offline.err;
  EXPECT_EQ(offline.out.find("schedulerName"), std::string::npos);
}

TEST_F(ProgramTest, SaysThatTheWebhooksDefaultsAreAssumed) {
  write("none.yaml", "");
  const Ended filled = run("fill -f " + file("none.yaml"));
  EXPECT_EQ(filled.exit, 0);
  EXPECT_EQ(filled.err,
            "note: the defaults of the webhook are assumed: there is no ConfigMap "
            "tangram-system/tangram-extender\n");
}

TEST_F(ProgramTest, CordonsACardOverTheWire) {
  const Ended cordoned = run("cordon-card GPU-a1 --reason 'its fan is loud'");
  EXPECT_EQ(cordoned.exit, 0) << cordoned.err;
  EXPECT_NE(rig_.ask(testing::get_request("/api/v1/nodes/a")).body.find("GPU-a1=its fan is loud"),
            std::string::npos);
  EXPECT_EQ(run("uncordon-card GPU-a1").exit, 0);
  EXPECT_EQ(rig_.ask(testing::get_request("/api/v1/nodes/a")).body.find("GPU-a1="),
            std::string::npos);
}

TEST_F(ProgramTest, PreparesTheResetOfACardOverTheWire) {
  const Ended busy = run("reset-card GPU-a0");
  EXPECT_EQ(busy.exit, 3) << busy.err;
  EXPECT_NE(busy.out.find("ml/half  Starting"), std::string::npos) << busy.out;
  EXPECT_NE(rig_.ask(testing::get_request("/api/v1/nodes/a")).body.find("GPU-a0=to be reset"),
            std::string::npos);
  const Ended json = run("reset-card GPU-a0 -o json");
  EXPECT_EQ(testing::json_at(json.out, "ready"), "false");
}

TEST_F(ProgramTest, PrintsWhatAutoscalersNeed) {
  const std::string described = " --card A100 --memory 80Gi --cards 8";
  const Ended tags = run("autoscaler aws" + described, "KUBECONFIG=/none");
  EXPECT_EQ(tags.exit, 0) << tags.err;
  EXPECT_NE(tags.out.find("node-template/resources/tangram.dev/gpu-slot=128\n"), std::string::npos);
  EXPECT_EQ(tags.err.find("note: tags do not label nodes"), 0U) << tags.err;
  EXPECT_EQ(testing::json_at(run("autoscaler headroom -o json" + described).out, "kind"), "List");
  EXPECT_EQ(run("autoscaler karpenter" + described).exit, 2) << "an instance type is missing";
  EXPECT_EQ(run("autoscaler aws --from a --cards 8").exit, 2);
  const Ended node = run("autoscaler cluster-api --from a");
  EXPECT_EQ(node.exit, 0) << node.err;
  EXPECT_NE(node.out.find("gpu-count: \"32\""), std::string::npos) << node.out;
}

TEST_F(ProgramTest, AsksTheExtenderThroughTheApiServer) {
  const std::string proxy =
      "/api/v1/namespaces/tangram-system/services/https:tangram-extender:https/proxy/api/v1/";
  rig_.api.answer(proxy + "cluster", R"({"version":1,"nodes":[],"pending":[]})");
  rig_.api.answer(proxy + "explain",
                  R"({"namespace":"ml","name":"p","state":"bound","node":"far","containers":[]})");
  EXPECT_NE(run("top --extender proxy").out.find("no node lists GPU cards"), std::string::npos);
  EXPECT_EQ(run("explain p --extender proxy").out,
            "ml/p is bound to node far and has no GPU card\n");
  rig_.api.answer(proxy + "cluster", 403, "show a client certificate");
  const Ended refused = run("top --extender proxy");
  EXPECT_EQ(refused.exit, 1);
  EXPECT_NE(refused.err.find("show a client certificate; without --extender"), std::string::npos);
}

TEST_F(ProgramTest, AsksAnExtenderByItsUrlWithoutAKubeconfig) {
  rig_.api.answer("/api/v1/cluster", R"({"version":1,"nodes":[],"pending":[]})");
  const Ended top = run("top --extender " + server_->url(), "KUBECONFIG=/none");
  EXPECT_EQ(top.exit, 0) << top.err;
}

TEST_F(ProgramTest, SaysWhatToDoWhereItCannot) {
  rig_.api.answer("/api/v1/nodes", 403, R"({"kind":"Status","message":"nodes is forbidden"})");
  const Ended forbidden = run("top");
  EXPECT_EQ(forbidden.exit, 1);
  EXPECT_EQ(forbidden.err,
            "kubectl-tangram: GET /api/v1/nodes: 403: nodes is forbidden; ask for the ClusterRole "
            "tangram-viewer of deploy/cli/rbac.yaml\n");
  const Ended nothing = run("top", "KUBECONFIG=/none");
  EXPECT_NE(nothing.err.find("--kubeconfig"), std::string::npos) << nothing.err;
  server_->stop();
  const Ended away = run("top");
  EXPECT_EQ(away.exit, 1);
  EXPECT_NE(away.err.find("kubectl cluster-info"), std::string::npos) << away.err;
}

TEST_F(ProgramTest, NoAnswerOfAServerAddsLinesOrControls) {
  const std::string odd = "n\nall is well\x1b[2J";
  const auto list = [](const std::string& kind, const std::vector<std::string>& items) {
    return R"({"kind":")" + kind + R"(","apiVersion":"v1","metadata":{"resourceVersion":"9"},)" +
           R"("items":[)" + joined(items, ",") + "]}";
  };
  const std::string cards = model::encode_cards({testing::card("GPU-1")});
  rig_.api.answer("/api/v1/nodes",
                  list("NodeList", {node_of(odd, cards), node_of(odd + "2", "no list of cards")}));
  testing::PodText pod;
  pod.name = odd;
  pod.uid = "u1";
  pod.node = odd;
  pod.annotations = {{"tangram.dev/gpu-fraction", "0.5"}, {"tangram.dev/gpu-grant", "none"}};
  rig_.api.answer("/api/v1/pods", list("PodList", {testing::pod_json(pod)}));
  const std::vector<std::string> commands{"top",
                                          "top -o wide",
                                          "pods",
                                          "fit --gpu-fraction 0.5",
                                          "doctor",
                                          "cordon-card GPU-1",
                                          "explain '" + odd + "'"};
  for (const std::string& command : commands) {
    const Ended ended = run(command);
    for (const std::string& text : {ended.out, ended.err}) {
      EXPECT_EQ(text.find('\x1b'), std::string::npos) << command << ": " << text;
      EXPECT_EQ(text.find("\nall "), std::string::npos) << command << ": " << text;
    }
    EXPECT_NE((ended.out + ended.err).find("all is well"), std::string::npos) << command;
  }
}

TEST_F(ProgramTest, HelpsAndCompletes) {
  EXPECT_NE(run("--help").out.find("Examples:"), std::string::npos);
  EXPECT_EQ(run("--version").out.rfind("kubectl-tangram ", 0), 0U);
  EXPECT_EQ(run("").exit, 2);
  EXPECT_EQ(run("__complete pod").out, "pods\n:4\n");
  EXPECT_NE(run("completion bash").out.find("complete -F"), std::string::npos);
}

}  // namespace
}  // namespace tangram::cli
