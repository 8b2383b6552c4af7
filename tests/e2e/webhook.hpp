#pragma once

#include "tests/e2e/cluster.hpp"
#include "tests/e2e/stack.hpp"

#include <filesystem>
#include <functional>
#include <list>
#include <string>
#include <vector>

namespace tangram::e2e {

/// A folder with ca.crt, tls.crt and tls.key, also for 127.0.0.1, made by `tangram-extender
/// certificates` on first use.
[[nodiscard]] const std::filesystem::path& webhook_certificates();

/// The objects of a shipped file in the cluster. The destructor deletes them.
class Applied {
 public:
  /// @param file    relative to the repository root
  /// @param change  applied to every object's JSON before it is created
  Applied(Cluster& cluster, const std::string& file,
          const std::function<std::string(const std::string&)>& change = nullptr);
  ~Applied();
  Applied(const Applied&) = delete;
  Applied& operator=(const Applied&) = delete;

 private:
  Cluster& cluster_;
  std::vector<std::string> paths_;
};

/// The registrations of deploy/webhook for a webhook on loopback: their rules and conditions as
/// shipped, `service` replaced by an address, and the certificates' CA.
[[nodiscard]] std::function<std::string(const std::string&)> on_loopback(
    int port, const std::filesystem::path& certificates = webhook_certificates());

/// An extender that also serves the webhook, and the shipped registrations of the webhook.
class Webhook {
 public:
  struct Options {
    std::vector<std::string> settings = {};  ///< further ones, "section.key=value"
    /// Files of deploy/webhook in addition to webhook.yaml.
    std::vector<std::string> files = {};
    /// With ca.crt, tls.crt and tls.key; "" = webhook_certificates().
    std::filesystem::path certificates = {};
  };
  Webhook(Cluster& cluster, Options options);

  [[nodiscard]] ExtenderProcess& extender() { return extender_; }
  /// A kube-scheduler that calls the extender over TLS.
  [[nodiscard]] Process scheduler() const;
  [[nodiscard]] int port() const { return port_; }

 private:
  std::filesystem::path certificates_;
  int port_;
  ExtenderProcess extender_;
  std::list<Applied> registrations_;
};

/// Blocks until the API server refuses the pod in a dry run, which shows that registrations or
/// policies have effect. Throws after half a minute.
void wait_until_refused(kube::KubeApi& api, const std::string& pod_json);

}  // namespace tangram::e2e
