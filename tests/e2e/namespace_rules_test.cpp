// What the labels of a namespace allow its pods: deploy/webhook/namespace-rules.yaml on a real API
// server, as a user of kubectl sees it.

#include "tests/e2e/fixture.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/raw_json.hpp"
#include "tests/e2e/webhook.hpp"

#include <iostream>
#include <thread>

namespace tangram::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNoBurst = "burst is not allowed in this namespace";
constexpr const char* kNoShares = "shares of cards are not allowed in this namespace";
constexpr const char* kTooWeak =
    "the memory limits that the pod accepts are weaker than this namespace requires";
const StringMap kHalf = {{"gpu-fraction", "0.5"}};

StringMap limited(const char* means) {
  return {{"gpu-fraction", "0.5"}, {"gpu-memory-limits", means}};
}

struct Row {
  const char* labels;   ///< of the namespace; "" = none
  StringMap gpu;        ///< annotations of the pod
  const char* refusal;  ///< "" = allowed

  [[nodiscard]] std::string expected() const { return *refusal == '\0' ? "created" : refusal; }
};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"", {{"gpu-mem", "8Gi"}, {"gpu-mem-limit", "16Gi"}, {"gpu-isolation", "none"}}, ""},
      {"tangram.dev/isolation=mps.none", kHalf, ""},
      {"tangram.dev/isolation=mps.none", {{"gpu-mem", "8Gi"}, {"gpu-isolation", "none"}}, ""},
      {"tangram.dev/isolation=mps.none", {{"gpu-count", "2"}}, ""},
      {"tangram.dev/isolation=mps.none",
       {{"gpu-fraction", "1.0"}, {"gpu-isolation", "time-slice"}},
       ""},
      {"tangram.dev/isolation=mps.none",
       {{"gpu-fraction", "0.5"}, {"gpu-isolation", "time-slice"}},
       "tangram.dev/gpu-isolation time-slice is not allowed in this namespace; write one of: mps, "
       "none"},
      {"tangram.dev/isolation=mps.none",
       {{"gpu-mem.main", "8Gi"}, {"gpu-isolation", "time-slice"}},
       "time-slice is not allowed"},
      {"tangram.dev/isolation=none", kHalf, "tangram.dev/gpu-isolation mps is not allowed"},
      {"tangram.dev/isolation=msp", kHalf, "write one of: msp"},
      {"tangram.dev/burst=none", {{"gpu-mem", "8Gi"}, {"gpu-compute", "0.3"}}, ""},
      {"tangram.dev/burst=none", {{"gpu-mem", "8Gi"}, {"gpu-mem-limit", "16Gi"}}, kNoBurst},
      {"tangram.dev/burst=none",
       {{"gpu-mem.main", "8Gi"}, {"gpu-compute-limit.main", "1"}},
       kNoBurst},
      {"tangram.dev/burst=none", {{"gpu-mem", "8Gi"}, {"gpu-compute", "0.0"}}, kNoBurst},
      {"tangram.dev/burst=no", {{"gpu-mem", "8Gi"}, {"gpu-mem-limit", "16Gi"}}, kNoBurst},
      {"tangram.dev/sharing=none", {{"gpu-count", "2"}}, ""},
      {"tangram.dev/sharing=none", {{"gpu-fraction", "1"}}, ""},
      {"tangram.dev/sharing=none", kHalf, kNoShares},
      {"tangram.dev/sharing=none", {{"gpu-mem.main", "8Gi"}}, kNoShares},
      {"tangram.dev/sharing=same", kHalf, kNoShares},
      {"tangram.dev/min-memory-limits=library", {{"gpu-count", "2"}}, ""},
      {"tangram.dev/min-memory-limits=library", limited("library"), ""},
      {"tangram.dev/min-memory-limits=library", limited("driver"), ""},
      {"tangram.dev/min-memory-limits=library", limited("mps"), kTooWeak},
      {"tangram.dev/min-memory-limits=library", kHalf,
       "write tangram.dev/gpu-memory-limits: library or driver"},
      {"tangram.dev/min-memory-limits=mps", limited("mps"), ""},
      {"tangram.dev/min-memory-limits=mps", kHalf, kTooWeak},
      {"tangram.dev/min-memory-limits=libary", limited("library"), kTooWeak},
  };
  return kRows;
}

class NamespaceRulesTest : public E2eTest {
 protected:
  NamespaceRulesTest() {
    kubectl({"delete", "namespace", kNamespace, "--ignore-not-found"});
    kubectl({"create", "namespace", kNamespace});
    // A controller makes the service account that pods need.
    const auto deadline = TimePoint::clock::now() + 20s;
    while (!kubectl({"--namespace", kNamespace, "get", "serviceaccount", "default"}).done() &&
           TimePoint::clock::now() < deadline) {}
  }
  ~NamespaceRulesTest() override {
    kubectl({"--namespace", kNamespace, "delete", "pods", "--all", "--grace-period=0", "--force"});
    kubectl({"delete", "namespace", kNamespace, "--wait=false"});
  }

  static void label(const std::string& labels) {
    std::vector<std::string> arguments = {"label",
                                          "namespace",
                                          kNamespace,
                                          "--overwrite",
                                          "tangram.dev/isolation-",
                                          "tangram.dev/burst-",
                                          "tangram.dev/sharing-"};
    kubectl(arguments);
    if (labels.empty()) return;
    arguments = {"label", "namespace", kNamespace, "--overwrite", labels};
    const auto answer = kubectl(arguments);
    ASSERT_TRUE(answer.done()) << answer.text;
  }
  static KubectlAnswer create(const StringMap& gpu, bool dry_run) {
    PodSpec pod;
    pod.name = "pod";
    pod.gpu = gpu;
    std::vector<std::string> arguments = {"--namespace", kNamespace, "create", "-f", "-"};
    if (dry_run) arguments.emplace_back("--dry-run=server");
    return kubectl(arguments, pod_json(pod));
  }
  /// The API server sees labels and policies a moment later: tries until the answer is the one.
  static KubectlAnswer eventually(const Row& row) {
    const auto deadline = TimePoint::clock::now() + 20s;
    for (;;) {
      auto answer = create(row.gpu, true);
      const bool expected = answer.text.find(row.expected()) != std::string::npos;
      if (expected || TimePoint::clock::now() > deadline) return answer;
      std::this_thread::sleep_for(100ms);
    }
  }

  static constexpr const char* kNamespace = "rules";
  Applied policy_{cluster_, "deploy/webhook/namespace-rules.yaml", {}};
};

TEST_F(NamespaceRulesTest, LabelsSayWhatPodsMayRequest) {
  // The policy has effect, so that what is allowed later is not merely unseen.
  label("tangram.dev/isolation=none");
  ASSERT_FALSE(eventually({"", kHalf, "mps is not allowed"}).done());
  std::string labels = "tangram.dev/isolation=none";
  for (const Row& row : rows()) {
    if (labels != row.labels) label(labels = row.labels);
    const auto answer = eventually(row);
    EXPECT_THAT(answer.text, HasSubstr(row.expected())) << row.labels;
    std::cout << "[ figure   ] " << row.labels << ": " << answer.text;
  }
}

TEST_F(NamespaceRulesTest, AWaitingPodThatWasThereBeforeMayOnlyChangeToWhatIsAllowed) {
  ASSERT_TRUE(create({{"gpu-fraction", "0.5"}, {"gpu-isolation", "time-slice"}}, false).done());
  label("tangram.dev/isolation=mps");
  ASSERT_FALSE(
      eventually({"", {{"gpu-mem", "8Gi"}, {"gpu-isolation", "none"}}, "is not allowed"}).done());
  const auto change = [](const std::string& what, const std::string& value) {
    return kubectl({"--namespace", kNamespace, what, "pod", "pod", "--overwrite", value});
  };
  EXPECT_TRUE(change("label", "team=a").done());
  EXPECT_TRUE(change("annotate", "example.com/ip=10.0.0.1").done());
  const auto other = change("annotate", "tangram.dev/gpu-isolation=none");
  EXPECT_FALSE(other.done());
  EXPECT_THAT(other.text, HasSubstr("tangram.dev/gpu-isolation none is not allowed"));
  const auto by_status =
      kubectl({"--namespace", kNamespace, "patch", "pod", "pod", "--subresource=status", "--patch",
               R"({"metadata":{"annotations":{"tangram.dev/gpu-isolation":"none"}}})"});
  EXPECT_THAT(by_status.text, HasSubstr("tangram.dev/gpu-isolation none is not allowed"));
  const auto allowed = change("annotate", "tangram.dev/gpu-isolation=mps");
  EXPECT_TRUE(allowed.done()) << allowed.text;
  EXPECT_TRUE(change("annotate", "tangram.dev/gpu-isolation-").done()) << "the default is mps";
}

/// A pod with so many annotations, of as few bytes as can be.
std::string crowded(std::size_t annotations) {
  std::string all;
  for (std::size_t i = 0; i < annotations; ++i) {
    all += (all.empty() ? "\"" : ",\"") + std::to_string(i) + R"(":"")";
  }
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"crowded","annotations":{)" + all +
         R"(}},"spec":{"schedulerName":"nobody","containers":[{"name":"main","image":"i"}]}})";
}

TEST_F(NamespaceRulesTest, APodWithTooManyAnnotationsIsRefusedBeforeTheyAreLookedAt) {
  // By either of the policies that bound it: the API server's answer names one of them.
  const std::string too_many = " annotations; write at most 1,000";
  label("tangram.dev/sharing=none");
  const Applied policies(cluster_, "deploy/webhook/policies.yaml", {});
  ASSERT_FALSE(eventually({"", kHalf, kNoShares}).done());
  const auto post = [&](std::size_t annotations) {
    return kubectl({"--namespace", kNamespace, "create", "-f", "-", "--dry-run=server"},
                   crowded(annotations));
  };
  KubectlAnswer refused = post(1001);
  const auto deadline = TimePoint::clock::now() + 20s;  // the API server reads policies later
  while (refused.done() && TimePoint::clock::now() < deadline) refused = post(1001);
  EXPECT_THAT(refused.text, HasSubstr(too_many));
  EXPECT_TRUE(post(1000).done());
  const auto start = TimePoint::clock::now();
  refused = post(40'000);
  const auto took = TimePoint::clock::now() - start;
  EXPECT_THAT(refused.text, HasSubstr(too_many));
  // One loop over 40,000 took 4 s, and 1,000 times a loop over 1,000.
  const auto usual_start = TimePoint::clock::now();
  EXPECT_TRUE(post(1000).done());
  const auto usual = TimePoint::clock::now() - usual_start;
  EXPECT_LT(took, 20 * usual);
}

}  // namespace
}  // namespace tangram::e2e
