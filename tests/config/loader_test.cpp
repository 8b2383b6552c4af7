#include "config/config.hpp"
#include "tests/config/values.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::config {
namespace {

using namespace std::chrono_literals;

constexpr const char* kLeast = "kube:\n  source: in-cluster\n";

Result<Config> load(const std::string& text) { return load_config(text, "t.yaml", {}); }

std::string message(const std::string& text) {
  const auto loaded = load(text);
  return loaded ? "(accepted)" : loaded.error().message;
}

TEST(LoadConfigTest, KeepsEveryDefaultThatTheFileDoesNotName) {
  const auto loaded = load(kLeast);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(values_of(*loaded), values_of({}));
}

TEST(LoadConfigTest, TakesEveryKindOfValue) {
  const auto loaded = load(
      "server: {listen: \"[::1]:0\", threads: 256, idle_timeout_s: 91}\n"
      "scheduler:\n"
      "  policy: binpack\n"
      "  assume_ttl_ms: 9000\n"
      "  default_isolation: time-slice\n"
      "kube:\n"
      "  source: local\n"
      "  cluster_file: \"my cluster.yaml\"\n"
      "bestfit: {cpu_milli: 96000, gpu_milli: 4000}\n"
      "foreign: {nvidia: true, gpushare_unit: MiB}\n"
      "log: {level: debug}\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  Config expected;
  expected.server.listen = {"::1", 0};
  expected.server.threads = 256;
  expected.server.idle_timeout = 91s;
  expected.scheduler.policy = "binpack";
  expected.scheduler.assume_ttl = 9000ms;
  expected.scheduler.default_isolation = model::Isolation::kTimeSlice;
  expected.kube.source = KubeSource::kLocal;
  expected.kube.cluster_file = "my cluster.yaml";
  expected.bestfit = {MilliCpu(96'000), MilliGpu(4000)};
  expected.foreign = {.nvidia = true, .gpushare_in_mib = true};
  expected.log.level = "debug";
  EXPECT_EQ(values_of(*loaded), values_of(expected));
}

TEST(LoadConfigTest, TakesASectionWhoseSettingsAreAllCommentedOut) {
  const auto loaded = load("server:\n  # threads: 4\nkube: {source: in-cluster}\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(values_of(*loaded), values_of({}));
}

TEST(LoadConfigTest, ReportsAllMistakesAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(message("server:\n"
                    "  threads: many\n"
                    "  max_body_mb: 8\n"
                    "binds: {workers: 4}\n"),
            "t.yaml:2:12: server.threads: \"many\" is not a whole number; write a whole number in "
            "0..256\n"
            "t.yaml:3:3: section server has no key \"max_body_mb\"; did you mean max_body_mib?\n"
            "t.yaml:4:1: there is no section \"binds\"; did you mean bind?\n"
            "t.yaml:1:1: kube.source is missing; write local, in-cluster or kubeconfig");
}

struct Refusal {
  std::string name;
  std::string text;     ///< kLeast is added unless the text has its own kube section
  std::string message;  ///< the whole of it
};

void PrintTo(const Refusal& row, std::ostream* out) { *out << row.name; }

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, NamesThePlaceTheMistakeAndTheRemedy) {
  const Refusal& row = GetParam();
  const bool whole = row.text.find("kube") != std::string::npos;
  EXPECT_EQ(message(whole ? row.text : row.text + kLeast), row.message);
}

const std::vector<Refusal> kSyntax{
    {.name = "NoSourceInAnEmptyFile",
     .text = "# kube\n",
     .message = "t.yaml:1:1: kube.source is missing; write local, in-cluster or kubeconfig"},
    {.name = "NoSourceInItsSection",
     .text = "kube:\n  page_size: 10\n",
     .message = "t.yaml:1:1: kube.source is missing; write local, in-cluster or kubeconfig"},
    {.name = "RepeatedSection",
     .text = "log: {level: info}\nlog: {level: debug}\n",
     .message = "t.yaml:2:1: key \"log\" stands twice; write it once"},
    {.name = "RepeatedKey",
     .text = "log:\n  level: info\n  level: debug\n",
     .message = "t.yaml:3:3: key \"level\" stands twice; write it once"},
    {.name = "SecondDocument",
     .text = "kube: {source: in-cluster}\n---\nlog: {level: info}\n",
     .message = "t.yaml:2:1: something follows that is no part of the document before it; write "
                "one document, without --- and without stray commas or brackets"},
    {.name = "StrayCommaBeforeEverything",
     .text = ",\nkube: {source: in-cluster}\n",
     .message = "t.yaml:1:1: something follows that is no part of the document before it; write "
                "one document, without --- and without stray commas or brackets\n"
                "t.yaml:1:1: kube.source is missing; write local, in-cluster or kubeconfig"},
    {.name = "List",
     .text = "[kube]\n",
     .message = "t.yaml:1:1: the file is not a mapping; write sections such as \"server:\"\n"
                "t.yaml:1:1: kube.source is missing; write local, in-cluster or kubeconfig"},
    {.name = "SectionThatIsAValue",
     .text = "log: debug\n",
     .message = "t.yaml:1:6: section log is not a mapping; write its settings below it, indented, "
                "as key: value"},
    {.name = "NothingLikeAnySection",
     .text = "zzzzzzzz: {a: 1}\n",
     .message =
         "t.yaml:1:1: there is no section \"zzzzzzzz\"; write server, tls, webhook, "
         "metrics, scheduler, bind, kube, leader_election, eviction, broken_cards, "
         "card_preemption, defrag, grants, fragmentation, bestfit, admission, foreign or log"},
    {.name = "KeyOfAnotherSection",
     .text = "server:\n  workers: 4\n",
     .message = "t.yaml:2:3: section server has no key \"workers\"; did you mean bind.workers?"},
    {.name = "NothingLikeAnyKey",
     .text = "bestfit:\n  zzzzzzzz: 4\n",
     .message =
         "t.yaml:2:3: section bestfit has no key \"zzzzzzzz\"; write cpu_milli or gpu_milli"},
};

const std::vector<Refusal> kValues{
    {.name = "BelowTheBound",
     .text = "server:\n  idle_timeout_s: 90\n",
     .message =
         "t.yaml:2:19: server.idle_timeout_s: 90 is below 91 (Go reuses idle connections for 90 s "
         "and fails a request that meets a closed one); write a whole number in 91..3600"},
    {.name = "AboveTheBound",
     .text = "fragmentation:\n  coverage_percent: 101\n",
     .message = "t.yaml:2:21: fragmentation.coverage_percent: 101 is above 100 (all of them); "
                "write a whole number in 1..100"},
    {.name = "NumberAsText",
     .text = "bind:\n  workers: \"8\"\n",
     .message =
         "t.yaml:2:12: bind.workers: \"8\" is a text; write the number without quotes or tags"},
    {.name = "Fraction",
     .text = "bind: {workers: 1.5}\n",
     .message = "t.yaml:1:17: bind.workers: \"1.5\" is not a whole number; write a whole number in "
                "1..256"},
    {.name = "BeyondSixtyFourBits",
     .text = "bind: {workers: 99999999999999999999}\n",
     .message = "t.yaml:1:17: bind.workers: \"99999999999999999999\" is not a whole number; write "
                "a whole number in 1..256"},
    {.name = "ListForANumber",
     .text = "bind: {workers: [8]}\n",
     .message = "t.yaml:1:17: bind.workers is not a single value; write a whole number in 1..256, "
                "or remove the line for the default"},
    {.name = "NoValue",
     .text = "log:\n  level:\n",
     .message = "t.yaml:2:3: log.level has no value; write debug, info, warn or error, or remove "
                "the line for the default"},
    {.name = "UnknownChoice",
     .text = "scheduler: {default_isolation: MPS}\n",
     .message = "t.yaml:1:32: scheduler.default_isolation: \"MPS\" is not allowed; write mps, "
                "time-slice or none"},
    {.name = "UnknownLevel",
     .text = "log: {level: loud}\n",
     .message =
         "t.yaml:1:14: log.level: \"loud\" is not allowed; write debug, info, warn or error"},
    {.name = "UnknownSource",
     .text = "kube: {source: memory}\n",
     .message = "t.yaml:1:16: kube.source: \"memory\" is not allowed; write local, in-cluster or "
                "kubeconfig"},
    {.name = "NoPolicy",
     .text = "scheduler: {policy: \"\"}\n",
     .message = "t.yaml:1:21: scheduler.policy: \"\" is not allowed; write the name of a policy"},
    {.name = "ATaintWithItsEffect",
     .text = "admission: {tolerations: \"nvidia.com/gpu:NoSchedule\"}\n",
     .message = "t.yaml:1:26: admission.tolerations: \"nvidia.com/gpu:NoSchedule\" is not allowed; "
                "write keys with one comma between, without values, effects and spaces, or \"\""},
};

const std::vector<Refusal> kContradictions{
    {.name = "BookingShorterThanItsBind",
     .text = "scheduler: {assume_ttl_ms: 5000}\nbind: {timeout_ms: 5000}\n",
     .message = "t.yaml:2:20: bind.timeout_ms is not below half of scheduler.assume_ttl_ms, 2500 "
                "ms: assumed allocations would expire during their binds; write less, or raise "
                "scheduler.assume_ttl_ms"},
    {.name = "RequestShorterThanItsBind",
     .text = "server:\n  request_timeout_s: 5\nbind:\n  timeout_ms: 5000\n",
     .message =
         "t.yaml:4:15: bind.timeout_ms is not below server.request_timeout_s, 5000 ms: binds would "
         "be cut off before their answer; write less, or raise server.request_timeout_s"},
    {.name = "DrainShorterThanABind",
     .text = "server:\n  drain_timeout_s: 3\n",
     .message = "t.yaml:2:20: bind.timeout_ms is above server.drain_timeout_s, 3000 ms: a restart "
                "would cut off binds in flight; write less, or raise server.drain_timeout_s"},
    {.name = "LocalWithoutAFile",
     .text = "kube:\n  source: local\n",
     .message = "t.yaml:2:11: kube.cluster_file is missing, and kube.source: local needs it; write "
                "the path of a YAML file with the cluster's nodes"},
    {.name = "FileWithoutLocal",
     .text = "kube:\n  source: in-cluster\n  cluster_file: c.yaml\n",
     .message = "t.yaml:3:17: kube.cluster_file is read with kube.source: local alone; write \"\", "
                "or kube.source: local"},
    {.name = "KubeconfigWithoutItsSource",
     .text = "kube:\n  source: in-cluster\n  kubeconfig: k\n",
     .message = "t.yaml:3:15: kube.kubeconfig is read with kube.source: kubeconfig alone; write "
                "\"\", or kube.source: kubeconfig"},
    {.name = "ContextWithoutItsSource",
     .text = "kube:\n  source: in-cluster\n  context: c\n",
     .message = "t.yaml:3:12: kube.context is read with kube.source: kubeconfig alone; write \"\", "
                "or kube.source: kubeconfig"},
    {.name = "LearnsLessOftenThanItForgets",
     .text = "fragmentation: {learn_window_pods: 999}\n",
     .message =
         "t.yaml:1:36: fragmentation.relearn_every_pods is above fragmentation.learn_window_pods, "
         "999: pods would be forgotten before they are learned from; write at most that"},
    {.name = "KeyThatNobodyKnows",
     .text = "grants: {signing_key: k}\n",
     .message = "t.yaml:1:23: grants.signing_key is given, and grants.public_keys is missing; "
                "write there the path of the public keys that the agents have"},
    {.name = "KnownKeysOfNobody",
     .text = "grants:\n  public_keys: k\n",
     .message = "t.yaml:2:16: grants.signing_key is missing, and grants.public_keys is given; "
                "write the path of the private key, or leave both out"},
    {.name = "RequiredOfOthersAlone",
     .text = "grants: {required: true}\n",
     .message = "t.yaml:1:20: grants.required is true, and grants.signing_key is missing: no grant "
                "of its own would count; write false, or a grants.signing_key"},
    {.name = "OpenToTheNetwork",
     .text = "server: {listen: '0.0.0.0:9898'}\n",
     .message = "t.yaml:1:18: server.listen is beyond loopback and has no TLS: every client that "
                "reaches it could bind pods; write the paths of a certificate and its key into "
                "tls.certificate and tls.key, or allow it with server.plaintext: true"},
    {.name = "OpenToAnyone",
     .text = "server: {listen: '0.0.0.0:9898'}\ntls: {certificate: c, key: k}\n",
     .message = "t.yaml:1:18: server.listen is beyond loopback and accepts unauthenticated "
                "clients: every client that reaches it could bind pods; write the path of the "
                "authority that signs kube-scheduler's certificate into tls.client_ca, or allow it "
                "with server.anyone_may_bind: true"},
    {.name = "PlainAndNotPlain",
     .text = "server: {plaintext: true}\ntls: {certificate: c, key: k}\n",
     .message = "t.yaml:1:21: server.plaintext is true and tls.certificate is given, so the server "
                "would not be plain; leave out one of them"},
    {.name = "CertificateWithoutKey",
     .text = "tls: {certificate: c}\n",
     .message = "t.yaml:1:20: tls.key is missing, and tls.certificate is of no use without it; "
                "write the path of its key"},
    {.name = "KeyWithoutCertificate",
     .text = "tls: {key: k}\n",
     .message = "t.yaml:1:12: tls.key is given without tls.certificate; write the certificate's "
                "path there, or leave out the key"},
    {.name = "ClientCaWithoutCertificate",
     .text = "tls: {client_ca: c}\n",
     .message = "t.yaml:1:18: tls.client_ca is given without tls.certificate, and clients show "
                "certificates over TLS alone; write the server's certificate there, or leave out "
                "the client CA"},
    {.name = "NamesThatNobodyVouchesFor",
     .text = "tls: {certificate: c, key: k, client_names: a}\n",
     .message = "t.yaml:1:45: tls.client_names is given without tls.client_ca, so names of clients "
                "cannot be verified; write the path of the authority that signs clients there, or "
                "leave out the names"},
    {.name = "WebhookWithoutCertificate",
     .text = "webhook: {listen: '127.0.0.1:9443'}\n",
     .message = "t.yaml:1:19: webhook.listen is given without tls.certificate, and the API server "
                "calls webhooks over TLS alone; write the certificate's path there, or \"\" here"},
    {.name = "ReviewersOfNoWebhook",
     .text = "webhook: {client_ca: a}\n",
     .message = "t.yaml:1:22: webhook.client_ca is given without webhook.listen, so there is no "
                "webhook that would verify clients; write its address there, or leave out the "
                "client CA"},
    {.name = "ReviewersThatNobodyVouchesFor",
     .text = "tls: {certificate: c, key: k}\nwebhook: {listen: '127.0.0.1:9443', client_names: a}"
             "\n",
     .message = "t.yaml:2:51: webhook.client_names is given without webhook.client_ca, so names of "
                "clients cannot be verified; write the path of the authority that signs API "
                "servers' certificates there, or leave out the names"},
    {.name = "TokensInPlainText",
     .text = "metrics: {listen: '127.0.0.1:9090', authentication: token}\n",
     .message = "t.yaml:1:53: metrics.authentication is token, and without tls.certificate tokens "
                "would be sent in plain text; write the certificate's path there, or none here"},
    {.name = "TokensOfNoListener",
     .text = "tls: {certificate: c, key: k}\nmetrics: {authentication: token}\n",
     .message = "t.yaml:2:27: metrics.authentication is token, and metrics have no listener; write "
                "its address into metrics.listen, or none here"},
    {.name = "NoRoomForOneBody",
     .text = "server: {max_bodies_mib: 16}\n",
     .message = "t.yaml:1:26: server.max_bodies_mib is below twice server.max_body_mib, 64: the "
                "largest request would never fit; write at least that"},
    // A refused value leaves the default in place, which contradicts nothing.
    {.name = "NoContradictionWithARefusedValue",
     .text = "scheduler: {assume_ttl_ms: 1}\nleader_election: {enabled: false}\nbind: {timeout_ms: "
             "29000}\nserver: {drain_timeout_s: 30}\n",
     .message =
         "t.yaml:1:28: scheduler.assume_ttl_ms: 1 is below 5000 (kube-scheduler waits 5 s for a "
         "bind by default; before that it is in flight); write a whole number in 5000..600000"},
};

const auto kRowName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Syntax, RefusalTest, testing::ValuesIn(kSyntax), kRowName);
INSTANTIATE_TEST_SUITE_P(Values, RefusalTest, testing::ValuesIn(kValues), kRowName);
INSTANTIATE_TEST_SUITE_P(Contradictions, RefusalTest, testing::ValuesIn(kContradictions), kRowName);

class BrokenYamlTest : public testing::TestWithParam<std::string> {};

// The words after "not YAML" are the library's; the place and the remedy are ours.
TEST_P(BrokenYamlTest, IsRefusedWithItsPlace) {
  const std::string text = message(GetParam());
  EXPECT_TRUE(text.starts_with("t.yaml:")) << text;
  EXPECT_NE(text.find(": not YAML: "), std::string::npos) << text;
  EXPECT_NE(text.find("; write a section's name and a colon"), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Texts, BrokenYamlTest,
                         testing::Values("server: {", "a: b: c", "log: \"info", "\tlog: 1",
                                         "kube: *nowhere", "log: [}]"));

TEST(BrokenYamlTest, DeepNestingIsRefusedAndDoesNotOverflowTheStack) {
  const std::string deep = "log: " + std::string(100'000, '[');
  EXPECT_NE(message(deep).find("not YAML: "), std::string::npos);
}

TEST(ListenTest, BeyondLoopbackWithTlsOrOnPurpose) {
  const std::string open = std::string(kLeast) + "server: {listen: '[::]:9898'";
  EXPECT_TRUE(load(open + "}\ntls: {certificate: c, key: k, client_ca: a}\n"));
  EXPECT_TRUE(load(open + ", anyone_may_bind: true}\ntls: {certificate: c, key: k}\n"));
  EXPECT_TRUE(load(open + ", plaintext: true}\n"));
  EXPECT_FALSE(load(open + "}\n"));
  EXPECT_TRUE(load(std::string(kLeast) + "metrics: {listen: '0.0.0.0:9090'}\n"));
}

TEST(ListenTest, KnowsLoopback) {
  for (const char* address : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback({address, 1})) << address;
  }
  for (const char* address : {"0.0.0.0", "10.0.0.1", "::", "::ffff:10.0.0.1", "128.0.0.1"}) {
    EXPECT_FALSE(is_loopback({address, 1})) << address;
  }
}

TEST(ListenTest, OfAnOptionalListenerMayBeEmpty) {
  const auto loaded =
      load(std::string(kLeast) + "metrics: {listen: '127.0.0.1:9090'}\nwebhook: {listen: ''}\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->metrics.listen, (Endpoint{"127.0.0.1", 9090}));
  EXPECT_EQ(loaded->webhook.listen, std::nullopt);
  EXPECT_EQ(message("metrics: {listen: here}\nkube: {source: in-cluster}\n"),
            "t.yaml:1:19: metrics.listen: \"here\" is not allowed; write an IP address and a port, "
            "as in 127.0.0.1:9898, 0.0.0.0:9898 or [::1]:9898; or \"\"");
}

struct Address {
  std::string name;
  std::string text;
  bool allowed;
};

void PrintTo(const Address& row, std::ostream* out) { *out << row.name; }

class AddressTest : public testing::TestWithParam<Address> {};

TEST_P(AddressTest, TakesNumericAddressesWithAPortOnly) {
  const Address& row = GetParam();
  const auto loaded =
      load(std::string(kLeast) + "server: {listen: '" + row.text + "', plaintext: true}\n");
  ASSERT_EQ(loaded.has_value(), row.allowed);
  if (row.allowed) {
    EXPECT_EQ(to_string(loaded->server.listen), row.text);
  } else {
    EXPECT_NE(loaded.error().message.find("; write an IP address and a port, as in"),
              std::string::npos)
        << loaded.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Addresses, AddressTest,
    testing::Values(
        Address{"V4", "0.0.0.0:9898", true}, Address{"AnyFreePort", "127.0.0.1:0", true},
        Address{"LastPort", "127.0.0.1:65535", true}, Address{"V6", "[::1]:80", true},
        Address{"PortTooLarge", "127.0.0.1:65536", false},
        Address{"NegativePort", "127.0.0.1:-1", false}, Address{"NoPort", "127.0.0.1", false},
        Address{"EmptyPort", "127.0.0.1:", false}, Address{"NoAddress", ":9898", false},
        Address{"HostName", "localhost:80", false}, Address{"V6WithoutBrackets", "::1:80", false},
        Address{"V4InBrackets", "[127.0.0.1]:80", false}, Address{"EmptyBrackets", "[]:80", false},
        Address{"Empty", "", false}),
    kRowName);

}  // namespace
}  // namespace tangram::config
