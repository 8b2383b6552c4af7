// Namespaces with the label tangram.dev/admission: enabled: whatever happens to the webhook,
// nothing is admitted that would see a card that it was not given.

#include "base/file.hpp"
#include "http/client.hpp"
#include "tests/e2e/fixture.hpp"
#include "tests/e2e/injector.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/raw_json.hpp"
#include "tests/e2e/scripted_webhook.hpp"
#include "tests/e2e/webhook.hpp"

#include <array>
#include <atomic>
#include <iostream>
#include <list>
#include <numeric>
#include <optional>
#include <thread>

namespace tangram::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPods = "/api/v1/namespaces/closed/pods";

/// What stands between a pod and the node's cards.
enum class Guard : std::uint8_t {
  kWebhook,  ///< webhook.yaml alone: Kubernetes 1.28 and 1.29
  kByLabel,  ///< webhook-by-label.yaml alone: older
  kBoth,     ///< webhook.yaml and policies.yaml: 1.30 and newer
  kPolicy,   ///< policies.yaml alone: the registrations were deleted
};

// ---- What a container would see, by a rule that shares no code with the webhook.

bool is_hidden(const rapidjson::Value& container) {
  if (!container.HasMember("env")) return false;
  bool hidden = false;
  for (const auto& entry : container["env"].GetArray()) {
    if (text_of(entry, "name") != "NVIDIA_VISIBLE_DEVICES") continue;
    const std::string value = text_of(entry, "value");
    hidden = !entry.HasMember("valueFrom") && (value == "void" || value == "none" || value.empty());
  }
  return hidden;
}

/// Names of the containers that could see every card, with a space between.
std::string seeing(const rapidjson::Value& pod) {
  std::string names;
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    if (!pod["spec"].HasMember(list)) continue;
    for (const auto& container : pod["spec"][list].GetArray()) {
      if (!is_hidden(container)) names += text_of(container, "name") + " ";
    }
  }
  return names;
}

// ---- Pods that would see cards.

struct Attempt {
  const char* name;
  const char* metadata;  ///< beside the name
  const char* spec;
};

constexpr Attempt kAttempts[] = {
    {"plain", "", R"("containers":[{"name":"main","image":"i"}])"},
    {"init", "",
     R"("containers":[{"name":"main","image":"i"}],"initContainers":[{"name":"first","image":"i"}])"},
    {"all", "",
     R"("containers":[{"name":"main","image":"i","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}]}])"},
    {"last-wins", "",
     R"("containers":[{"name":"main","image":"i","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"},)"
     R"({"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}]}])"},
    {"foreign", "",
     R"("nodeName":"gpu-1","containers":[{"name":"main","image":"i","resources":{"limits":)"
     R"({"nvidia.com/mig-zzz":"1"}}}])"},
    {"amount", "",
     R"("containers":[{"name":"main","image":"i","resources":{"limits":{"nvidia.com/gpumem":"3000"}}}])"},
    {"counted", "",
     R"("containers":[{"name":"main","image":"i","resources":{"limits":{"aliyun.com/gpu-count":"1"}}}])"},
    {"memory", "",
     R"("containers":[{"name":"main","image":"i","resources":{"limits":{"tencent.com/vcuda-memory":"1"}}}])"},
    {"cores", "",
     R"("containers":[{"name":"main","image":"i","resources":{"limits":{"koordinator.sh/gpu-core":"1"}}}])"},
    {"uncounted", "",
     R"("containers":[{"name":"main","image":"i","resources":{"limits":{"nvidia.com/gpu":"10E"}}}])"},
    {"wraps", "",
     R"("containers":[{"name":"main","image":"i","resources":{"limits":{"nvidia.com/gpu":"9223372036854775807"}}},)"
     R"({"name":"second","image":"i","resources":{"limits":{"nvidia.com/gpu":"9223372036854775807"}}}])"},
    {"wraps-beside-one", "",
     R"("containers":[{"name":"main","image":"i","resources":{"limits":{"nvidia.com/gpu":"1"}}},)"
     R"({"name":"second","image":"i","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}],)"
     R"("resources":{"limits":{"nvidia.com/gpu":"9223372036854775807"}}}])"},
    {"uncounted-beside-one", "",
     R"("containers":[{"name":"main","image":"i","resources":{"limits":{"nvidia.com/gpu":"1"}}},)"
     R"({"name":"second","image":"i","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}],)"
     R"("resources":{"limits":{"nvidia.com/gpu":"10E"}}}])"},
    {"slots", "",
     R"("containers":[{"name":"main","image":"i","resources":{"limits":{"tangram.dev/gpu-slot":"10E"}}}])"},
    {"slot", "",
     R"("nodeName":"gpu-1","containers":[{"name":"main","image":"i","resources":{"limits":)"
     R"({"tangram.dev/gpu-slot":"1"}}}])"},
    {"beside-a-request", R"(,"annotations":{"tangram.dev/gpu-fraction":"0.5"})",
     R"("containers":[{"name":"main","image":"i","resources":{"limits":{"tangram.dev/gpu-slot":"1"}},)"
     R"("env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}]},{"name":"side","image":"i"}])"}};

std::string manifest(const std::string& name, const Attempt& attempt) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + "\"" +
         attempt.metadata + R"(},"spec":{"schedulerName":"nobody",)" + attempt.spec + "}}";
}

class ClosedTest : public E2eTest {
 protected:
  ClosedTest() {
    cluster_.ensure("/api/v1/namespaces",
                    R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"closed"}})");
    label("null");
    remove_pods();
    // Before anything guards the namespace. A controller creates its service account first.
    await_admission("victim", false);
    label("\"enabled\"");
  }
  ~ClosedTest() override {
    applied_.clear();
    label("null");
    remove_pods();
  }

  void label(const std::string& value) {
    cluster_.patch("/api/v1/namespaces/closed",
                   R"({"metadata":{"labels":{"tangram.dev/admission":)" + value + "}}}");
  }

  void remove_pods() {
    kubectl({"delete", "pods", "--all", "--namespace", "closed", "--force", "--grace-period=0"});
  }

  kube::Response post(const std::string& pod, bool dry_run) {
    kube::Request request;
    request.method = kube::Method::kPost;
    request.path = kPods;
    if (dry_run) request.query["dryRun"] = "All";
    request.body = pod;
    request.timeout = 60s;
    return api_->call(request).value();
  }

  kube::Response debug(const std::string& container) {
    kube::Request request;
    request.method = kube::Method::kPatch;
    request.path = std::string(kPods) + "/victim/ephemeralcontainers";
    request.query["dryRun"] = "All";
    request.content_type = "application/strategic-merge-patch+json";
    request.body = R"({"spec":{"ephemeralContainers":[)" + container + "]}}";
    request.timeout = 60s;
    return api_->call(request).value();
  }

  /// Blocks until a plain pod of the namespace is admitted: the API server does not report that it
  /// has read a label's end.
  void await_admission(const std::string& name, bool dry_run) {
    const auto deadline = TimePoint::clock::now() + 30s;
    while (true) {
      const auto answer = post(manifest(name, kAttempts[0]), dry_run);
      if (answer.status == 201) return;
      if (TimePoint::clock::now() > deadline)
        throw std::runtime_error("no pod can be created: " + answer.body);
      std::this_thread::sleep_for(50ms);
    }
  }

  /// Blocks until a pod of the namespace is refused with these words: the API server does not
  /// report that it has read registrations and policies.
  void await_refusal(const std::string& words, const Attempt& attempt = kAttempts[0]) {
    const auto deadline = TimePoint::clock::now() + 30s;
    std::string last;
    while (TimePoint::clock::now() < deadline) {
      const auto answer = post(manifest("probe", attempt), true);
      last = answer.body;
      if (answer.status >= 400 && last.find(words) != std::string::npos) return;
      std::this_thread::sleep_for(50ms);
    }
    throw std::runtime_error("still not refused with " + words + ": " + last);
  }

  /// @param port  of the webhook
  void install(Guard guard, int port) {
    if (guard == Guard::kBoth || guard == Guard::kPolicy) {
      applied_.emplace_back(cluster_, "deploy/webhook/policies.yaml");
      await_refusal("tangram-hidden-cards");
    }
    if (guard == Guard::kPolicy) return;
    const char* file = guard == Guard::kByLabel ? "webhook-by-label.yaml" : "webhook.yaml";
    applied_.emplace_back(cluster_, std::string("deploy/webhook/") + file, on_loopback(port));
    await_refusal("failed calling webhook");
  }

  /// Tries all pods in dry runs. @returns those that were admitted and would see cards
  std::string seeing_pods() {
    std::array<std::string, std::size(kAttempts)> found;
    in_parallel(static_cast<int>(found.size()), [&](int i) {
      const auto place = static_cast<std::size_t>(i);
      const auto answer = post(manifest(kAttempts[place].name, kAttempts[place]), true);
      if (answer.status != 201) return;
      const std::string names = seeing(parse_json(answer.body));
      if (!names.empty()) found.at(place) = kAttempts[place].name + (": " + names);
    });
    return std::accumulate(found.begin(), found.end(), std::string());
  }

  std::string seeing_debuggers() {
    constexpr const char* kEnv[] = {"",
                                    R"(,"env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}])"};
    std::array<std::string, std::size(kEnv)> found;
    in_parallel(static_cast<int>(found.size()), [&](int i) {
      const auto place = static_cast<std::size_t>(i);
      const auto answer =
          debug(std::string(R"({"name":"debugger","image":"i")") + kEnv[place] + "}");
      if (answer.status != 200) return;
      const std::string names = seeing(parse_json(answer.body));
      if (names.find("debugger") != std::string::npos) found.at(place) = names;
    });
    return std::accumulate(found.begin(), found.end(), std::string());
  }

  /// Tries a plain pod until the injector is called for it. @returns the answer
  kube::Response await_call(const Injector& injector) {
    const auto deadline = TimePoint::clock::now() + 30s;
    while (TimePoint::clock::now() < deadline) {
      auto answer = post(manifest("plain", kAttempts[0]), true);
      if (injector.calls() > 0) return answer;
      std::this_thread::sleep_for(50ms);  // the API server does not report that it has read it
    }
    throw std::runtime_error("the injector is not called");
  }

  std::list<Applied> applied_;
};

// ---- Every failure.

struct Row {
  const char* name = nullptr;
  std::optional<Failure> failure;  ///< nothing = it does not listen
};

constexpr Row kFailures[] = {{"Down", std::nullopt},
                             {"Reset", Failure::kReset},
                             {"NoTls", Failure::kNoTls},
                             {"Slow", Failure::kSlow},
                             {"Stalls", Failure::kStalls},
                             {"Answers400", Failure::k400},
                             {"Answers403", Failure::k403},
                             {"Answers413", Failure::k413},
                             {"Answers429", Failure::k429},
                             {"Answers500", Failure::k500},
                             {"Answers503", Failure::k503},
                             {"Empty", Failure::kEmpty},
                             {"Garbage", Failure::kGarbage},
                             {"NoResponse", Failure::kNoResponse},
                             {"OtherUid", Failure::kOtherUid},
                             {"Huge", Failure::kHuge},
                             {"PatchesNonsense", Failure::kPatchesNonsense},
                             {"AllowsUnchanged", Failure::kAllows}};

class ClosedByTest : public ClosedTest, public ::testing::WithParamInterface<Guard> {};

TEST_P(ClosedByTest, EveryFailureOfTheWebhookAdmitsNothingThatWouldSeeACard) {
  std::optional<ScriptedWebhook> webhook(Failure::k500);
  install(GetParam(), webhook->port());
  // Without a policy a webhook that lies has the last word: nothing else looks at the outcome.
  const bool is_checked = GetParam() == Guard::kBoth || GetParam() == Guard::kPolicy;
  int refused = 0;
  for (auto row = std::rbegin(kFailures); row != std::rend(kFailures); ++row) {
    SCOPED_TRACE(row->name);
    if (row->failure)
      webhook->fail_by(*row->failure);
    else
      webhook.reset();
    const int before = webhook ? webhook->calls() : 0;
    const bool lies = row->failure == Failure::kAllows && !is_checked;
    EXPECT_EQ(!seeing_pods().empty(), lies) << seeing_pods();
    EXPECT_EQ(!seeing_debuggers().empty(), lies) << seeing_debuggers();
    if (webhook && GetParam() != Guard::kPolicy) {
      EXPECT_GT(webhook->calls(), before);
    }
    if (!lies) ++refused;
  }
  Figures("closed_by_failures").add("failures", refused);
}

std::string name_of(const ::testing::TestParamInfo<Guard>& guard) {
  constexpr const char* kNames[] = {"Webhook", "ByLabel", "Both", "Policy"};
  return kNames[static_cast<std::size_t>(guard.param)];
}

INSTANTIATE_TEST_SUITE_P(Guards, ClosedByTest,
                         ::testing::Values(Guard::kWebhook, Guard::kByLabel, Guard::kBoth,
                                           Guard::kPolicy),
                         name_of);

// ---- Without a failure.

TEST_F(ClosedTest, PodsThatHideTheCardsPassThePolicyAlone) {
  install(Guard::kPolicy, 0);
  for (const char* container :
       {R"("env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}])",
        R"("env":[{"name":"NVIDIA_VISIBLE_DEVICES"}])",
        R"("resources":{"limits":{"nvidia.com/gpu":"1"}})",
        R"("resources":{"limits":{"nvidia.com/gpu":"1","nvidia.com/gpumem":"3000"}})",
        R"("resources":{"limits":{"aliyun.com/gpu-mem":"3"}})",
        R"("resources":{"limits":{"tangram.dev/gpu-slot":"1"}})"}) {
    const Attempt attempt{"honest", "", ""};
    std::string pod = manifest("honest", attempt);
    const std::string end = R"("schedulerName":"nobody",)";
    pod.insert(pod.find(end) + end.size(),
               R"("containers":[{"name":"main","image":"i",)" + std::string(container) + "}]");
    const auto answer = post(pod, true);
    EXPECT_EQ(answer.status, 201) << container << "\n" << answer.body;
  }
  EXPECT_EQ(debug(R"({"name":"debug","image":"i","env":[{"name":"NVIDIA_VISIBLE_DEVICES",)"
                  R"("value":"void"}]})")
                .status,
            200);
  EXPECT_EQ(seeing_debuggers(), "") << "beside one that was there before";
}

TEST_F(ClosedTest, NoPolicyHasTypeWarnings) {
  install(Guard::kPolicy, 0);
  for (const std::string policy :
       {"tangram-hidden-cards", "tangram-card-amounts", "tangram-grants", "tangram-bindings",
        "tangram-bound-requests", "tangram-extender", "tangram-extender-bindings"}) {
    const auto read = parse_json(cluster_.get(
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/" + policy));
    if (!read.HasMember("status") || !read["status"].HasMember("typeChecking")) continue;
    EXPECT_FALSE(read["status"]["typeChecking"].HasMember("expressionWarnings")) << policy;
  }
}

/// A pod of any namespace would make room on its node for pods that request cards which the node
/// does not have.
TEST_F(ClosedTest, NoSumOfCardsWrapsWithoutTheLabelEither) {
  install(Guard::kPolicy, 0);
  label("null");
  await_admission("probe", true);
  const auto spec = [](const std::string& amount) {
    return R"("containers":[{"name":"main","image":"i","resources":{"limits":{"nvidia.com/gpu":")" +
           amount + R"("}}}])";
  };
  const auto answer = [&](const std::string& amount) {
    const std::string text = spec(amount);
    return post(manifest("sum", Attempt{"sum", "", text.c_str()}), true);
  };
  const std::string first = spec("10E");
  await_refusal("write the number that the container needs", Attempt{"probe", "", first.c_str()});
  for (const char* amount : {"4611686018427387904", "10E", "9300000001G", "9300e4294967311"}) {
    const auto wraps = answer(amount);
    EXPECT_EQ(wraps.status, 403) << wraps.body;
    EXPECT_THAT(wraps.body, HasSubstr("write the number that the container needs"));
  }
  EXPECT_EQ(answer("10T").status, 201);
}

TEST_F(ClosedTest, SystemNamespacesStartWithoutTheWebhook) {
  const std::string label = R"({"metadata":{"labels":{"tangram.dev/admission":)";
  for (const char* ns : {"kube-system", "tangram-system"}) {
    cluster_.patch("/api/v1/namespaces/" + std::string(ns), label + "\"enabled\"}}}");
  }
  std::optional<ScriptedWebhook> webhook(Failure::k500);
  install(Guard::kBoth, webhook->port());
  for (const char* ns : {"kube-system", "tangram-system"}) {
    const auto made = kubectl({"create", "--dry-run=server", "--namespace", ns, "-f", "-"},
                              manifest("own", kAttempts[0]));
    EXPECT_TRUE(made.done()) << ns << ": " << made.text;
    cluster_.patch("/api/v1/namespaces/" + std::string(ns), label + "null}}}");
  }
}

// ---- Pods that the real webhook must not give up on.

/// A plain pod with `more` in its only container or its metadata.
std::string padded(const std::string& metadata, const std::string& container) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"large")" + metadata +
         R"(},"spec":{"schedulerName":"nobody","containers":[{"name":"main","image":"i")" +
         container + "}]}}";
}

constexpr const char* kVoid = R"({"name":"NVIDIA_VISIBLE_DEVICES","value":"void"})";

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// 1,000 containers, and the annotation that the LimitRanger plugin would write for them.
std::string crowd() {
  std::string more;
  for (int i = 1; i < 1'000; ++i)
    more += "},{\"name\":\"c" + std::to_string(i) + R"(","image":"i")";
  return padded(R"(,"annotations":{"kubernetes.io/limit-ranger":")" +
                    repeated("cpu limit for container main; ", 70'000) + "\"}",
                more);
}

TEST_F(ClosedTest, PodsThatAreHardToReadAreRefusedOrHidden) {
  Webhook webhook(cluster_, {});
  label("\"enabled\"");
  const std::string deep = repeated(R"({"f:a":)", 110) + "{}" + repeated("}", 110);
  const std::map<std::string, std::string> pods = {
      {"large texts", padded("", R"(,"args":[")" + std::string(1'400'000, '<') + "\"]")},
      {"control characters", padded("", R"(,"args":[")" + repeated(R"(\u0001)", 400'000) + "\"]")},
      {"deep managedFields",
       padded(R"(,"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1",)"
              R"("fieldsType":"FieldsV1","fieldsV1":)" +
                  deep + "}]",
              "")},
      {"a large annotation",
       padded(R"(,"annotations":{"a":")" + std::string(250'000, '<') + "\"}", "")},
      {"many containers", crowd()}};
  for (const auto& [name, pod] : pods) {
    SCOPED_TRACE(name);
    // By kubectl, since our own client does not read an answer of 8 MiB.
    const auto made = kubectl({"create", "--dry-run=server", "--namespace", "closed", "-o",
                               "jsonpath={.spec.containers[0].env}", "-f", "-"},
                              pod);
    std::cout << "--- " << name << ": " << (made.done() ? "admitted" : made.text.substr(0, 300))
              << "\n";
    if (made.done()) {
      EXPECT_THAT(made.text, HasSubstr(kVoid));
    }
  }
  const auto honest = post(manifest("plain", kAttempts[0]), true);
  ASSERT_EQ(honest.status, 201) << honest.body;
  EXPECT_EQ(seeing(parse_json(honest.body)), "");
}

// ---- Many clients.

/// Uploads to the webhook that do not end.
class StalledUploads {
 public:
  explicit StalledUploads(int port) : port_(static_cast<std::uint16_t>(port)) {
    const std::string some =
        "POST /admission/mutate HTTP/1.1\r\nHost: h\r\nContent-Length: 30000000\r\n\r\n" +
        std::string(std::size_t{8} << 20, ' ');
    // The webhook holds 80 MiB of one address.
    for (int i = 0; i < 20; ++i) {
      http::Client& client = uploads_.emplace_back(tls(), 2s);
      if (client.connect("127.0.0.1", port_)) static_cast<void>(client.send(some));
    }
  }

  /// Whether one more would be refused for lack of memory.
  [[nodiscard]] bool fill_the_webhook() const {
    http::Client client(tls(), 5s);
    if (!client.connect("127.0.0.1", port_)) return false;
    std::string large;
    large.resize(9'000'000, ' ');
    const auto answer = client.request("POST", "/admission/mutate", large);
    return answer && answer->status == 503;
  }

 private:
  static http::ClientTls tls() {
    return {.ca = read_file((webhook_certificates() / "ca.crt").string()).value(),
            .server_name = "127.0.0.1"};
  }

  std::uint16_t port_;
  std::list<http::Client> uploads_;
};

TEST_F(ClosedTest, AWebhookFullOfUploadsAdmitsNothingThatWouldSeeACard) {
  Webhook webhook(cluster_, {});
  const StalledUploads uploads(webhook.port());
  ASSERT_TRUE(uploads.fill_the_webhook());
  EXPECT_EQ(seeing_pods(), "");
  EXPECT_EQ(seeing_debuggers(), "");
  const auto plain = post(manifest("plain", kAttempts[0]), true);
  EXPECT_EQ(plain.status, 201) << "usual pods need no memory that counts: " << plain.body;
  EXPECT_TRUE(uploads.fill_the_webhook()) << "the webhook had room again";
}

TEST_F(ClosedTest, HostilePodsDoNotDelayOthers) {
  Webhook webhook(cluster_, {});
  const std::string hostile = crowd();
  std::atomic<bool> done = false;
  std::atomic<int> hostile_pods = 0;
  std::jthread others([&] {
    in_parallel(8, [&](int) {
      while (!done) {
        kubectl({"create", "--dry-run=server", "--namespace", "closed", "-f", "-"}, hostile);
        ++hostile_pods;
      }
    });
  });
  int admitted = 0;
  for (int i = 0; i < 50; ++i) {
    const auto plain = post(manifest("plain", kAttempts[0]), true);
    EXPECT_EQ(plain.status, 201) << plain.body;
    if (plain.status == 201 && seeing(parse_json(plain.body)).empty()) ++admitted;
  }
  done = true;
  others.join();
  EXPECT_EQ(admitted, 50);
  EXPECT_GT(hostile_pods, 0);
  Figures("closed_hostile_pods").add("admitted", admitted).add("hostile", hostile_pods);
}

TEST_F(ClosedTest, AContainerThatALaterWebhookAddsSeesNoCard) {
  Webhook webhook(cluster_, {});
  {
    const Injector injector(cluster_, "closed");
    const auto made = await_call(injector);
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_THAT(made.body, HasSubstr(R"("injected")"));
    EXPECT_EQ(seeing(parse_json(made.body)), "") << "Tangram's webhook was called again";
  }
  const Injector last(cluster_, "closed", Injector::Adds::kAgain);
  const auto made = await_call(last);
  EXPECT_EQ(made.status, 400);
  EXPECT_THAT(made.body, HasSubstr("another webhook added it after Tangram's"));
}

}  // namespace
}  // namespace tangram::e2e
