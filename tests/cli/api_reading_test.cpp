#include "cli/api_reading.hpp"

#include "base/file.hpp"
#include "cli/cluster_settings.hpp"
#include "cli/connection.hpp"
#include "tests/cli/rig.hpp"
#include "tests/testing/fault_api.hpp"
#include "tests/testing/kube_scripted_api.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

std::string page(const std::string& items, const std::string& more = "") {
  return R"({"kind":"PodList","metadata":{"resourceVersion":"7","continue":")" + more +
         R"("},"items":[)" + items + "]}";
}

TEST(ApiReadingTest, ReadsAListPageByPage) {
  testing::ScriptedApi api;
  api.will_answer(200, page(R"({"a":1},{"a":2})", "next"));
  api.will_answer(200, page(R"({"a":3})"));
  std::vector<std::string> objects;
  ASSERT_TRUE(list(api, "/api/v1/pods", {{"fieldSelector", "x"}},
                   [&](std::string object) { objects.push_back(std::move(object)); }));
  EXPECT_EQ(objects, (std::vector<std::string>{R"({"a":1})", R"({"a":2})", R"({"a":3})"}));
  ASSERT_EQ(api.calls().size(), 2U);
  EXPECT_EQ(api.calls()[1].query,
            (Query{{"continue", "next"}, {"fieldSelector", "x"}, {"limit", "500"}}));
}

TEST(ApiReadingTest, DoesNotReadOnePageForEver) {
  testing::ScriptedApi api;
  api.will_answer(200, page("", "same"));
  api.will_answer(200, page("", "same"));
  const auto read = list(api, "/api/v1/pods", {}, [](const std::string&) {});
  EXPECT_NE(read.error().message.find("caching proxy"), std::string::npos);
}

TEST(ApiReadingTest, SaysForEachRefusalWhatToDo) {
  const auto refusal = [](int status) {
    testing::ScriptedApi api;
    api.will_answer(status, R"({"kind":"Status","message":"no luck"})");
    const auto read = list(api, "/api/v1/pods", {}, [](const std::string&) {});
    return read.error();
  };
  EXPECT_EQ(refusal(403).code, Errc::kConflict);
  EXPECT_EQ(refusal(403).message,
            "GET /api/v1/pods: 403: no luck; ask for the ClusterRole tangram-viewer of "
            "deploy/cli/rbac.yaml");
  EXPECT_NE(refusal(401).message.find("log in again"), std::string::npos);
  testing::ScriptedApi other;
  other.will_answer(500, R"({"kind":"Status","message":"a\nb\u001b[1m"})");
  EXPECT_EQ(list(other, "/api/v1/pods", {}, [](const std::string&) {}).error().message,
            "GET /api/v1/pods: 500: a?b?[1m");
  EXPECT_EQ(refusal(404).code, Errc::kNotFound);
  EXPECT_EQ(refusal(410).code, Errc::kStale);
  EXPECT_EQ(refusal(500).code, Errc::kUnavailable);
  testing::ScriptedApi unreachable;
  const auto read = list(unreachable, "/api/v1/pods", {}, [](const std::string&) {});
  EXPECT_NE(read.error().message.find("kubectl cluster-info"), std::string::npos);
}

TEST(ApiReadingTest, TryGetReportsTheOutcome) {
  testing::ScriptedApi api;
  for (const int status : {200, 404, 403, 500}) api.will_answer(status, "text");
  EXPECT_EQ(try_get(api, "/x").text, "text");
  EXPECT_EQ(try_get(api, "/x").outcome, Reading::Outcome::kMissing);
  EXPECT_EQ(try_get(api, "/x").outcome, Reading::Outcome::kForbidden);
  EXPECT_EQ(try_get(api, "/x").outcome, Reading::Outcome::kFailed);
  EXPECT_EQ(try_get(api, "/x").outcome, Reading::Outcome::kFailed) << "no answer";
}

// ---- How the extender is set.

std::string config_map(const std::string& yaml) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("data").begin_object().member("tangram.yaml", yaml);
  out.end_object().end_object();
  return text;
}

TEST(ClusterSettingsTest, AreThoseOfTheExtender) {
  Rig rig;
  const std::string path = "/api/v1/namespaces/gpu/configmaps/tangram-extender";
  rig.api.answer(path, config_map("kube: {source: in-cluster}\nscheduler: {policy: spread, "
                                  "default_isolation: time-slice}\n"));
  const ClusterSettings settings = read_cluster_settings(rig.api, "gpu");
  EXPECT_EQ(settings.assumed, "");
  EXPECT_EQ(settings.policy.default_policy, "spread");
  EXPECT_EQ(settings.policy.requests.default_isolation, model::Isolation::kTimeSlice);
}

TEST(ClusterSettingsTest, AreTheDefaultsWhereTheyCannotBeKnown) {
  Rig rig;
  const std::string path = "/api/v1/namespaces/gpu/configmaps/tangram-extender";
  for (const auto& [status, body] :
       std::vector<std::pair<int, std::string>>{{403, "forbidden"},
                                                {404, ""},
                                                {200, "{}"},
                                                {200, "no JSON"},
                                                {200, config_map("nonsense: 1")}}) {
    rig.api.answer(path, status, body);
    const ClusterSettings settings = read_cluster_settings(rig.api, "gpu");
    EXPECT_NE(settings.assumed.find("the defaults of policy and isolation are assumed: "),
              std::string::npos);
    EXPECT_EQ(settings.policy.default_policy, policies::kDefaultPolicy);
  }
}

// ---- Where the API server is.

class ConnectionTest : public ::testing::Test {
 protected:
  Result<Connection> connected(const Target& target,
                               const std::map<std::string, std::string>& variables = {}) {
    return connect(
        target,
        [variables](const std::string& name) {
          const auto found = variables.find(name);
          return found == variables.end() ? "" : found->second;
        },
        clock_);
  }
  std::string kubeconfig(const std::string& user, const std::string& ns = "") {
    const std::string path = folder_.path() + "/config";
    EXPECT_TRUE(replace_file(
        path,
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: "
        "{cluster: "
        "c, user: u" +
            ns +
            "}}], clusters: [{name: c, cluster: {server: \"https://10.0.0.1:6443\"}}], users: "
            "[{name: u, user: " +
            user + "}]}\n"));
    return path;
  }

  SystemClock clock_;
  testing::TempFolder folder_;
};

TEST_F(ConnectionTest, TakesServerAndNamespaceOfTheContext) {
  const auto named = connected({.kubeconfig = kubeconfig("{token: t}", ", namespace: ml")});
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(named->server, "https://10.0.0.1:6443");
  EXPECT_EQ(named->ns, "ml");
  const auto by_variable = connected({}, {{"KUBECONFIG", kubeconfig("{token: t}")}});
  ASSERT_TRUE(by_variable);
  EXPECT_EQ(by_variable->ns, "default");
}

TEST_F(ConnectionTest, TakesAServerInsteadOfAKubeconfig) {
  const auto direct = connected({.server = "http://127.0.0.1:8001"});
  ASSERT_TRUE(direct);
  EXPECT_EQ(direct->server, "http://127.0.0.1:8001");
}

TEST_F(ConnectionTest, SaysWhatElseToTry) {
  const auto program = connected({.kubeconfig = kubeconfig("{exec: {command: aws}}")});
  EXPECT_NE(program.error().message.find("--server http://127.0.0.1:8001"), std::string::npos);
  const auto nothing = connected({}, {{"HOME", folder_.path()}});
  EXPECT_EQ(nothing.error().code, Errc::kNotFound);
  EXPECT_NE(nothing.error().message.find("--kubeconfig"), std::string::npos);
  const auto context = connected({.kubeconfig = kubeconfig("{token: t}"), .context = "other"});
  EXPECT_NE(context.error().message.find("has no context \"other\""), std::string::npos);
}

}  // namespace
}  // namespace tangram::cli
