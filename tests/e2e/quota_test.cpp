// What requests count in quotas and limit ranges, on a real API server: the figures of
// docs/quota.md.

#include "tests/e2e/fixture.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/raw_json.hpp"
#include "tests/e2e/webhook.hpp"

#include <iostream>

namespace tangram::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMilli = "requests.tangram.dev/gpu-milli";
constexpr const char* kMemory = "requests.tangram.dev/gpu-mem-mib";

struct Counted {
  const char* name;
  StringMap gpu;  ///< annotations
  int milli;
  int mib;
};

/// The forms in docs/quota.md.
const std::vector<Counted>& forms() {
  static const std::vector<Counted> kForms = {
      {"fraction", {{"gpu-fraction", "0.5"}}, 500, 0},
      {"fractions",
       {{"gpu-fraction", "0.25"}, {"gpu-count", "2"}, {"gpu-isolation", "time-slice"}},
       500,
       0},
      {"memory", {{"gpu-mem", "8Gi"}}, 0, 8192},
      {"memory-and-compute", {{"gpu-mem", "8Gi"}, {"gpu-compute", "0.3"}}, 300, 8192},
      {"best-effort", {{"gpu-mem", "8Gi"}, {"gpu-compute", "0"}}, 0, 8192},
      {"memory-of-two",
       {{"gpu-mem", "4Gi"}, {"gpu-count", "2"}, {"gpu-isolation", "time-slice"}},
       0,
       8192},
      {"whole", {{"gpu-count", "2"}}, 2000, 0},
      {"burst",
       {{"gpu-mem", "8Gi"},
        {"gpu-mem-limit", "16Gi"},
        {"gpu-compute", "0.1"},
        {"gpu-compute-limit", "1"}},
       100,
       8192},
  };
  return kForms;
}

/// A namespace of its own, so that no quota affects another test.
class QuotaTest : public E2eTest {
 protected:
  QuotaTest() : webhook_(cluster_, {.settings = {}, .files = {"quota.yaml"}}) {
    kubectl({"delete", "namespace", ns_, "--ignore-not-found"});
    kubectl({"create", "namespace", ns_});
    // A controller makes the service account that pods need.
    const auto deadline = TimePoint::clock::now() + 20s;
    while (!kubectl({"--namespace", ns_, "get", "serviceaccount", "default"}).done() &&
           TimePoint::clock::now() < deadline) {}
  }
  ~QuotaTest() override {
    kubectl({"--namespace", ns_, "delete", "pods", "--all", "--grace-period=0", "--force"});
    kubectl({"delete", "namespace", ns_, "--wait=false"});
  }

  KubectlAnswer in_namespace(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), {"--namespace", ns_});
    return kubectl(arguments, input);
  }

  void set_quota(int milli, int mib) {
    const std::string quota =
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: gpu}\nspec:\n  hard:\n    " +
        std::string(kMilli) + ": " + std::to_string(milli) + "\n    " + kMemory + ": " +
        std::to_string(mib) + "\n";
    const auto applied = in_namespace({"apply", "-f", "-"}, quota);
    EXPECT_TRUE(applied.done()) << applied.text;
    // Until the controller has counted for the first time, every pod is refused.
    const auto deadline = TimePoint::clock::now() + 20s;
    while (used(kMilli) < 0 && TimePoint::clock::now() < deadline) {}
  }

  /// -1 = not counted yet.
  int used(const char* resource) {
    const auto quota =
        parse_json(cluster_.get("/api/v1/namespaces/" + ns_ + "/resourcequotas/gpu"));
    if (!quota.HasMember("status") || !quota["status"].HasMember("used")) return -1;
    const std::string text = text_of(quota["status"]["used"], resource);
    if (text.empty()) return -1;
    // The API server writes 2000 as "2k".
    return std::stoi(text) * (text.back() == 'k' ? 1000 : 1);
  }

  /// At most half a card.
  /// @param type  "Pod" or "Container"
  void set_limit_range(const std::string& type) {
    const auto applied = in_namespace(
        {"apply", "-f", "-"},
        "apiVersion: v1\nkind: LimitRange\nmetadata: {name: gpu}\nspec: {limits: [{type: " + type +
            ", max: {tangram.dev/gpu-milli: 500}}]}\n");
    EXPECT_TRUE(applied.done()) << applied.text;
  }

  KubectlAnswer create(const std::string& name, const StringMap& gpu) {
    PodSpec pod;
    pod.name = name;
    pod.gpu = gpu;
    pod.slot = false;
    return in_namespace({"create", "-f", "-"}, pod_json(pod));
  }

  const std::string ns_ = "quota";
  Webhook webhook_;
};

TEST_F(QuotaTest, EveryFormCountsWhatTheTableSays) {
  set_quota(100'000, 1'000'000);
  int milli = 0;
  int mib = 0;
  for (const Counted& form : forms()) {
    const auto created = create(form.name, form.gpu);
    ASSERT_TRUE(created.done()) << created.text;
    milli += form.milli;
    mib += form.mib;
    EXPECT_EQ(used(kMilli), milli) << form.name;
    EXPECT_EQ(used(kMemory), mib) << form.name;
  }
}

TEST_F(QuotaTest, RefusesThePodThatWouldExceedIt) {
  set_quota(1000, 10'000);
  EXPECT_TRUE(create("first", {{"gpu-fraction", "0.75"}}).done());
  const auto compute = create("second", {{"gpu-fraction", "0.5"}});
  std::cout << compute.text << std::flush;
  EXPECT_FALSE(compute.done());
  EXPECT_THAT(compute.text, HasSubstr("exceeded quota: gpu"));
  EXPECT_THAT(compute.text, HasSubstr("requests.tangram.dev/gpu-milli=500"));
  const auto memory = create("third", {{"gpu-mem", "16Gi"}});
  EXPECT_FALSE(memory.done());
  EXPECT_THAT(memory.text, HasSubstr("requests.tangram.dev/gpu-mem-mib=16384"));
  PodSpec plain;
  plain.name = "plain";
  plain.slot = false;
  EXPECT_TRUE(in_namespace({"create", "-f", "-"}, pod_json(plain)).done());
}

TEST_F(QuotaTest, TheStrictSwitchRefusesWhatWouldNotCount) {
  struct Switch {
    const char* value;
    bool milli;
    bool mib;
  };
  for (const Switch& strict : {Switch{"gpu-milli", true, false}, Switch{"gpu-mem-mib", false, true},
                               Switch{"both", true, true}}) {
    kubectl({"label", "--overwrite", "namespace", ns_,
             std::string("tangram.dev/quota=") + strict.value});
    for (const Counted& form : forms()) {
      const bool bursts = form.gpu.contains("gpu-mem-limit");
      const bool counts =
          !bursts && (!strict.milli || form.milli > 0) && (!strict.mib || form.mib > 0);
      const auto created = create(std::string(form.name) + "-" + strict.value, form.gpu);
      if (!counts)
        std::cout << "--- " << strict.value << " " << form.name << "\n"
                  << created.text << std::flush;
      EXPECT_EQ(created.done(), counts) << strict.value << " " << form.name << ": " << created.text;
      if (!counts) {
        EXPECT_THAT(created.text, HasSubstr("does not count in"));
        EXPECT_THAT(created.text, HasSubstr("write "));
      }
    }
    PodSpec plain;
    plain.name = std::string("plain-") + strict.value;
    plain.slot = false;
    EXPECT_TRUE(in_namespace({"create", "-f", "-"}, pod_json(plain)).done());
  }
}

TEST_F(QuotaTest, TheStrictSwitchRefusesAChangeThatWouldNotCount) {
  kubectl({"label", "namespace", ns_, "tangram.dev/quota=both"});
  const auto waiting = create("waiting", {{"gpu-mem", "1Gi"}, {"gpu-compute", "0.1"}});
  ASSERT_TRUE(waiting.done()) << waiting.text;
  EXPECT_TRUE(in_namespace({"label", "pod", "waiting", "team=a"}).done());
  const auto burst = in_namespace({"annotate", "pod", "waiting", "tangram.dev/gpu-mem-limit=80Gi"});
  EXPECT_FALSE(burst.done());
  EXPECT_THAT(burst.text, HasSubstr("does not count in"));
  const auto by_status =
      in_namespace({"patch", "pod", "waiting", "--subresource=status", "--patch",
                    R"({"metadata":{"annotations":{"tangram.dev/gpu-compute-limit":"1"}}})"});
  EXPECT_FALSE(by_status.done());
  EXPECT_THAT(by_status.text, HasSubstr("does not count in"));
}

TEST_F(QuotaTest, ALimitRangeBoundsOneContainer) {
  set_limit_range("Container");
  // Kubernetes has written the maximum into every container when the webhook sees the pod.
  for (const char* fraction : {"0.25", "0.5"}) {
    const auto less = create(std::string("less-") + fraction, {{"gpu-fraction", fraction}});
    EXPECT_TRUE(less.done()) << less.text;
  }
  const auto more = create("more", {{"gpu-fraction", "0.75"}});
  std::cout << "--- more\n" << more.text << std::flush;
  EXPECT_FALSE(more.done());
  EXPECT_THAT(more.text, HasSubstr("maximum tangram.dev/gpu-milli usage per Container is 500"));
  const auto plain = create("plain", {});
  EXPECT_TRUE(plain.done()) << plain.text;
}

TEST_F(QuotaTest, ALimitRangeBoundsOnePod) {
  set_limit_range("Pod");
  const auto less = create("less", {{"gpu-fraction", "0.25"}});
  EXPECT_TRUE(less.done()) << less.text;
  const auto more = create("more", {{"gpu-fraction", "0.75"}});
  std::cout << "--- more\n" << more.text << std::flush;
  EXPECT_FALSE(more.done());
  EXPECT_THAT(more.text, HasSubstr("maximum tangram.dev/gpu-milli usage per Pod is 500"));
  // Kubernetes' rule, see docs/quota.md: with a maximum, every pod needs a limit.
  const auto plain = create("plain", {});
  std::cout << "--- plain\n" << plain.text << std::flush;
  EXPECT_FALSE(plain.done());
}

}  // namespace
}  // namespace tangram::e2e
