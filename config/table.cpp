#include "config/settings.hpp"
#include "config/suggest.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace tangram::config {
namespace {

/// A field of Config by section and member, so that a row of the table names it once.
template <auto Part, auto Field>
struct Place {
  static auto& in(Config& config) { return (config.*Part).*Field; }
  static const auto& in(const Config& config) { return (config.*Part).*Field; }
  using Value = std::remove_cvref_t<decltype(in(std::declval<const Config&>()))>;
};

template <auto Part, auto Field>
IntegerRule number(Bound min, Bound max) {
  using Where = Place<Part, Field>;
  using Value = typename Where::Value;
  return {.min = min,
          .max = max,
          .get = [](const Config& config) -> std::int64_t {
            if constexpr (std::is_integral_v<Value>)
              return Where::in(config);
            else
              return Where::in(config).count();
          },
          .set =
              [](Config& config, std::int64_t count) {
                if constexpr (std::is_integral_v<Value>)
                  Where::in(config) = static_cast<Value>(count);
                else
                  Where::in(config) = Value(count);
              }};
}

/// Any text, or any but the empty one.
template <auto Part, auto Field, bool MayBeEmpty>
TextRule free_text(std::string_view form) {
  using Where = Place<Part, Field>;
  return {.form = std::string(form),
          .get = [](const Config& config) { return Where::in(config); },
          .set =
              [](Config& config, std::string_view text) {
                if (text.empty() && !MayBeEmpty) return false;
                Where::in(config) = text;
                return true;
              }};
}

template <auto Part, auto Field>
TextRule yes_or_no() {
  using Where = Place<Part, Field>;
  return {
      .form = "true or false",
      .get = [](const Config& config) { return std::string(Where::in(config) ? "true" : "false"); },
      .set =
          [](Config& config, std::string_view text) {
            if (text != "true" && text != "false") return false;
            Where::in(config) = text == "true";
            return true;
          }};
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ",").append(name);
  return text;
}

/// "a,b" -> {"a", "b"}; nothing if a name is empty.
std::optional<std::vector<std::string>> split(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    if (name.empty() || name.size() + 1 == text.size()) return std::nullopt;
    names.emplace_back(name);
    text.remove_prefix(std::min(name.size() + 1, text.size()));
  }
  return names;
}

template <auto Part, auto Field>
TextRule name_list(std::string_view form) {
  using Where = Place<Part, Field>;
  return {.form = std::string(form),
          .get = [](const Config& config) { return joined(Where::in(config)); },
          .set =
              [](Config& config, std::string_view text) {
                auto names = split(text);
                if (names) Where::in(config) = std::move(*names);
                return names.has_value();
              }};
}

// ---- texts of a closed set ----

constexpr std::array<std::string_view, 3> kKubeSources{"local", "in-cluster", "kubeconfig"};
constexpr std::array<std::string_view, 4> kLogLevels{"debug", "info", "warn", "error"};

TextRule isolation_rule() {
  std::vector<std::string_view> names;
  names.reserve(model::kIsolationModes);
  for (const auto mode : model::kAllIsolationModes) names.push_back(model::to_string(mode));
  return {.form = alternatives(names),
          .get =
              [](const Config& config) {
                return std::string(model::to_string(config.scheduler.default_isolation));
              },
          .set =
              [](Config& config, std::string_view text) {
                const auto mode = model::parse_isolation(text);
                if (mode) config.scheduler.default_isolation = *mode;
                return mode.has_value();
              }};
}

TextRule source_rule() {
  return {.form = alternatives({kKubeSources.begin(), kKubeSources.end()}),
          .get =
              [](const Config& config) {
                return std::string(kKubeSources.at(static_cast<std::size_t>(config.kube.source)));
              },
          .set =
              [](Config& config, std::string_view text) {
                for (std::size_t i = 0; i < kKubeSources.size(); ++i) {
                  if (kKubeSources.at(i) != text) continue;
                  config.kube.source = static_cast<KubeSource>(i);
                  return true;
                }
                return false;
              }};
}

TextRule level_rule() {
  return {.form = alternatives({kLogLevels.begin(), kLogLevels.end()}),
          .get = [](const Config& config) { return config.log.level; },
          .set =
              [](Config& config, std::string_view text) {
                for (const auto level : kLogLevels) {
                  if (level != text) continue;
                  config.log.level = text;
                  return true;
                }
                return false;
              }};
}

// ---- address and port ----

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string address(text.substr(0, colon));
  const auto port = whole_number(text.substr(colon + 1));
  constexpr std::int64_t kLastPort = 65'535;
  if (!port || *port < 0 || *port > kLastPort) return std::nullopt;

  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) address = address.substr(1, address.size() - 2);
  in6_addr parsed{};  // large enough for both families
  if (inet_pton(bracketed ? AF_INET6 : AF_INET, address.c_str(), &parsed) != 1) {
    return std::nullopt;
  }
  return Endpoint{std::move(address), static_cast<std::uint16_t>(*port)};
}

constexpr std::string_view kEndpointForm =
    "an IP address and a port, as in 127.0.0.1:9898, 0.0.0.0:9898 or [::1]:9898";

TextRule listen_rule() {
  return {.form = std::string(kEndpointForm),
          .get = [](const Config& config) { return to_string(config.server.listen); },
          .set =
              [](Config& config, std::string_view text) {
                auto endpoint = parse_endpoint(text);
                if (endpoint) config.server.listen = std::move(*endpoint);
                return endpoint.has_value();
              }};
}

/// Of a listener that need not be there.
template <auto Part, auto Field>
TextRule optional_listen_rule() {
  using Where = Place<Part, Field>;
  return {.form = std::string(kEndpointForm) + "; or \"\"",
          .get =
              [](const Config& config) {
                const auto& endpoint = Where::in(config);
                return endpoint ? to_string(*endpoint) : std::string();
              },
          .set =
              [](Config& config, std::string_view text) {
                auto endpoint = parse_endpoint(text);
                if (!endpoint && !text.empty()) return false;
                Where::in(config) = std::move(endpoint);
                return true;
              }};
}

// ---- the table ----

Section server_section() {
  constexpr auto kPart = &Config::server;
  using Part = Config::Server;
  return {
      "server",
      "The HTTP server that kube-scheduler calls.",
      {{"listen",
        "Where to listen. Whoever reaches this address can bind pods, unless tls.client_ca says "
        "who "
        "may; beyond loopback it needs TLS.",
        listen_rule()},
       {"threads", "Threads that serve requests; 0 = one for each core.",
        number<kPart, &Part::threads>(
            {0, "the machine's own count of cores"},
            {256,
             "kube-scheduler filters one pod at a time; no more threads than this find work"})},
       {"max_body_mib",
        "Largest request body; a larger one gets 413. Ordinary requests carry names and stay below "
        "2 MiB; with nodeCacheCapable: false the nodes come whole, about 20 KiB each, and 32 MiB "
        "hold 1,600 of them.",
        number<kPart, &Part::max_body_mib>(
            {1, "5,000 node names and a pod fit"},
            {256, "5,000 whole nodes are about 100 MiB; kube-scheduler sends nothing larger"})},
       {"max_header_kib", "Largest request header; a larger one gets 431.",
        number<kPart, &Part::max_header_kib>(
            {4, "proxies add cookies and traces to the few hundred bytes of a Go client"},
            {63, "the HTTP library counts within a header in 16 bits"})},
       {"idle_timeout_s", "How long a connection may stay open without a request.",
        number<kPart, &Part::idle_timeout>(
            {91, "Go reuses idle connections for 90 s and fails a request that meets a closed one"},
            {3600, "a client that vanished must not hold a connection for longer"})},
       {"request_timeout_s", "How long reading one request and answering it may take.",
        number<kPart, &Part::request_timeout>(
            {5, "kube-scheduler itself waits for 5 s by default"},
            {600, "a stalled client must not hold a connection for longer"})},
       {"max_connections",
        "Connections at one time. One more makes another go that waits for its client: of the "
        "address that has most, first those that have got no answer for a while; of verified "
        "clients "
        "none while there are others. Where all are being answered, it gets 503.",
        number<kPart, &Part::max_connections>(
            {16, "kube-scheduler opens one for each bind in flight"},
            {16'384, "each costs a file descriptor, and up to 100 KiB with TLS"})},
       {"connects_per_s",
        "New connections a second from one address, of IPv6 from one /64; more are closed at once, "
        "before a handshake. Not counted where a verified client came from that address within the "
        "last hour, and not where tls.client_ca is \"\", for then nobody can be told from "
        "kube-scheduler. Probes, scrapes and people's pages open a few a second.",
        number<kPart, &Part::connects_per_s>(
            {0, "any number"},
            {10'000, "more handshakes than a core can do in a second are no limit"})},
       {"connects_burst", "How many may come from one address at once after a pause.",
        number<kPart, &Part::connects_burst>(
            {64,
             "binds that are in flight before the first has shown kube-scheduler's certificate"},
            {16'384, "no more can be open at one time"})},
       {"max_bodies_mib",
        "Memory for the bodies of all connections together, requests that have arrived and answers "
        "that were not taken yet; what does not fit gets 503. The first 64 KiB of each are free, "
        "so "
        "binds always pass.",
        number<kPart, &Part::max_bodies_mib>(
            {1, "never below max_body_mib"},
            {16'384, "a body grows by doubling: twice as much may be taken for a moment"})},
       {"drain_timeout_s", "How long requests under way may go on after SIGTERM.",
        number<kPart, &Part::drain_timeout>(
            {1, "a bind under way needs time to learn its outcome"},
            {600,
             "a roll-out waits for it; Kubernetes kills after terminationGracePeriodSeconds, "
             "30 by default, so raise that first"})},
       {"host_names",
        "Without TLS: by which names, beside localhost and IP addresses, pages and metrics may be "
        "asked for from this machine or pod; others get 421, since a page somewhere could have a "
        "browser here read them. For a proxy beside Tangram that hands on its clients' Host. The "
        "verbs answer to any name.",
        name_list<kPart, &Part::host_names>("names with one comma between and no spaces, or \"\"")},
       {"plaintext",
        "true = listen beyond loopback without TLS: everybody who reaches the address can bind "
        "pods, and everybody on the way can read and change what is said. For a trial, or behind "
        "something that does TLS.",
        yes_or_no<kPart, &Part::plaintext>()},
       {"anyone_may_bind",
        "true = listen beyond loopback with TLS and without tls.client_ca: everybody who reaches "
        "the address can bind pods. For networks in which nobody but kube-scheduler does.",
        yes_or_no<kPart, &Part::anyone_may_bind>()}}};
}

Section tls_section() {
  constexpr auto kPart = &Config::tls;
  using Part = Config::Tls;
  constexpr std::string_view kPath = "a path, or \"\" for none";
  return {
      "tls",
      "Who the server and the webhook are, and who may call the verbs. All files are PEM and are "
      "read anew within seconds when they change; see docs/tls.md.",
      {{"certificate",
        "The server's certificate, and after it those that lead to its authority; \"\" = plain "
        "HTTP.",
        free_text<kPart, &Part::certificate, true>(kPath)},
       {"key", "The certificate's key, not encrypted.", free_text<kPart, &Part::key, true>(kPath)},
       {"client_ca",
        "The authorities that vouch for clients: the verbs are for those alone whose certificate "
        "is signed by one of them, and pages that tell of pods for those and for whoever comes by "
        "kubectl port-forward. \"\" = both are for everybody. Probes and scrapes, and the webhook, "
        "ask nobody.",
        free_text<kPart, &Part::client_ca, true>(kPath)},
       {"client_names",
        "Which of those may call the verbs: common names or DNS names, separated by commas; \"\" = "
        "all. Name "
        "system:kube-scheduler where client_ca is the cluster's own, which signs for many.",
        free_text<kPart, &Part::client_names, true>("names, separated by commas, or \"\" for all")},
       {"handshake_timeout_s", "How long a TLS handshake may take.",
        number<kPart, &Part::handshake_timeout>(
            {1, "two round trips"},
            {60, "a client that never finishes must not hold a connection for longer"})}}};
}

Section webhook_section() {
  return {"webhook",
          "The admission webhook that the API server calls; see docs/tls.md.",
          {{"listen", "Where to listen, with the certificate of tls; \"\" = no webhook.",
            optional_listen_rule<&Config::webhook, &Config::Webhook::listen>()}}};
}

Section metrics_section() {
  return {"metrics",
          "Metrics and health over plain HTTP: /metrics, /metrics/cards, /healthz and /readyz.",
          {{"listen",
            "Where to listen, with threads and connections of its own, so that probes are answered "
            "while the server is under attack; \"\" = on server.listen. It shows the names of "
            "nodes and cards and how full they are, no pods, and takes nothing but GET.",
            optional_listen_rule<&Config::metrics, &Config::Metrics::listen>()}}};
}

Section scheduler_section() {
  constexpr auto kPart = &Config::scheduler;
  using Part = Config::Scheduler;
  return {
      "scheduler",
      "Which node and which card a pod gets.",
      {{"policy",
        "The policy for pods that name none in tangram.dev/gpu-policy; see docs/policies.md.",
        free_text<kPart, &Part::policy, false>("the name of a policy")},
       {"short_list",
        "How many of the best nodes filter returns; 0 = all that fit. 1 makes Tangram's order "
        "decide alone; more leave room for the scores of kube-scheduler's other plugins.",
        number<kPart, &Part::short_list>({0, "all nodes that fit"},
                                         {5000, "the largest cluster that Kubernetes supports"})},
       {"hold_ttl_ms",
        "How long room is held for a pod on the node that filter ranks first, until its bind "
        "comes: meanwhile the next pods are not offered it, so that few binds are refused. 0 = "
        "not at all.",
        number<kPart, &Part::hold_ttl>(
            {0, "nothing is held, and bind refuses whoever comes late"},
            {60'000, "a pod whose bind never comes must not block a card for longer"})},
       {"assume_ttl_ms",
        "How long a booking may wait for its bind's outcome before the pod itself is read to "
        "learn it. Longer than the API server works on a request (its --request-timeout, 60 s by "
        "default), so that a bind which timed out here cannot take effect after its room was "
        "given away.",
        number<kPart, &Part::assume_ttl>(
            {5000, "kube-scheduler waits 5 s for a bind by default; before that it is in flight"},
            {600'000, "a lost bind must not make a card look full for longer"})},
       {"default_isolation",
        "How pods that share a card are kept apart where the pod does not say. mps is the default "
        "because it alone enforces a memory limit.",
        isolation_rule()},
       {"offer_memory_pods",
        "For how many pods Tangram remembers the nodes that were offered or tried in vain; the "
        "oldest is forgotten first.",
        number<kPart, &Part::offer_memory_pods>(
            {100, "fewer than the pods that a busy cluster retries would remember nothing"},
            {1'000'000, "each takes a few hundred bytes"})},
       {"offer_penalty_s",
        "How long a node that was offered or tried in vain ranks last for the same pod.",
        number<kPart, &Part::offer_penalty>(
            {10, "kube-scheduler's longest back-off; a shorter one is over before the next try"},
            {3600, "what refused the pod, a full volume for instance, may be gone by then"})}}};
}

Section bind_section() {
  constexpr auto kPart = &Config::bind;
  using Part = Config::Bind;
  return {"bind",
          "The writes that bind pods.",
          {{"workers", "Binds that write to the API server at the same time.",
            number<kPart, &Part::workers>(
                {1, "without one nothing is bound"},
                {256, "the API server serves 200 writes at a time by default"})},
           {"queue",
            "Binds that wait for a worker; further ones are refused and kube-scheduler retries.",
            number<kPart, &Part::queue>(
                {1, "a burst needs somewhere to wait"},
                {100'000, "what waits longer than bind.timeout_ms is refused anyway"})},
           {"timeout_ms",
            "How long one bind may take, its wait for a worker included. Keep it below httpTimeout "
            "of the extender in kube-scheduler's configuration, 5 s by default.",
            number<kPart, &Part::timeout>(
                {100, "one write to an API server under load takes tens of milliseconds"},
                {60'000, "the API server gives up a request after 60 s by default"})}}};
}

Section kube_section() {
  constexpr auto kPart = &Config::kube;
  using Part = Config::Kube;
  return {
      "kube",
      "Where the cluster's nodes and pods come from.",
      {{.key = "source",
        .description =
            "local = the file below, in memory, for trying things out; in-cluster = the "
            "service account of this pod; kubeconfig = the file below. There is no default: a "
            "forgotten line must not end in a scheduler that forgets.",
        .rule = source_rule(),
        .required = true},
       {"kubeconfig",
        "For source: kubeconfig alone: the file; \"\" = the one that $KUBECONFIG names, else "
        "~/.kube/config. Exec plugins, auth providers and proxies are refused.",
        free_text<kPart, &Part::kubeconfig, true>("a path, or \"\" for the usual one")},
       {"context", "For source: kubeconfig alone: the context in it; \"\" = its current one.",
        free_text<kPart, &Part::context, true>("a context's name, or \"\"")},
       {"cluster_file",
        "For source: local alone: a YAML file with Node and Pod objects, as kubectl prints "
        "them. A relative path starts at the working directory.",
        free_text<kPart, &Part::cluster_file, true>("a path, or \"\" for none")},
       {"page_size", "Objects per page when nodes and pods are listed.",
        number<kPart, &Part::page_size>(
            {1, "a page holds something"},
            {10'000, "a page of 20 KiB objects is 200 MiB of JSON at that size"})},
       {"qps",
        "Calls to the API server per second, in the long run; watches and renewals of the "
        "lease are not counted. kube-scheduler's own limit is 50, one bind at a time; here "
        "hundreds of pods are bound in a second, and the server's priority and fairness "
        "protects it from more.",
        number<kPart, &Part::qps>(
            {5, "the limit of Kubernetes' own clients where none is set"},
            {10'000, "no API server answers more; what is meant is no limit"})},
       {"burst", "Calls at once after a pause.",
        number<kPart, &Part::burst>({10, "the burst of Kubernetes' own clients where none is set"},
                                    {20'000, "two seconds of the highest qps"})}}};
}

Section leader_election_section() {
  constexpr auto kPart = &Config::leader_election;
  using Part = Config::LeaderElection;
  return {
      "leader_election",
      "Which of several replicas binds pods. All of them read the cluster and answer for people; "
      "one holds a Lease and answers kube-scheduler.",
      {{"enabled",
        "Whether to ask for the Lease. Without it there must be one replica only, and no overlap "
        "of the old and the new one in a roll-out. A cluster in memory has no other replica.",
        yes_or_no<kPart, &Part::enabled>()},
       {"lease", "The Lease's name.", free_text<kPart, &Part::lease, false>("the name of a Lease")},
       {"namespace",
        "The Lease's namespace; \"\" = this pod's own ($POD_NAMESPACE, else its service "
        "account's), "
        "else tangram-system.",
        free_text<kPart, &Part::ns, true>("a namespace, or \"\" for this pod's own")},
       {"lease_duration_s", "How long other replicas wait for a leader that has fallen silent.",
        number<kPart, &Part::lease_duration>(
            {2, "a Lease counts in whole seconds, and a leader must renew it in time"},
            {300, "no pod with a GPU is placed meanwhile"})},
       {"renew_deadline_ms", "A leader that could not renew its Lease for so long stops leading.",
        number<kPart, &Part::renew_deadline>(
            {500, "an API server under load takes that long to answer"},
            {299'000, "below the longest lease_duration_s"})},
       {"retry_period_ms", "Time between two attempts to get or renew the Lease.",
        number<kPart, &Part::retry_period>(
            {100, "every replica writes or reads the Lease that often"},
            {60'000, "a Lease that was given back waits so long for its next holder"})}}};
}

Section eviction_section() {
  constexpr auto kPart = &Config::eviction;
  using Part = Config::Eviction;
  return {
      "eviction",
      "What becomes of pods that were bound and can never start: their grant cannot be honoured, "
      "or "
      "the agent of their node refuses them for good.",
      {{"enabled",
        "Whether the leader evicts them, so that their controller makes others, which are placed "
        "anew. Only pods of a controller, no DaemonSet's, none of whose containers has run; so "
        "nothing is lost, and without it a workload would be short of a pod until somebody looks. "
        "A Job counts such a pod as failed unless its podFailurePolicy ignores DisruptionTarget. "
        "false = their events say what to do.",
        yes_or_no<kPart, &Part::enabled>()},
       {"after_s", "How long a pod must have been like that, without a break.",
        number<kPart, &Part::after>(
            {10,
             "kubelet tells a status after up to 10 s; a card may be away for as long while its "
             "driver restarts"},
            {3600, "who would rather wait for longer does not want it: write enabled: false"})},
       {"per_minute",
        "Evictions in a minute, evenly spread: if a whole node refuses its pods by mistake, people "
        "have time to see it.",
        number<kPart, &Part::per_minute>({1, "0 would be enabled: false"},
                                         {60, "one a second is as often as the leader looks"})}}};
}

Section grants_section() {
  constexpr auto kPart = &Config::grants;
  using Part = Config::Grants;
  return {
      "grants",
      "Signatures of grants; see docs/signing.md. The files are read again while the program runs.",
      {{"signing_key",
        "The Ed25519 private key that grants are signed with, as tangram-extender grant-key makes "
        "it; \"\" = they are not signed. Not signed by default, since somebody must make the key: "
        "until then the admission rules are what keeps others from writing grants.",
        free_text<kPart, &Part::signing_key, true>("a path, or \"\" to sign nothing")},
       {"public_keys",
        "The public keys whose grants count, of signing_key and of its predecessors: a file, or a "
        "folder of files. The same that the agents have.",
        free_text<kPart, &Part::public_keys, true>("a path, or \"\" if nothing is signed")},
       {"required",
        "Whether a grant that none of these keys signed grants nothing in the ledger. Write true "
        "only after every agent runs with --require-signed-grants: an agent without it may start "
        "what is not counted here.",
        yes_or_no<kPart, &Part::required>()}}};
}

Section fragmentation_section() {
  constexpr auto kPart = &Config::fragmentation;
  using Part = Config::Fragmentation;
  return {"fragmentation",
          "The pods that the policies \"fragmentation\" and \"least-waste\" expect.",
          {{"workload_file",
            "For \"fragmentation\": a CSV of expected pods with the columns name, cpu_milli, "
            "memory_mib, "
            "num_gpu, gpu_milli and gpu_spec; \"\" = learn from the pods that come. A relative "
            "path starts "
            "at the working directory.",
            free_text<kPart, &Part::workload_file, true>("a path, or \"\" to learn")},
           {"learn_window_pods", "How many of the latest pods are learned from.",
            number<kPart, &Part::learn_window_pods>(
                {100, "fewer say little about the next ones"},
                {1'000'000,
                 "each takes about a hundred bytes and is counted again at every learning"})},
           {"relearn_every_pods", "After how many new pods the expectation is made anew.",
            number<kPart, &Part::relearn_every_pods>(
                {1, "at each pod"}, {1'000'000, "the largest window that can be learned from"})},
           {"coverage_percent",
            "The most frequent kinds of pods that make up this share of all are expected, the rest "
            "left out; 95 in the published policy.",
            number<kPart, &Part::coverage_percent>({1, "something has to be expected"},
                                                   {100, "all of them"})}}};
}

Section bestfit_section() {
  constexpr auto kPart = &Config::bestfit;
  using Part = Config::Bestfit;
  return {
      "bestfit",
      "The free CPU and GPU at which the policy \"bestfit\" takes a node for empty: the largest "
      "node of the cluster.",
      {{"cpu_milli", "Thousandths of a core; the default is the published constant.",
        number<kPart, &Part::cpu>({1000, "one core"},
                                  {10'000'000, "ten thousand cores are no single node"})},
       {"gpu_milli", "Thousandths of a card; the default is the published constant.",
        number<kPart, &Part::gpu>({1000, "one card"},
                                  {1'000'000, "a thousand cards are no single node"})}}};
}

Section admission_section() {
  constexpr auto kPart = &Config::admission;
  using Part = Config::Admission;
  return {
      "admission",
      "What the admission webhook makes of pods that ask for a GPU, and of their neighbours; see "
      "docs/admission.md.",
      {{"scheduler_name",
        "The schedulerName that pods with a request get, such as tangram where kube-scheduler has "
        "a profile of that name for them; \"\" = they keep their own, but pods translated from a "
        "peer's words get default-scheduler instead of the peer's.",
        free_text<kPart, &Part::scheduler_name, true>("a scheduler's name, or \"\"")},
       {"replaced_schedulers",
        "Which schedulerName is replaced by scheduler_name, with commas between: the default, and "
        "the peers' whose requests Tangram translates. A pod that names another scheduler keeps "
        "it.",
        name_list<kPart, &Part::replaced_schedulers>(
            "names with one comma between and no spaces, or \"\"")},
       {"runtime_class",
        "The runtimeClassName that pods with a request get if they name none, such as nvidia; "
        "\"\" = none.",
        free_text<kPart, &Part::runtime_class, true>("the name of a RuntimeClass, or \"\"")},
       {"node_selector",
        "Whether pods with a request get the nodeSelector tangram.dev/gpu: \"true\" if they do not "
        "say otherwise. Slots alone keep them on GPU nodes; this also tells the autoscaler and "
        "people.",
        yes_or_no<kPart, &Part::node_selector>()},
       {"aggregates",
        "Whether containers with a request get tangram.dev/gpu-milli and tangram.dev/gpu-mem-mib, "
        "by which quotas, kube-scheduler's own fit and its preemption see them. Nodes must "
        "publish these (--aggregates of the agent), else no node fits.",
        yes_or_no<kPart, &Part::aggregates>()},
       {"allow_visible_devices",
        "Whether containers may write NVIDIA_VISIBLE_DEVICES themselves. With it they can take "
        "cards that nobody gave them.",
        yes_or_no<kPart, &Part::allow_visible_devices>()},
       {"card_resources",
        "Resources that stand for NVIDIA cards of other GPU systems, with commas between; a star "
        "at the end stands for every ending. A container that holds one keeps what that system "
        "shows it, and cannot hold a share beside it. Network cards such as nvidia.com/hostdev are "
        "none; passed-through cards under their models' names are, so add those.",
        name_list<kPart, &Part::card_resources>(
            "names with one comma between and no spaces, or \"\"")},
       {"extender_user",
        "The user as whom the extender binds pods: nobody else may write tangram.dev/gpu-grant.",
        free_text<kPart, &Part::extender_user, false>(
            "a user name, as in system:serviceaccount:tangram-system:tangram-extender")}}};
}

TextRule gpushare_unit_rule() {
  return {.form = "GiB or MiB",
          .get =
              [](const Config& config) {
                return std::string(config.foreign.gpushare_in_mib ? "MiB" : "GiB");
              },
          .set =
              [](Config& config, std::string_view text) {
                if (text != "GiB" && text != "MiB") return false;
                config.foreign.gpushare_in_mib = text == "MiB";
                return true;
              }};
}

Section foreign_section() {
  constexpr auto kPart = &Config::foreign;
  using Part = Config::Foreign;
  return {
      "foreign",
      "Which requests in the words of other systems the admission webhook puts into Tangram's, so "
      "that existing manifests run unchanged; docs/migration.md has the table. All are off by "
      "default: translated pods leave the other system, and where that one still serves some "
      "nodes, its users would find their pods on Tangram's.",
      {{"nvidia",
        "nvidia.com/gpu: N and nvidia.com/mig-PROFILE: N, as whole cards. true where NVIDIA's "
        "device plugin serves no node any more.",
        yes_or_no<kPart, &Part::nvidia>()},
       {"hami",
        "nvidia.com/gpumem, gpumem-percentage and gpucores, HAMi's annotations, and nvidia.com/gpu "
        "of pods that have one of those or name the scheduler hami-scheduler. Take HAMi's own "
        "webhook away first: both would change the pod.",
        yes_or_no<kPart, &Part::hami>()},
       {"gpushare", "aliyun.com/gpu-mem.", yes_or_no<kPart, &Part::gpushare>()},
       {"gpushare_unit", "What aliyun.com/gpu-mem counts: the flag --memory-unit of its plugin.",
        gpushare_unit_rule()},
       {"kai",
        "The annotations gpu-fraction, gpu-memory and gpu-fraction-num-devices, and "
        "nvidia.com/gpu of pods that name the scheduler kai-scheduler.",
        yes_or_no<kPart, &Part::kai>()}}};
}

Section log_section() {
  return {"log",
          "What is written to standard error.",
          {{"level", "The least severe message that is written.", level_rule()}}};
}

}  // namespace

const std::vector<Section>& sections() {
  static const std::vector<Section> kSections{server_section(),
                                              tls_section(),
                                              webhook_section(),
                                              metrics_section(),
                                              scheduler_section(),
                                              bind_section(),
                                              kube_section(),
                                              leader_election_section(),
                                              eviction_section(),
                                              grants_section(),
                                              fragmentation_section(),
                                              bestfit_section(),
                                              admission_section(),
                                              foreign_section(),
                                              log_section()};
  return kSections;
}

}  // namespace tangram::config
