#pragma once

#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "model/isolation.hpp"
#include "model/request_rules.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tangram::config {

/// Where the cluster is.
enum class KubeSource : std::uint8_t {
  kLocal,       ///< in memory, from a file: demo, replay and tests
  kInCluster,   ///< the service account of the pod that this process runs in
  kKubeconfig,  ///< a kubeconfig file
};

/// What a client of the metrics has to send.
enum class MetricsAuthentication : std::uint8_t {
  kNone,
  kToken,  ///< a bearer token that the API server reviews
};

/// Everything an operator can set. The initialisers here are the defaults; bounds and reasons
/// stand in config/sections, and config/tangram.yaml and docs/configuration.md are written from
/// both. A value, made once at start-up by load_config() and not changed afterwards.
struct Config {
  struct Server {
    Endpoint listen{"127.0.0.1", 9898};
    int threads = 0;
    int max_body_mib = 32;
    int max_header_kib = 16;
    std::chrono::seconds idle_timeout{120};
    std::chrono::seconds request_timeout{30};
    int max_connections = 1024;
    int connects_per_s = 20;
    int connects_burst = 200;
    int max_bodies_mib = 256;
    std::chrono::seconds drain_timeout{20};
    std::vector<std::string> host_names;
    bool plaintext = false;
    bool anyone_may_bind = false;
  };

  /// Of the server and of the webhook. Paths of PEM files; empty = none.
  struct Tls {
    std::string certificate;
    std::string key;
    std::string client_ca;
    std::string client_names;
    std::chrono::seconds handshake_timeout{10};
  };

  struct Webhook {
    std::optional<Endpoint> listen;  ///< nothing = no webhook
    std::string client_ca;           ///< path of a PEM file; empty = none
    std::string client_names;
  };

  struct Metrics {
    std::optional<Endpoint> listen;  ///< nothing = where the server listens
    MetricsAuthentication authentication = MetricsAuthentication::kNone;
  };

  struct Scheduler {
    /// Not checked here: the policies know their names. See policies::PolicySet::find.
    std::string policy = "least-waste";
    int short_list = 1;
    std::chrono::milliseconds hold_ttl{3'000};
    std::chrono::milliseconds long_hold_ttl{120'000};
    bool wake = true;
    std::chrono::milliseconds assume_ttl{70'000};
    model::Isolation default_isolation = model::Isolation::kMps;
    int max_burst = 0;
    int offer_memory_pods = 10'000;
    std::chrono::seconds offer_penalty{60};

    [[nodiscard]] model::RequestRules requests() const { return {default_isolation, max_burst}; }
  };

  struct Bind {
    int workers = 32;
    int queue = 1024;
    std::chrono::milliseconds timeout{4000};
  };

  struct Kube {
    /// load_config() insists that it is named. Of the three this one fails loudly elsewhere.
    KubeSource source = KubeSource::kInCluster;
    std::string kubeconfig;
    std::string context;
    std::string cluster_file;
    int page_size = 500;
    int qps = 500;
    int burst = 1000;
  };

  struct LeaderElection {
    bool enabled = true;  ///< has no meaning for a cluster in memory
    std::string lease = "tangram-extender";
    std::string ns;
    // client-go's own values.
    std::chrono::seconds lease_duration{15};
    std::chrono::milliseconds renew_deadline{10'000};
    std::chrono::milliseconds retry_period{2'000};
  };

  struct Eviction {
    bool enabled = true;
    std::chrono::seconds after{60};
    int per_minute = 10;
  };

  struct BrokenCards {
    bool evict = true;
    std::chrono::seconds after{900};
    int per_minute = 20;
  };

  struct CardPreemption {
    bool enabled = true;
    int per_minute = 60;
  };

  struct Defrag {
    bool enabled = false;
    int moves_per_hour = 10;
    int from_hour = 0;
    int until_hour = 24;
    int min_gain_percent = 100;
    std::chrono::seconds waited{60};
    bool on_request = true;
  };

  struct Grants {
    std::string signing_key;
    std::string public_keys;
    bool required = false;
  };

  struct Fragmentation {
    std::string workload_file;
    int learn_window_pods = 20'000;
    int relearn_every_pods = 1000;
    int coverage_percent = 95;
  };

  struct Bestfit {
    MilliCpu cpu{128'000};
    MilliGpu gpu{8000};
  };

  struct Admission {
    std::string scheduler_name;
    std::vector<std::string> replaced_schedulers{"default-scheduler", "hami-scheduler",
                                                 "kai-scheduler"};
    std::string runtime_class;
    bool node_selector = false;
    std::vector<std::string> tolerations{"nvidia.com/gpu", "amd.com/gpu"};
    bool aggregates = true;
    bool allow_visible_devices = false;
    std::vector<std::string> card_resources{
        "nvidia.com/gpu",      "nvidia.com/gpu.*", "nvidia.com/gpumem*", "nvidia.com/gpucores",
        "nvidia.com/mig-*",    "nvidia.com/pgpu",  "nvidia.com/vgpu*",   "aliyun.com/gpu-*",
        "tencent.com/vcuda-*", "volcano.sh/gpu-*", "volcano.sh/vgpu-*",  "koordinator.sh/gpu*",
        "elasticgpu.io/*"};
    std::string extender_user = "system:serviceaccount:tangram-system:tangram-extender";
  };

  /// Requests of other systems that are translated; docs/migration.md.
  struct Foreign {
    bool nvidia = false;
    bool nvidia_sharing = false;
    bool hami = false;
    bool gpushare = false;
    bool kai = false;
    bool gpushare_in_mib = false;
  };

  struct Log {
    std::string level = "info";
    std::string format = "text";
  };

  Server server;
  Tls tls;
  Webhook webhook;
  Metrics metrics;
  Scheduler scheduler;
  Bind bind;
  Kube kube;
  LeaderElection leader_election;
  Eviction eviction;
  BrokenCards broken_cards;
  CardPreemption card_preemption;
  Defrag defrag;
  Grants grants;
  Fragmentation fragmentation;
  Bestfit bestfit;
  Admission admission;
  Foreign foreign;
  Log log;
};

/// Reads one YAML document, then the overrides, "section.key=value" each (what `--set` takes; of
/// two for the same key the last one counts). What neither names keeps its default.
///
/// `file_name` is for messages only. Pure: touches no file and no environment.
/// Refused: unknown and repeated keys, wrong types, values out of bounds, and values that
/// contradict each other.
/// @returns kInvalidArgument with every mistake on a line of its own,
///          "file:line:column: what; what to write" or "--set section.key: what; what to write"
Result<Config> load_config(const std::string& text, const std::string& file_name,
                           const std::vector<std::string>& overrides);

}  // namespace tangram::config
