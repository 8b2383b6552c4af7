#pragma once

#include "extender/app.hpp"
#include "http/client.hpp"
#include "http/types.hpp"
#include "kube/local/api.hpp"
#include "model/cards.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/fault_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/ledger_picture.hpp"
#include "tests/testing/manual_clock.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tangram::extender {

/// A cluster in memory, for whole services to run on.
class Cluster {
 public:
  testing::ManualClock clock;
  kube::LocalApi server{clock};
  testing::FaultApi api{server};

  kube::Response ask(const kube::Request& request) {
    auto response = server.call(request);
    if (!response || response->status >= 400) {
      throw std::runtime_error(request.path + ": " +
                               (response ? response->body : response.error().message));
    }
    return std::move(*response);
  }
  /// A Node with that many A100s, "NAME-0", "NAME-1", ...
  void add_node(const std::string& name, int cards) {
    std::vector<model::Card> all;
    all.reserve(static_cast<std::size_t>(cards));
    for (int i = 0; i < cards; ++i) all.push_back(testing::card(name + "-" + std::to_string(i)));
    ask(testing::write_request(
        kube::Method::kPost, "/api/v1/nodes",
        testing::node_json(name, {{"tangram.dev/cards", model::encode_cards(all)}})));
  }
  /// A pod in namespace ml that waits. @returns its UID
  std::string add_pod(const std::string& name, const std::string& fraction) {
    testing::PodText pod;
    pod.name = name;
    pod.annotations = {{"tangram.dev/gpu-fraction", fraction}};
    const auto made = ask(testing::write_request(kube::Method::kPost, "/api/v1/namespaces/ml/pods",
                                                 testing::pod_json(pod)));
    return testing::json_at(made.body, "metadata.uid");
  }
  std::string read(const std::string& pod) {
    return ask(testing::get_request("/api/v1/namespaces/ml/pods/" + pod)).body;
  }
  kube::Pod pod(const std::string& name) {
    auto decoded = kube::decode_pod(read(name));
    if (!decoded) throw std::runtime_error(decoded.error().message);
    return std::move(*decoded);
  }
};

/// One connection to a service.
class Caller {
 public:
  /// If nothing listens, every request fails.
  explicit Caller(std::uint16_t port) { (void)client_.connect("127.0.0.1", port); }
  /// @returns status 0 and what went wrong as body if there is no answer
  http::Reply ask(std::string_view method, const std::string& target, std::string body = "") {
    auto reply = client_.request(method, target, std::move(body));
    if (reply) return std::move(*reply);
    return {.status = 0, .headers = {}, .body = reply.error().message};
  }
  http::Reply get(const std::string& target) { return ask("GET", target); }
  http::Reply post(const std::string& target, std::string body) {
    return ask("POST", target, std::move(body));
  }
  /// The Error of a bind; "" = bound.
  std::string bind(const std::string& pod, const std::string& uid, const std::string& node) {
    const auto reply =
        post("/bind", R"({"PodName":")" + pod + R"(","PodNamespace":"ml","PodUID":")" + uid +
                          R"(","Node":")" + node + R"("})");
    if (reply.status != 200) return std::to_string(reply.status) + " " + reply.body;
    return testing::json_at(reply.body, "Error");
  }

 private:
  http::Client client_;
};

inline config::Config test_config() {
  config::Config config;
  config.server.listen = {"127.0.0.1", 0};
  config.server.threads = 2;
  config.scheduler.policy = "binpack";
  config.bind.workers = 4;
  return config;
}

inline std::unique_ptr<App> start(Cluster& cluster, const config::Config& config = test_config()) {
  auto app =
      App::create(config, {.api = cluster.api, .clock = cluster.clock, .replica = std::nullopt});
  if (!app) throw std::runtime_error(app.error().message);
  return std::move(*app);
}

/// A service that has read the cluster.
inline std::unique_ptr<App> start_synced(Cluster& cluster,
                                         const config::Config& config = test_config()) {
  auto app = start(cluster, config);
  if (!testing::eventually([&] { return app->synced(); })) throw std::runtime_error("not synced");
  return app;
}

inline std::string filter_body(Cluster& cluster, const std::string& pod, const std::string& names) {
  return R"({"Pod":)" + cluster.read(pod) + R"(,"Nodes":null,"NodeNames":)" + names + "}";
}

}  // namespace tangram::extender
