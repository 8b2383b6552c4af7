#include "config/rules.hpp"
#include "config/sections/sections.hpp"

namespace tangram::config {
namespace {

using Server = Config::Server;
constexpr Setting kServerSettings[]{
    {"listen",
     "Where to listen. Every client that reaches this address can bind pods unless tls.client_ca "
     "is set. Beyond loopback it needs TLS.",
     endpoint<&Server::listen>()},
    {"threads",
     "Threads that serve requests; 0 = one for each core. As many, less one and three at most, "
     "help with a filter that has to score more than some hundred nodes anew.",
     number<&Server::threads>(
         {0, "the machine's own count of cores"},
         {256, "kube-scheduler filters one pod at a time; no more threads than this find work"})},
    {"max_body_mib",
     "Largest request body; a larger one gets 413. Ordinary requests carry names and stay below 2 "
     "MiB; with nodeCacheCapable: false the nodes come whole, about 20 KiB each, and 32 MiB hold "
     "1,600 of them.",
     number<&Server::max_body_mib>(
         {1, "5,000 node names and a pod fit"},
         {256, "5,000 whole nodes are about 100 MiB; kube-scheduler sends nothing larger"})},
    {"max_header_kib", "Largest request header; a larger one gets 431.",
     number<&Server::max_header_kib>(
         {4, "proxies add cookies and traces to the few hundred bytes of a Go client"},
         {63, "the HTTP library counts within a header in 16 bits"})},
    {"idle_timeout_s", "How long a connection may stay open without a request.",
     number<&Server::idle_timeout>(
         {91, "Go reuses idle connections for 90 s and fails a request that meets a closed one"},
         {3600, "a client that vanished must not hold a connection for longer"})},
    {"request_timeout_s", "How long reading one request and answering it may take.",
     number<&Server::request_timeout>(
         {5, "kube-scheduler itself waits for 5 s by default"},
         {600, "a stalled client must not hold a connection for longer"})},
    {"max_connections",
     "Connections at one time. At the limit, a new connection closes one that waits for its "
     "client: of the address with the most connections, first those without an answer for a while, "
     "and verified clients last. If every connection is being answered, the new one gets 503.",
     number<&Server::max_connections>(
         {16, "kube-scheduler opens one for each bind in flight"},
         {16'384, "each costs a file descriptor, and up to 100 KiB with TLS"})},
    {"connects_per_s",
     "New connections per second from one address (IPv6: one /64). More are closed before the "
     "handshake. An address of a verified client is not limited for an hour. No address is limited "
     "while tls.client_ca is \"\", because clients cannot be distinguished from kube-scheduler "
     "then. Probes, scrapes and browsers open a few per second.",
     number<&Server::connects_per_s>(
         {0, "any number"},
         {10'000, "more handshakes than a core can do in a second are no limit"})},
    {"connects_burst", "How many may come from one address at once after a pause.",
     number<&Server::connects_burst>(
         {64, "binds that are in flight before the first has shown kube-scheduler's certificate"},
         {16'384, "no more can be open at one time"})},
    {"max_bodies_mib",
     "Memory for the bodies of all connections together: received requests and answers that were "
     "not sent yet. A request that does not fit gets 503. The first 64 KiB of each are not "
     "counted, so binds always pass. Clients of one address (of IPv6 the /64) without a verified "
     "certificate get half at most, and leave as much as they hold.",
     number<&Server::max_bodies_mib>(
         {2, "never below twice max_body_mib"},
         {16'384, "a body grows by doubling: twice as much may be taken for a moment"})},
    {"drain_timeout_s",
     "How long requests under way may go on after SIGTERM, once no bind is and the Lease is "
     "released, which takes 15 s at most.",
     number<&Server::drain_timeout>(
         {1, "a bind under way needs time to learn its outcome"},
         {600,
          "a roll-out waits for it; Kubernetes kills after terminationGracePeriodSeconds, 45 in "
          "Tangram's chart, so raise that first"})},
    {"host_names",
     "Without TLS: the host names, besides localhost and IP addresses, under which clients on this "
     "machine or pod get pages and metrics. Other names get 421, which prevents DNS rebinding by "
     "web pages. For a proxy beside Tangram that forwards the Host header. The verbs accept any "
     "name.",
     name_list<&Server::host_names>()},
    {"plaintext",
     "true = listen beyond loopback without TLS: every client that reaches the address can bind "
     "pods, and the traffic can be read and changed on its way. For a trial, or behind a proxy "
     "that does TLS.",
     yes_or_no<&Server::plaintext>()},
    {"anyone_may_bind",
     "true = listen beyond loopback with TLS and without tls.client_ca: every client that reaches "
     "the address can bind pods. For networks in which only kube-scheduler reaches it.",
     yes_or_no<&Server::anyone_may_bind>()}};

using Tls = Config::Tls;
constexpr std::string_view kPath = "a path, or \"\" for none";
constexpr std::string_view kNames = "names, separated by commas, or \"\" for all";
constexpr Setting kTlsSettings[]{
    {"certificate",
     "The server's certificate, followed by its intermediate certificates; \"\" = plain HTTP.",
     free_text<&Tls::certificate, true>(kPath)},
    {"key", "The certificate's key, not encrypted.", free_text<&Tls::key, true>(kPath)},
    {"client_ca",
     "The authorities that sign client certificates. Only clients with such a certificate may call "
     "the verbs; they and clients of kubectl port-forward may read the pages that show pods. \"\" "
     "= every client may do both. Probes and scrapes need no certificate; for the webhook, see "
     "webhook.client_ca.",
     free_text<&Tls::client_ca, true>(kPath)},
    {"client_names",
     "Which of these clients may call the verbs: common names or DNS names, separated by commas; "
     "\"\" = all. Write system:kube-scheduler if client_ca is the cluster's own authority, which "
     "signs many certificates.",
     free_text<&Tls::client_names, true>(kNames)},
    {"handshake_timeout_s", "How long a TLS handshake may take.",
     number<&Tls::handshake_timeout>(
         {1, "two round trips"},
         {60, "a client that never finishes must not hold a connection for longer"})}};

constexpr Setting kWebhookSettings[]{
    {"listen", "Where to listen, with the certificate of tls; \"\" = no webhook.",
     endpoint<&Config::Webhook::listen>()},
    {"client_ca",
     "The authorities that sign API servers' client certificates. Only clients with such a "
     "certificate may call the webhook; probes need none. \"\" = every client may. An API server "
     "shows one only if it is configured to, so configure all of them first.",
     free_text<&Config::Webhook::client_ca, true>(kPath)},
    {"client_names",
     "Which of these clients may call the webhook: common names or DNS names, separated by commas; "
     "\"\" = all.",
     free_text<&Config::Webhook::client_names, true>(kNames)}};

constexpr std::array<std::string_view, 2> kMetricsAuthentication{"none", "token"};
constexpr Setting kMetricsSettings[]{
    {"listen",
     "Where to listen, with threads and connections of its own, so that probes are answered while "
     "the server is under attack; \"\" = on server.listen. It shows the names of nodes and cards "
     "and how full they are, no pods, and takes nothing but GET.",
     endpoint<&Config::Metrics::listen>()},
    {"authentication",
     "none = every client may read metrics, over plain HTTP; token = over TLS with the certificate "
     "of tls, clients whose bearer token the API server knows (TokenReview) and whose user may get "
     "the path (SubjectAccessReview). Health needs no token. See docs/monitoring.md.",
     choice<&Config::Metrics::authentication, kMetricsAuthentication>()}};

constexpr Section kAll[]{
    {"server", "The HTTP server that kube-scheduler calls.", kServerSettings},
    {"tls",
     "Certificates of the server and the webhook, and the clients that may call the verbs. All "
     "files are PEM and are reloaded within seconds after a change; see docs/tls.md.",
     kTlsSettings},
    {"webhook", "The admission webhook that the API server calls; see docs/tls.md.",
     kWebhookSettings},
    {"metrics",
     "Metrics and health, over plain HTTP unless tokens are required: /metrics, /metrics/cards, "
     "/healthz and /readyz.",
     kMetricsSettings}};

}  // namespace

constexpr std::span<const Section> kServerSections = kAll;

}  // namespace tangram::config
