// No secret gets into a log, a metric, an event or an annotation: the programs are run as talkative
// as they can be, with everything secret that they can have, and what they say is searched for it.

#include "base/base64.hpp"
#include "base/ed25519.hpp"
#include "base/file.hpp"
#include "http/client.hpp"
#include "kube/local/api.hpp"
#include "tests/e2e/process.hpp"
#include "tests/node/kubelet/fake_kubelet.hpp"
#include "tests/testing/api_server.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/temp_folder.hpp"
#include "tests/testing/tls.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <optional>

namespace tangram {
namespace {

using testing::eventually;

constexpr const char* kToken = "eyJhbGciOiJSUzI1NiJ9.known-token-of-the-test.c2lnbmF0dXJl";
constexpr const char* kNewToken = "eyJhbGciOiJSUzI1NiJ9.another-token-of-it.c2lnbmF0dXJl";

/// An API server with TLS that requires a certificate and a token, and the files of a client's
/// secrets.
class SecretsTest : public ::testing::Test {
 protected:
  SecretsTest() {
    EXPECT_TRUE(local_.load_yaml(R"(
apiVersion: v1
kind: Node
metadata:
  name: n1
  annotations:
    tangram.dev/cards: '{"version":1,"cards":[{"id":"GPU-a","model":"A100","memMiB":1000,"isolation":["none"]}]}'
status:
  capacity: {cpu: "8"}
  allocatable: {cpu: "8", memory: 8Gi}
  nodeInfo: {kubeletVersion: v1.36.3, containerRuntimeVersion: "containerd://2.1.9"}
)"));
    const auto server = testing::make_identity("server", "IP:127.0.0.1", &authority_);
    auto started = testing::ApiServer::start(
        local_, {.tls = testing::ApiServer::Tls{.certificate = server.certificate_pem(),
                                                .key = server.key_pem(),
                                                .client_ca = authority_.certificate_pem()},
                 .bearer_token = kToken});
    if (!started) throw std::runtime_error(started.error().message);
    server_ = std::move(*started);
    write("ca.crt", authority_.certificate_pem());
    write("client.crt", client_.certificate_pem());
    write("client.key", client_.key_pem());
    write("token", kToken);
    write("grant.key", signing_.to_pem());
    write("grant.pub", signing_.verifying_key().to_pem());
    write("kubeconfig",
          "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: "
          "{cluster: c, user: u}}], clusters: [{name: c, cluster: {server: \"" +
              server_->url() + "\", certificate-authority: " + file("ca.crt") +
              "}}], users: [{name: u, user: {tokenFile: " + file("token") +
              ", client-certificate: " + file("client.crt") +
              ", client-key: " + file("client.key") + "}}]}\n");
  }

  [[nodiscard]] std::string file(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(replace_file(file(name), text));
  }
  [[nodiscard]] std::string said() const {
    const auto text = read_file(file("log"));
    return text ? *text : "";
  }
  bool prints(const std::string& words) {
    return eventually([&] { return said().find(words) != std::string::npos; });
  }
  void run(const std::vector<std::string>& command) {
    auto started = e2e::Process::start(command, file("log"));
    ASSERT_TRUE(started) << started.error().message;
    process_ = std::move(*started);
  }
  void end() {
    EXPECT_TRUE(process_->terminate());
    process_.reset();
  }
  /// The port number behind the text.
  [[nodiscard]] std::uint16_t port_behind(const std::string& words) const {
    const std::string text = said();
    const auto at = text.find(words);
    if (at == std::string::npos) return 0;
    return static_cast<std::uint16_t>(std::stoi(text.substr(at + words.size())));
  }
  static std::string page(std::uint16_t port, const std::string& path) {
    http::Client client;
    if (!client.connect("127.0.0.1", port)) return "";
    const auto reply = client.request("GET", path);
    return reply ? reply->body : "";
  }

  /// The token is replaced under way, as kubelet does: what the server refuses is logged.
  void replace_token() {
    server_->require_token(kNewToken);
    server_->cut_watches();
    EXPECT_TRUE(prints("401")) << said();
    write("token", kNewToken);
  }

  void expect_no_secret(const std::string& where, const std::string& text) const {
    EXPECT_FALSE(text.empty()) << where;
    std::vector<std::string> secrets = {kToken, kNewToken, "known-token-of-the-test",
                                        "another-token-of-it"};
    for (const std::string& pem : {client_.key_pem(), signing_.to_pem()}) {
      // Any line of it, and any part of a line.
      std::string body;
      for (const char c : pem.substr(pem.find('\n'), pem.rfind("\n-----") - pem.find('\n'))) {
        if (c != '\n') body += c;
      }
      for (std::size_t at = 0; at + 16 <= body.size(); at += 8) {
        secrets.push_back(body.substr(at, 16));
      }
    }
    for (const std::string& secret : secrets) {
      EXPECT_EQ(text.find(secret), std::string::npos) << where << " holds " << secret;
    }
  }
  [[nodiscard]] std::string all_of(const std::string& path) {
    const auto answer = local_.call(testing::get_request(path));
    return answer ? answer->body : "";
  }

  testing::TempFolder folder_;
  const testing::Identity authority_ = testing::make_identity("authority", "", nullptr);
  const testing::Identity client_ = testing::make_identity("client", "DNS:client", &authority_);
  const SigningKey signing_ = SigningKey::generate();
  SystemClock clock_;
  kube::LocalApi local_{clock_};
  std::unique_ptr<testing::ApiServer> server_;
  std::optional<e2e::Process> process_;
};

TEST_F(SecretsTest, TheExtenderSaysNone) {
  const auto made = local_.call(testing::write_request(
      kube::Method::kPost, "/api/v1/namespaces/ml/pods",
      testing::pod_json({.name = "p",
                         .annotations = {{"tangram.dev/gpu-fraction", "0.5"},
                                         {"tangram.dev/gpu-isolation", "none"}},
                         .limits = {{"tangram.dev/gpu-slot", "1"}}})));
  const std::string uid = testing::json_at(made->body, "metadata.uid");
  run({TANGRAM_EXTENDER, "--set", "log.level=debug", "--set", "server.listen=127.0.0.1:0", "--set",
       "kube.source=kubeconfig", "--set", "kube.kubeconfig=" + file("kubeconfig"), "--set",
       "leader_election.enabled=false", "--set", "grants.signing_key=" + file("grant.key"), "--set",
       "grants.public_keys=" + file("grant.pub"), "--set", "grants.required=true"});
  ASSERT_TRUE(prints("listens on 127.0.0.1:")) << said();
  const auto port = port_behind("listens on 127.0.0.1:");
  ASSERT_TRUE(eventually([&] { return page(port, "/readyz") == "ok\n"; })) << said();
  http::Client scheduler;
  ASSERT_TRUE(scheduler.connect("127.0.0.1", port));
  const auto bound = scheduler.request(
      "POST", "/bind",
      R"({"PodName":"p","PodNamespace":"ml","PodUID":")" + uid + R"(","Node":"n1"})");
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->body.find("Error\":\"e"), std::string::npos) << bound->body;
  EXPECT_NE(all_of("/api/v1/namespaces/ml/pods/p").find(R"(\"sig\":\")"), std::string::npos);
  write("grant.key", "nonsense");
  EXPECT_TRUE(prints("the keys of grants stay as they were"));
  replace_token();
  for (const char* path :
       {"/metrics", "/metrics/cards", "/api/v1/cluster", "/api/v1/explain?namespace=ml&pod=p"}) {
    expect_no_secret(path, page(port, path));
  }
  end();
  expect_no_secret("the log", said());
  expect_no_secret("the cluster", all_of("/api/v1/pods") + all_of("/api/v1/nodes") +
                                      all_of("/apis/events.k8s.io/v1/events"));
}

TEST_F(SecretsTest, NorDoesItWhenItCannotStart) {
  write("grant.pub", signing_.to_pem());  // the private half, by mistake
  run({TANGRAM_EXTENDER, "--set", "log.level=debug", "--set", "server.listen=127.0.0.1:0", "--set",
       "kube.source=kubeconfig", "--set", "kube.kubeconfig=" + file("kubeconfig"), "--set",
       "leader_election.enabled=false", "--set", "grants.signing_key=" + file("grant.key"), "--set",
       "grants.public_keys=" + file("grant.pub")});
  EXPECT_TRUE(prints("holds a private key"));
  EXPECT_TRUE(eventually([&] { return !process_->running(); }));
  expect_no_secret("the log", said());
  write("log", "");
  write("client.key", client_.key_pem().substr(0, 120) + "\n-----END PRIVATE KEY-----\n");
  run({TANGRAM_NODE, "--log-level", "trace", "--node-name", "n1", "--kubeconfig",
       file("kubeconfig"), "--state-dir", file("state"), "--listen", "127.0.0.1:0"});
  EXPECT_TRUE(eventually([&] { return !process_->running(); }));
  expect_no_secret("the log", said());
}

TEST_F(SecretsTest, TheAgentSaysNone) {
  testing::FakeKubelet kubelet(folder_.path(), 1);
  kubelet.start();
  write("cards.yaml",
        "version: 1\ncards: [{id: GPU-a, model: A100, memMiB: 1000, isolation: [none]}]\n");
  run({TANGRAM_NODE,
       "--log-level",
       "trace",
       "--node-name",
       "n1",
       "--kubeconfig",
       file("kubeconfig"),
       "--cards",
       "file:" + file("cards.yaml"),
       "--kubelet-dir",
       folder_.path(),
       "--plugin-dir",
       kubelet.plugin_folder(),
       "--cdi-dir",
       file("cdi"),
       "--nvidia-cdi-dirs",
       file("none"),
       "--state-dir",
       file("state"),
       "--run-dir",
       file("run"),
       "--grant-keys",
       file("grant.pub"),
       "--require-signed-grants",
       "--listen",
       "127.0.0.1:0"});
  ASSERT_TRUE(prints("metrics on port ")) << said();
  const auto port = port_behind("metrics on port ");
  ASSERT_TRUE(eventually([&] { return kubelet.slots() > 0; })) << said();
  const auto made = local_.call(testing::write_request(
      kube::Method::kPost, "/api/v1/namespaces/ml/pods",
      testing::pod_json({.name = "p", .node = "n1", .limits = {{"tangram.dev/gpu-slot", "1"}}})));
  const testing::FakeKubelet::Owner owner{.uid = testing::json_at(made->body, "metadata.uid"),
                                          .pod = "p"};
  ASSERT_EQ(kubelet.admit(owner), "");
  EXPECT_TRUE(eventually(
      [&] { return kubelet.start_container(owner).find("no grant") != std::string::npos; }));
  write("grant.pub", signing_.to_pem());  // the private half, by mistake
  EXPECT_TRUE(prints("holds a private key"));
  replace_token();
  expect_no_secret("/metrics", page(port, "/metrics"));
  end();
  expect_no_secret("the log", said());
  expect_no_secret("the cluster", all_of("/api/v1/pods") + all_of("/api/v1/nodes") +
                                      all_of("/apis/events.k8s.io/v1/events"));
}

}  // namespace
}  // namespace tangram
