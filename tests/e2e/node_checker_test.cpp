// The checker of the real node: it must find each fault.

#include "tests/e2e/node_checker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::e2e {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kNodes = R"({"items":[{"metadata":{"name":"n","annotations":{
  "tangram.dev/cards":"{\"cards\":[{\"id\":\"c\",\"memMiB\":1000},{\"id\":\"d\",\"memMiB\":2000}]}"}}}]})";

// "main" and "side" hold a slot, "plain" does not.
std::string pods(const std::string& asked, const std::string& grant) {
  return R"({"items":[{"metadata":{"name":"p","uid":"u","annotations":{)" + asked +
         (grant.empty() ? "" : R"(,"tangram.dev/gpu-grant":")" + grant + "\"") +
         R"(}},"spec":{"nodeName":"n","containers":[
           {"name":"main","resources":{"limits":{"tangram.dev/gpu-slot":"1"}}},
           {"name":"side","resources":{"limits":{"tangram.dev/gpu-slot":"1"}}},
           {"name":"plain"}]}}]})";
}

std::string grant(const std::string& isolation, const std::string& cards) {
  return R"({\"isolation\":\")" + isolation +
         R"(\",\"containers\":[{\"name\":\"main\",\"cards\":[)" + cards + "]}]}";
}
const std::string kCard = R"({\"uuid\":\"c\"})";
const std::string kBothCards = R"({\"uuid\":\"d\"},{\"uuid\":\"c\"})";
const std::string kHalf = R"("tangram.dev/gpu-fraction":"0.5")";

using Variables = std::map<std::string, std::string>;

Variables half_of_c() {
  return {{"NVIDIA_VISIBLE_DEVICES", "c"},
          {"TANGRAM_CARD_UUIDS", "c"},
          {"TANGRAM_MEMORY_LIMIT_BYTES", "524288000"},  // 500 MiB
          {"TANGRAM_COMPUTE_LIMIT_MILLI", "500"}};
}

Start start_of(const std::string& container, Variables variables) {
  variables["PATH"] = "/bin";
  return {.uid = "u", .container = container, .at = {}, .environment = std::move(variables)};
}

std::vector<std::string> problems(const std::string& pod_list, const Start& start) {
  NodeChecker checker;
  checker.learn(kNodes, pod_list);
  return checker.check({start}).problems;
}

TEST(NodeCheckerTest, FindsNothingWhereAContainerSawItsShare) {
  EXPECT_THAT(problems(pods(kHalf, grant("none", kCard)), start_of("main", half_of_c())),
              IsEmpty());
}

TEST(NodeCheckerTest, SeesEachWrongValue) {
  for (const auto& [name, value] : half_of_c()) {
    Variables wrong = half_of_c();
    wrong[name] += "1";
    EXPECT_THAT(problems(pods(kHalf, grant("none", kCard)), start_of("main", wrong)),
                ElementsAre(HasSubstr(name + "=" + value + "1")));
    wrong.erase(name);
    EXPECT_THAT(problems(pods(kHalf, grant("none", kCard)), start_of("main", wrong)),
                ElementsAre(HasSubstr("and is due")))
        << name;
  }
}

TEST(NodeCheckerTest, ListsSeveralCardsInTheGrantsOrder) {
  EXPECT_THAT(problems(pods(R"("tangram.dev/gpu-count":"2","tangram.dev/gpu-fraction":"0.25")",
                            grant("time-slice", kBothCards)),
                       start_of("main", {{"NVIDIA_VISIBLE_DEVICES", "d,c"},
                                         {"TANGRAM_CARD_UUIDS", "d,c"},
                                         {"TANGRAM_MEMORY_LIMIT_BYTES", "524288000,262144000"},
                                         {"TANGRAM_COMPUTE_LIMIT_MILLI", "250,250"}})),
              IsEmpty());
}

TEST(NodeCheckerTest, HoldsContainersToTheirLimits) {
  Variables seen = half_of_c();
  seen["TANGRAM_MEMORY_LIMIT_BYTES"] = "734003200";  // 700 MiB
  seen["TANGRAM_COMPUTE_LIMIT_MILLI"] = "1000";
  EXPECT_THAT(problems(pods(R"("tangram.dev/gpu-mem":"500Mi","tangram.dev/gpu-compute":"0",)"
                            R"("tangram.dev/gpu-mem-limit":"700Mi")",
                            grant("none", kCard)),
                       start_of("main", seen)),
              IsEmpty());
}

TEST(NodeCheckerTest, WantsTheVariablesOfMps) {
  const std::string list = pods(kHalf, grant("mps", kCard));
  EXPECT_THAT(problems(list, start_of("main", half_of_c())),
              ElementsAre(HasSubstr("due CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50")));
  Variables seen = half_of_c();
  seen["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = "0=500M";
  seen["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = "50";
  seen["CUDA_MPS_PIPE_DIRECTORY"] = "/run/tangram/mps/c";
  EXPECT_THAT(problems(list, start_of("main", seen)), IsEmpty());
}

TEST(NodeCheckerTest, SeesAContainerThatHadNoRightToStart) {
  EXPECT_THAT(problems(pods(kHalf, ""), start_of("main", half_of_c())),
              ElementsAre(HasSubstr("without a grant")));
  EXPECT_THAT(problems(pods(kHalf, grant("none", kCard)), start_of("side", half_of_c())),
              ElementsAre(HasSubstr("without a grant of its own")));
  NodeChecker knows_nothing;
  EXPECT_THAT(knows_nothing.check({start_of("main", {})}).problems,
              ElementsAre(HasSubstr("unknown pod u")));
}

TEST(NodeCheckerTest, SeesACardInAContainerWithoutSlot) {
  const std::string list = pods(kHalf, grant("none", kCard));
  EXPECT_THAT(problems(list, start_of("plain", {})), IsEmpty());
  EXPECT_THAT(problems(list, start_of("plain", {{"NVIDIA_VISIBLE_DEVICES", "c"}})),
              ElementsAre(HasSubstr("has no slot, and saw NVIDIA_VISIBLE_DEVICES=c")));
}

TEST(NodeCheckerTest, AContainerOfAPodThatWasDeletedByForceMaySeeNoCard) {
  NodeChecker checker;
  checker.learn(kNodes, pods(kHalf, grant("none", kCard)));
  const Start hidden =
      start_of("main", {{"NVIDIA_VISIBLE_DEVICES", "void"}, {"E2E_VISIBLE_CARDS", ""}});
  EXPECT_THAT(checker.check({hidden}).problems, ElementsAre(HasSubstr("and is due")));
  EXPECT_THAT(checker.check({hidden}, {"u"}).problems, IsEmpty());
  EXPECT_EQ(checker.check({hidden}, {"u"}).without_device, 1);
  for (const Variables& saw :
       {Variables{{"NVIDIA_VISIBLE_DEVICES", "all"}},
        Variables{{"NVIDIA_VISIBLE_DEVICES", "void"}, {"E2E_VISIBLE_CARDS", "all"}}, Variables{}}) {
    EXPECT_THAT(checker.check({start_of("main", saw)}, {"u"}).problems,
                ElementsAre(HasSubstr("and is due")));
  }
}

TEST(NodeCheckerTest, ComparesWhatTheRuntimeShows) {
  const std::string list = pods(kHalf, grant("none", kCard));
  Variables seen = half_of_c();
  seen["E2E_VISIBLE_CARDS"] = "c";
  EXPECT_THAT(problems(list, start_of("main", seen)), IsEmpty());
  seen["E2E_VISIBLE_CARDS"] = "all";
  EXPECT_THAT(problems(list, start_of("main", seen)), ElementsAre(HasSubstr("CARDS=all")));
}

TEST(NodeCheckerTest, SeesAVariableThatStandsTwice) {
  Start start = start_of("main", half_of_c());
  start.clean = false;
  EXPECT_THAT(problems(pods(kHalf, grant("none", kCard)), start), ElementsAre(HasSubstr("twice")));
}

}  // namespace
}  // namespace tangram::e2e
