#pragma once

#include "extender/setup/certificate_text.hpp"
#include "extender/setup/renewal.hpp"
#include "extender/setup/renewal_objects.hpp"
#include "kube/local/api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/passing_api.hpp"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace tangram::extender {

inline constexpr const char* kServerPath = "/api/v1/namespaces/tangram-system/secrets/tangram-tls";
inline constexpr const char* kSchedulerPath =
    "/api/v1/namespaces/tangram-system/secrets/tangram-scheduler-tls";
inline constexpr const char* kDeploymentPath =
    "/apis/apps/v1/namespaces/tangram-system/deployments/tangram-scheduler";
inline constexpr const char* kAdmission = "/apis/admissionregistration.k8s.io/v1/";

/// What OpenSSL says at a moment of a certificate for that use; "ok" if nothing.
inline std::string verdict(const CaBundle& authorities, const std::string& pem, int purpose,
                           WallTime now) {
  const auto leaf = read_certificate(pem);
  if (!leaf) return "no certificate";
  const std::shared_ptr<X509_STORE> store(X509_STORE_new(), X509_STORE_free);
  const std::string all = authorities.pem();
  const auto in = http::tls::reader_of(all);
  while (const http::tls::CertificatePtr authority{
      PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(store.get(), authority.get());
  }
  const std::shared_ptr<X509_STORE_CTX> context(X509_STORE_CTX_new(), X509_STORE_CTX_free);
  X509_STORE_CTX_init(context.get(), store.get(), leaf.get(), nullptr);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  X509_STORE_CTX_set_time(context.get(), 0, std::chrono::system_clock::to_time_t(now));
  X509_verify_cert(context.get());
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
}

/// A cluster whose parts see a write late: replicas of the extender, kube-schedulers and API
/// servers may each use any version of an object since the last time that all of them were up to
/// date. After each write, every certificate that may be in use must verify with every bundle that
/// may be.
class World final : public testing::PassingApi {
 public:
  World() : PassingApi(server_) {
    create("/apis/apps/v1/namespaces/tangram-system/deployments",
           R"({"metadata":{"name":"tangram-scheduler"},"spec":{"replicas":2}})");
    for (const auto& path : registrations()) {
      create(
          path.substr(0, path.rfind('/')),
          R"({"metadata":{"name":")" + path.substr(path.rfind('/') + 1) +
              R"("},"webhooks":[{"name":"a.tangram.dev","clientConfig":{"service":{"name":"w"}},)"
              R"("timeoutSeconds":5},{"name":"b.tangram.dev"}]})");
    }
  }

  /// As Helm installs: the Secrets first, the registrations later.
  void install(int days = 30) {
    auto first = order();
    first.days = days;
    first.only_missing = true;
    first.registrations.clear();
    first.restart.clear();
    const auto created = renew_certificates(first, place());
    if (!created) throw std::runtime_error(created.error().message);
    if (auto done = run(days); !done) throw std::runtime_error(done.error().message);
    pass(std::chrono::hours(1));
    watching_ = true;
    look();
    writes = 0;
  }

  static RenewalOrder order() {
    RenewalOrder order;
    order.restart = "tangram-scheduler";
    for (const auto& path : registrations()) {
      order.registrations.push_back(path.substr(std::string(kAdmission).size()));
    }
    return order;
  }
  RenewalPlace place() {
    return {*this, clock, [this](std::chrono::milliseconds time) { pause(time); }};
  }
  Result<std::string> run(int days = 30) {
    auto wanted = order();
    wanted.days = days;
    return renew_certificates(wanted, place());
  }

  /// Time in which everything becomes up to date.
  void pass(std::chrono::milliseconds time) {
    clock.advance(time);
    verified_.clear();
    for (auto* seen : {&servers_, &clients_}) {
      if (!seen->empty()) seen->erase(seen->begin(), seen->end() - 1);
    }
    for (auto& [path, seen] : bundles_) seen.erase(seen.begin(), seen.end() - 1);
  }

  Result<kube::Response> call(const kube::Request& request) override {
    if (request.method == kube::Method::kGet) return server_.call(request);
    const bool faulty = fail_at == writes++;
    if (faulty && !applied) return fail(Errc::kUnavailable, "nothing was sent");
    auto response = server_.call(request);
    if (request.path == kDeploymentPath) begin_rollout();
    look();
    if (faulty) return fail(Errc::kTimeout, "no answer");
    return response;
  }

  [[nodiscard]] TlsSecret secret(const char* path) { return *read_secret(server_, path); }
  void send(kube::Method method, const std::string& path, const std::string& body) {
    const auto response = server_.call(testing::write_request(method, path, body));
    if (!response || response->status >= 300) throw std::runtime_error(path + response->body);
    look();
  }
  kube::KubeApi& server() { return server_; }
  static std::vector<std::string> registrations() {
    return {std::string(kAdmission) + "mutatingwebhookconfigurations/00-tangram",
            std::string(kAdmission) + "validatingwebhookconfigurations/00-tangram"};
  }

  testing::ManualClock clock;
  std::size_t writes = 0;              ///< since install()
  std::optional<std::size_t> fail_at;  ///< which of them fails,
  bool applied = false;                ///< and whether it is applied nevertheless
  bool stuck = false;                  ///< kube-scheduler never restarts
  std::size_t checks = 0;
  std::function<void()> while_settling = [] {};

 private:
  void create(const std::string& path, const std::string& body) {
    send(kube::Method::kPost, path, body);
  }

  void pause(std::chrono::milliseconds time) {
    if (time < kSettling) {
      clock.advance(time);
      return finish_rollout();
    }
    pass(time);
    std::exchange(while_settling, [] {})();
  }

  void begin_rollout() {
    status(R"({"observedGeneration":0,"replicas":3,"updatedReplicas":1,"availableReplicas":2})");
  }
  void finish_rollout() {
    if (stuck) return;
    status(R"({"observedGeneration":0,"replicas":2,"updatedReplicas":2,"availableReplicas":2})");
    loaded_.clear();
    for (const auto& client : clients_) loaded_.push_back(client.authorities);
  }
  void status(const std::string& text) {
    server_.call(testing::write_request(kube::Method::kPatch,
                                        std::string(kDeploymentPath) + "/status",
                                        R"({"status":)" + text + "}"));
  }

  void look() {
    if (!watching_) return;
    see(servers_, secret(kServerPath));
    see(clients_, secret(kSchedulerPath));
    see(loaded_, clients_.back().authorities);  // one that starts by itself
    for (const auto& path : registrations()) {
      see(bundles_[path], read_registration(server_, path)->common_authorities);
    }
    check();
  }
  static void see(std::vector<TlsSecret>& seen, TlsSecret now) {
    if (seen.empty() || seen.back().version != now.version) seen.push_back(std::move(now));
  }
  static void see(std::vector<CaBundle>& seen, const CaBundle& now) {
    if (seen.empty() || !(seen.back() == now)) seen.push_back(now);
  }

  void check() {
    const auto ok = [&](const CaBundle& authorities, const TlsSecret& shown, int purpose) {
      std::string pair = authorities.pem() + shown.certificate;
      if (!verified_.insert(std::move(pair)).second) return std::string("ok");
      ++checks;
      return verdict(authorities, shown.certificate, purpose, clock.wall());
    };
    for (const auto& server : servers_) {
      for (const auto& [path, seen] : bundles_) {
        for (const auto& bundle : seen) {
          ASSERT_EQ(ok(bundle, server, X509_PURPOSE_SSL_SERVER), "ok") << writes << ", " << path;
        }
      }
      for (const auto& bundle : loaded_) {
        ASSERT_EQ(ok(bundle, server, X509_PURPOSE_SSL_SERVER), "ok")
            << writes << ", by kube-scheduler";
      }
      for (const auto& client : clients_) {
        ASSERT_EQ(ok(server.authorities, client, X509_PURPOSE_SSL_CLIENT), "ok")
            << writes << ", of kube-scheduler";
      }
    }
  }

  kube::LocalApi server_{clock};
  bool watching_ = false;
  // What may be in use: the newest last.
  std::vector<TlsSecret> servers_;
  std::vector<TlsSecret> clients_;
  std::vector<CaBundle> loaded_;  ///< by kube-schedulers, when they started
  std::map<std::string, std::vector<CaBundle>> bundles_;
  std::set<std::string> verified_;  ///< pairs at this time, which need not be verified again
};

}  // namespace tangram::extender
