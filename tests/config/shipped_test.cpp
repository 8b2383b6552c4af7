// What deploy/scheduler ships fits together: its configuration is one that the extender takes, and
// kube-scheduler is configured to call what it serves.

#include "config/config.hpp"
#include "source_dir.hpp"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <set>
#include <string>

namespace tangram::config {
namespace {

std::vector<YAML::Node> documents(const std::string& name) {
  return YAML::LoadAllFromFile(TANGRAM_SOURCE_DIR "/deploy/scheduler/" + name);
}

YAML::Node document(const std::string& file, const std::string& kind, const std::string& name) {
  for (const auto& found : documents(file)) {
    const bool same = found["kind"].as<std::string>() == kind &&
                      found["metadata"]["name"].as<std::string>() == name;
    if (same) return found;
  }
  throw std::runtime_error(file + " has no " + kind + " " + name);
}

Config shipped_config() {
  const auto map = document("extender.yaml", "ConfigMap", "tangram-extender");
  auto config = load_config(map["data"]["tangram.yaml"].as<std::string>(), "extender.yaml", {});
  if (!config) throw std::runtime_error(config.error().message);
  return std::move(*config);
}

TEST(ShippedTest, TheConfigurationIsTakenAndAsksForCertificates) {
  const Config config = shipped_config();
  EXPECT_FALSE(is_loopback(config.server.listen));
  EXPECT_FALSE(config.server.plaintext || config.server.anyone_may_bind);
  EXPECT_FALSE(config.tls.client_ca.empty());
  EXPECT_EQ(config.tls.client_names, "system:kube-scheduler");
  EXPECT_TRUE(config.webhook.listen);
  EXPECT_TRUE(config.metrics.listen);
}

TEST(ShippedTest, PortsProbesAndVolumesAreThoseOfTheConfiguration) {
  const Config config = shipped_config();
  const auto pod =
      document("extender.yaml", "Deployment", "tangram-extender")["spec"]["template"]["spec"];
  const auto container = pod["containers"][0];
  std::map<std::string, int> ports;
  for (const auto& port : container["ports"]) {
    ports[port["name"].as<std::string>()] = port["containerPort"].as<int>();
  }
  EXPECT_EQ(ports, (std::map<std::string, int>{{"https", config.server.listen.port},
                                               {"webhook", config.webhook.listen->port},
                                               {"metrics", config.metrics.listen->port}}));
  EXPECT_EQ(container["livenessProbe"]["httpGet"]["port"].as<std::string>(), "metrics");
  EXPECT_EQ(container["readinessProbe"]["httpGet"]["port"].as<std::string>(), "metrics");
  std::set<std::string> mounts;
  for (const auto& mount : container["volumeMounts"]) {
    mounts.insert(mount["mountPath"].as<std::string>());
  }
  for (const auto& file : {config.tls.certificate, config.tls.key, config.tls.client_ca}) {
    EXPECT_TRUE(mounts.contains(file.substr(0, file.rfind('/')))) << file;
  }
  const auto service = document("service.yaml", "Service", "tangram-extender");
  EXPECT_EQ(service["spec"]["ports"][0]["targetPort"].as<std::string>(), "https");
  const auto webhook = document("service.yaml", "Service", "tangram-webhook");
  EXPECT_EQ(webhook["spec"]["ports"][0]["targetPort"].as<std::string>(), "webhook");
}

TEST(ShippedTest, KubeSchedulerShowsACertificateAndChecksTheServers) {
  const auto service = document("service.yaml", "Service", "tangram-extender");
  const std::string url = "https://" + service["spec"]["clusterIP"].as<std::string>() + ":" +
                          service["spec"]["ports"][0]["port"].as<std::string>();
  for (const std::string file : {"scheduler-config.yaml", "scheduler-config-only.yaml"}) {
    const auto extender = documents(file).front()["extenders"][0];
    EXPECT_EQ(extender["urlPrefix"].as<std::string>(), url) << file;
    EXPECT_TRUE(extender["enableHTTPS"].as<bool>()) << file;
    for (const char* key : {"caFile", "certFile", "keyFile"}) {
      EXPECT_TRUE(extender["tlsConfig"][key].IsDefined()) << file << " " << key;
    }
    EXPECT_EQ(extender["tlsConfig"]["serverName"].as<std::string>(),
              "tangram-extender.tangram-system.svc");
  }
}

}  // namespace
}  // namespace tangram::config
