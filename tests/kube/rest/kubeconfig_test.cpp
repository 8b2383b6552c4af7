#include "kube/rest/rest_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace tangram::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? "" : found->second;
  };
}

class KubeconfigTest : public ::testing::Test {
 protected:
  KubeconfigTest()
      : folder(std::filesystem::path(::testing::TempDir()) /
               (std::string("tangram_kubeconfig_") +
                ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder);
  }
  ~KubeconfigTest() override { std::filesystem::remove_all(folder); }

  std::string put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  /// A file with one context of this cluster and user.
  [[nodiscard]] std::string with(const std::string& cluster, const std::string& user) const {
    return put("config",
               "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
               "contexts: [{name: here, context: {cluster: c, user: u}}]\n"
               "clusters: [{name: c, cluster: {" +
                   cluster +
                   "}}]\n"
                   "users: [{name: u, user: {" +
                   user + "}}]\n");
  }
  static std::string refusal(const std::string& path, const std::string& context = "") {
    const auto config = read_kubeconfig(path, context);
    EXPECT_FALSE(config.has_value());
    if (config) return "";
    EXPECT_EQ(config.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(config.error().message, HasSubstr(path + ": "));
    return config.error().message;
  }
  std::filesystem::path folder;
};

constexpr const char* kServer = "server: 'https://10.0.0.1:6443'";

TEST_F(KubeconfigTest, ReadsInlineData) {
  const auto config = read_kubeconfig(
      with(std::string(kServer) + ", certificate-authority-data: Y2E=, tls-server-name: api",
           "client-certificate-data: Y2VydA==, client-key-data: a2V5, token: 0123"));
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->server, "https://10.0.0.1:6443");
  EXPECT_EQ(config->ca.text, "ca");
  EXPECT_EQ(config->client_certificate.text, "cert");
  EXPECT_EQ(config->client_key.text, "key");
  EXPECT_EQ(config->token.text, "0123");
  EXPECT_EQ(config->tls_server_name, "api");
  EXPECT_FALSE(config->insecure_skip_tls_verify);
}

TEST_F(KubeconfigTest, PathsStartAtTheFilesFolder) {
  const auto config = read_kubeconfig(
      with(std::string(kServer) + ", certificate-authority: pki/ca.crt",
           "client-certificate: /etc/me.crt, client-key: ../me.key, tokenFile: t, token: old"));
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->ca.file, folder / "pki/ca.crt");
  EXPECT_EQ(config->ca.text, "");
  EXPECT_EQ(config->client_certificate.file, "/etc/me.crt");
  EXPECT_EQ(config->client_key.file, folder / "../me.key");
  EXPECT_EQ(config->token.file, folder / "t");
  EXPECT_EQ(config->token.text, "") << "the file counts";
}

TEST_F(KubeconfigTest, DataCountBeforePaths) {
  const auto config = read_kubeconfig(with(
      std::string(kServer) + ", certificate-authority: ca.crt, certificate-authority-data: Y2E=",
      ""));
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->ca.text, "ca");
  EXPECT_EQ(config->ca.file, "");
}

TEST_F(KubeconfigTest, TakesTheNamedContextElseTheCurrentOne) {
  const std::string path = put("config", R"(
current-context: one
contexts:
- {name: one, context: {cluster: a, user: ""}}
- {name: two, context: {cluster: b}}
clusters:
- {name: a, cluster: {server: https://a}}
- {name: b, cluster: {server: https://b, insecure-skip-tls-verify: true}}
users: null
)");
  EXPECT_EQ(read_kubeconfig(path)->server, "https://a");
  EXPECT_EQ(read_kubeconfig(path, "two")->server, "https://b");
  EXPECT_TRUE(read_kubeconfig(path, "two")->insecure_skip_tls_verify);
  EXPECT_THAT(refusal(path, "three"), HasSubstr("has no context \"three\" in its contexts"));
}

TEST_F(KubeconfigTest, RefusesWhatItCannotHonour) {
  const auto user = [&](const std::string& text) { return refusal(with(kServer, text)); };
  EXPECT_THAT(user("exec: {command: aws, args: [secret]}"),
              HasSubstr("from the program \"aws\", and programs are not run; use a service"));
  EXPECT_THAT(user("auth-provider: {name: gcp}"), HasSubstr("an auth-provider"));
  EXPECT_THAT(user("username: me, password: secret"), HasSubstr("a user name and password"));
  EXPECT_THAT(user("as: admin"), HasSubstr("impersonation"));
  EXPECT_THAT(user("password: secret"), Not(HasSubstr("secret")));
  EXPECT_THAT(refusal(with(std::string(kServer) + ", proxy-url: 'http://p'", "")),
              HasSubstr("proxies are not supported"));
}

TEST_F(KubeconfigTest, SaysWhatIsWrong) {
  EXPECT_THAT(refusal(put("a", "")), HasSubstr("is no kubeconfig"));
  EXPECT_THAT(refusal(put("b", "[1]")), HasSubstr("is no kubeconfig"));
  EXPECT_THAT(refusal(put("c", "a: b\n  c: d")), HasSubstr("line 2"));
  EXPECT_THAT(refusal(put("d", "kind: Config")), HasSubstr("has no current-context"));
  EXPECT_THAT(refusal(put("e", "current-context: x\ncontexts: 5")), HasSubstr("context \"x\""));
  EXPECT_THAT(refusal(with("", "")), HasSubstr("has no server"));
  EXPECT_THAT(refusal(with("server: [a]", "")), HasSubstr("server is not a text"));
  EXPECT_THAT(refusal(with(std::string(kServer) + ", insecure-skip-tls-verify: maybe", "")),
              HasSubstr("write true or false"));
  const std::string bad_key = refusal(with(kServer, "client-key-data: secret!"));
  EXPECT_THAT(bad_key, HasSubstr("client-key-data is not base64"));
  EXPECT_THAT(bad_key, Not(HasSubstr("secret")));
  EXPECT_EQ(read_kubeconfig("/nowhere").error().code, Errc::kNotFound);
}

TEST(FindKubeconfigTest, PathThenVariableThenHome) {
  const auto both = environment({{"KUBECONFIG", ":/a:"}, {"HOME", "/home/me"}});
  EXPECT_EQ(*find_kubeconfig("/given", both), "/given");
  EXPECT_EQ(*find_kubeconfig("", both), "/a");
  EXPECT_EQ(*find_kubeconfig("", environment({{"HOME", "/home/me"}})), "/home/me/.kube/config");
  EXPECT_EQ(find_kubeconfig("", environment({})).error().code, Errc::kNotFound);
  const auto several = find_kubeconfig("", environment({{"KUBECONFIG", "/a:/b"}}));
  ASSERT_FALSE(several.has_value());
  EXPECT_EQ(several.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(several.error().message, HasSubstr("--flatten"));
}

TEST_F(KubeconfigTest, FindsTheServiceAccountOfAPod) {
  const std::string account = "var/run/secrets/kubernetes.io/serviceaccount/";
  const auto pod = [](const std::string& host) {
    return environment({{"KUBERNETES_SERVICE_HOST", host}, {"KUBERNETES_SERVICE_PORT", "443"}});
  };
  const std::string root = folder.string() + "/";
  EXPECT_THAT(in_cluster_config(pod("10.0.0.1"), root).error().message,
              HasSubstr(account + "token: cannot be read; give the pod a service account"));
  put(account + "token", "t");
  put(account + "ca.crt", "c");
  const auto config = in_cluster_config(pod("10.0.0.1"), root);
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->server, "https://10.0.0.1:443");
  EXPECT_EQ(config->token.file, folder / (account + "token"));
  EXPECT_EQ(config->ca.file, folder / (account + "ca.crt"));
  EXPECT_EQ(in_cluster_config(pod("fd00::1"), root)->server, "https://[fd00::1]:443");
  const auto outside = in_cluster_config(environment({}), root);
  ASSERT_FALSE(outside.has_value());
  EXPECT_EQ(outside.error().code, Errc::kNotFound);
  EXPECT_THAT(outside.error().message, HasSubstr("kube.source: kubeconfig"));
}

}  // namespace
}  // namespace tangram::kube
