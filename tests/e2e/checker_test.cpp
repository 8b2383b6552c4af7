// The checker itself: it must find each fault.

#include "tests/e2e/checker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::e2e {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// One node, "n", with card "c" of 1000 MiB that takes two sharers.
constexpr const char* kNodes = R"({"items":[{"metadata":{"name":"n","annotations":{
  "tangram.dev/cards":"{\"version\":1,\"cards\":[{\"id\":\"c\",\"model\":\"A100\",\"memMiB\":1000,\"maxSharers\":2}]}"
  }},"status":{}}]})";

struct Pod {
  std::string uid = "u";
  std::string request = R"("tangram.dev/gpu-fraction":"0.5")";
  std::string grant_uid = "u";
  std::string grant_node = "n";
  std::string card = "c";
  int mib = 500;
  int milli = 500;
  std::string isolation = "mps";
  bool granted = true;
  std::string node = "n";
  std::string phase = "Running";
};

std::string grant_of(const Pod& pod) {
  return R"({\"version\":1,\"podUID\":\")" + pod.grant_uid + R"(\",\"node\":\")" + pod.grant_node +
         R"(\",\"isolation\":\")" + pod.isolation +
         R"(\",\"containers\":[{\"name\":\"main\",\"cards\":[{\"uuid\":\")" + pod.card +
         R"(\",\"memMiB\":)" + std::to_string(pod.mib) + R"(,\"milli\":)" +
         std::to_string(pod.milli) + R"(,\"memLimitMiB\":)" + std::to_string(pod.mib) +
         R"(,\"milliLimit\":)" + std::to_string(pod.milli) + "}]}]}";
}

std::string list_of(const std::vector<Pod>& pods) {
  std::string text;
  for (const auto& pod : pods) {
    if (!text.empty()) text += ",";
    text += R"({"metadata":{"name":"p-)" + pod.uid + R"(","uid":")" + pod.uid +
            R"(","annotations":{)" + pod.request;
    if (pod.granted) text += R"(,"tangram.dev/gpu-grant":")" + grant_of(pod) + "\"";
    text += R"(}},"spec":{"containers":[{"name":"main","resources":{"limits":)"
            R"({"tangram.dev/gpu-slot":"1"}}}])";
    if (!pod.node.empty()) text += R"(,"nodeName":")" + pod.node + "\"";
    text += R"(},"status":{"phase":")" + pod.phase + "\"}}";
  }
  return R"({"items":[)" + text + "]}";
}

std::vector<std::string> problems(const std::vector<Pod>& pods) {
  return check_lists(kNodes, list_of(pods)).problems;
}

TEST(CheckerTest, FindsNothingWhereTwoHalvesFillACard) {
  EXPECT_THAT(problems({{.uid = "u"}, {.uid = "v", .grant_uid = "v"}}), IsEmpty());
}

TEST(CheckerTest, SeesACardOverItsMemoryComputeAndSharers) {
  EXPECT_THAT(
      problems({{.uid = "u"}, {.uid = "v", .grant_uid = "v"}, {.uid = "w", .grant_uid = "w"}}),
      ElementsAre(HasSubstr("MiB 1500 of 1000"), HasSubstr("milli 1500 of 1000"),
                  HasSubstr("sharers 3 of 2")));
}

TEST(CheckerTest, SeesTwoIsolationModesOnACard) {
  EXPECT_THAT(problems({{.uid = "u"}, {.uid = "v", .grant_uid = "v", .isolation = "none"}}),
              ElementsAre(HasSubstr("isolation modes 2 of 1")));
}

TEST(CheckerTest, SeesSomebodyBesideAWholeCard) {
  const std::string whole = R"("tangram.dev/gpu-count":"1")";
  EXPECT_THAT(problems({{.uid = "u", .request = whole, .mib = 1000, .milli = 1000}}), IsEmpty());
  EXPECT_THAT(problems({{.uid = "u", .request = whole, .mib = 1000, .milli = 1000},
                        {.uid = "v", .grant_uid = "v"}}),
              ::testing::Contains(HasSubstr("sharers beside a whole 2 of 1")));
}

TEST(CheckerTest, CountsNoPodThatHasEnded) {
  EXPECT_THAT(problems({{.uid = "u"},
                        {.uid = "v", .grant_uid = "v"},
                        {.uid = "w", .grant_uid = "w", .phase = "Succeeded"}}),
              IsEmpty());
}

struct Wrong {
  std::string name;
  Pod pod;
  std::string sentence;
};
class CheckerWrongTest : public testing::TestWithParam<Wrong> {};

TEST_P(CheckerWrongTest, IsSeen) {
  EXPECT_THAT(problems({GetParam().pod}), ElementsAre(HasSubstr(GetParam().sentence)));
}

INSTANTIATE_TEST_SUITE_P(
    Checker, CheckerWrongTest,
    testing::Values(
        Wrong{"BoundWithoutGrant", {.granted = false}, "is bound to n without a grant"},
        Wrong{"WaitsWithGrant", {.node = ""}, "waits, but has a grant"},
        Wrong{"AnothersGrant", {.grant_uid = "x"}, "has the grant of another pod"},
        Wrong{"AnotherNode", {.grant_node = "m"}, "has a grant for another node"},
        Wrong{"MissingCard", {.card = "d"}, "which its node does not have"},
        Wrong{"TooMuchMemory", {.mib = 501}, "501 MiB and 500 milli and requested 500 MiB and"},
        Wrong{"TooLittleCompute", {.milli = 499}, "500 MiB and 499 milli"},
        Wrong{"AnotherModel",
              {.request = R"("tangram.dev/gpu-fraction":"0.5","tangram.dev/gpu-model":"!A*")"},
              "was given a A100"},
        Wrong{"AnotherCard",
              {.request = R"("tangram.dev/gpu-fraction":"0.5","tangram.dev/gpu-uuid":"*,!c")"},
              "was given c, which it does not take"},
        Wrong{"TooFewCards",
              {.request = R"("tangram.dev/gpu-fraction":"0.5","tangram.dev/gpu-count":"2")"},
              "was given 1 cards and requested 2"},
        Wrong{"AnotherIsolation",
              {.request = R"("tangram.dev/gpu-fraction":"0.5","tangram.dev/gpu-isolation":"none")"},
              "requested none and got mps"}),
    [](const auto& row) { return row.param.name; });

TEST(CheckerTest, ReadsMemoryRequestsWithTheirShareOfCompute) {
  Pod pod;
  pod.request = R"("tangram.dev/gpu-mem":"333Mi")";
  pod.mib = 333;
  pod.milli = 333;  // floor(1000 × 333 / 1000)
  EXPECT_THAT(problems({pod}), IsEmpty());
}

TEST(CheckerTest, ComparesTheExtendersViewCardByCard) {
  const auto verdict = check_lists(kNodes, list_of({{.uid = "u"}}));
  const auto view = [](const std::string& free_mib, const std::string& uid) {
    return R"({"nodes":[{"name":"n","cards":[{"uuid":"c","freeMemMiB":)" + free_mib +
           R"(,"freeMilli":500,"pods":[{"uid":")" + uid + "\"}]}]}]}";
  };
  EXPECT_THAT(differences(verdict, view("500", "u")), IsEmpty());
  EXPECT_THAT(differences(verdict, view("499", "u")), ElementsAre(HasSubstr("extender 499 MiB")));
  EXPECT_THAT(differences(verdict, view("500", "v")), ElementsAre(HasSubstr("n c")));
  EXPECT_THAT(differences(verdict, R"({"nodes":[]})"), ElementsAre(HasSubstr("does not know it")));
}

}  // namespace
}  // namespace tangram::e2e
