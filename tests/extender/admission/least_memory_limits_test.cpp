// Namespaces with the label tangram.dev/min-memory-limits: /admission/mutate/memory-limits/MEANS.

#include "extender/admission/least_memory_limits.hpp"

#include "tests/extender/admission/json_patch_applier.hpp"
#include "tests/extender/admission/reviews.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace tangram::testing {
namespace {

using Means = model::MemoryLimits;

/// A pod with the members of its annotations.
std::string pod_with(const std::string& annotations) {
  return R"({"metadata":{"name":"p","annotations":{)" + annotations +
         R"(}},"spec":{"containers":[{"name":"main"}]}})";
}

const std::string kHalf = R"("tangram.dev/gpu-fraction":"0.5")";

struct Row {
  std::string name;
  Means least;
  std::string annotations;
  std::string becomes;       ///< the annotation after it; "" = none
  std::string refusal = {};  ///< "" = allowed
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class LeastMemoryLimitsTest : public ::testing::TestWithParam<Row> {};

TEST_P(LeastMemoryLimitsTest, AddsTheAnnotationOrRefusesAWeakerOne) {
  const Row& row = GetParam();
  const std::string pod = pod_with(row.annotations);
  const Verdict verdict = Webhook().require_memory_limits({.object = pod}, row.least);
  EXPECT_EQ(verdict.allowed, row.refusal.empty());
  EXPECT_EQ(verdict.message, row.refusal);
  if (!verdict.allowed) {
    EXPECT_EQ(verdict.code, 403);
    return;
  }
  const std::string after = verdict.patch.empty() ? pod : apply_json_patch(pod, verdict.patch);
  EXPECT_EQ(at(after, "metadata.annotations.tangram:dev|gpu-memory-limits"), row.becomes);
  EXPECT_EQ(Webhook().require_memory_limits({.object = after}, row.least).patch, "");
}

std::string half_with(const std::string& means) {
  return kHalf + R"(,"tangram.dev/gpu-memory-limits":")" + means + "\"";
}

std::string weaker(const std::string& written, const std::string& write) {
  return "pod p: tangram.dev/gpu-memory-limits: " + written +
         " is weaker than this namespace requires; write " + write;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LeastMemoryLimitsTest,
    ::testing::Values(
        Row{"AbsentBecomesMps", Means::kMps, kHalf, "mps"},
        Row{"AbsentBecomesLibrary", Means::kLibrary, kHalf, "library"},
        Row{"AbsentBecomesDriver", Means::kDriver, kHalf, "driver"},
        Row{"EqualStays", Means::kLibrary, half_with("library"), "library"},
        Row{"StrongerStays", Means::kMps, half_with("driver"), "driver"},
        Row{"WeakerThanLibrary", Means::kLibrary, half_with("mps"), "",
            weaker("mps", "library or driver")},
        Row{"WeakerThanDriver", Means::kDriver, half_with("library"), "",
            weaker("library", "driver")},
        Row{"MisspeltIsLeftToTheOtherWebhook", Means::kDriver, half_with("Driver"), "Driver"},
        Row{"WholeCardsNeedNone", Means::kDriver, R"("tangram.dev/gpu-count":"2")", ""},
        Row{"AllOfACardNeedsNone", Means::kDriver, R"("tangram.dev/gpu-fraction":"1")", ""},
        Row{"NoRequest", Means::kDriver, R"("a":"b")", ""}),
    [](const auto& row) { return row.param.name; });

TEST(LeastMemoryLimitsRuleTest, LooksAtNewPodsOnly) {
  const std::string pod = pod_with(kHalf);
  const Verdict verdict = Webhook().require_memory_limits(
      {.operation = "UPDATE", .object = pod, .old_object = pod}, Means::kDriver);
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.patch, "");
}

}  // namespace
}  // namespace tangram::testing
