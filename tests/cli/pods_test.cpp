#include "cli/pods.hpp"

#include "cli/format.hpp"
#include "tests/cli/rig.hpp"

#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

TEST(PodsTest, TellsTheStates) {
  const std::string pre_start =
      "device plugin PreStartContainer rpc failed with err: rpc error: code = ";
  kube::Pod pod;
  EXPECT_EQ(state_of(pod), "Pending");
  pod.gated = true;
  EXPECT_EQ(state_of(pod), "Gated");
  pod.node = "a";
  EXPECT_EQ(state_of(pod), "Starting");
  pod.waiting = {
      {"CreateContainerConfigError", pre_start + "Unavailable desc = tangram: not yet: in use"}};
  EXPECT_EQ(state_of(pod), "NotYet");
  pod.waiting = {{"CreateContainerConfigError",
                  pre_start + "FailedPrecondition desc = tangram: cannot start: no grant"}};
  EXPECT_EQ(state_of(pod), "CannotStart");
  pod.waiting = {{"ErrImagePull", "tangram: cannot start: no grant"}};
  EXPECT_EQ(state_of(pod), "Starting") << "the words of a registry";
  pod.waiting = {};
  pod.started = true;
  EXPECT_EQ(state_of(pod), "Running");
  pod.deleting = true;
  EXPECT_EQ(state_of(pod), "Terminating");
}

TEST(PodsTest, ListsWhoAsksAndWhoHas) {
  Rig rig;
  rig.fill();
  const auto cluster = rig.cluster();
  const auto lines = pod_lines(*cluster, "ml");
  EXPECT_EQ(draw_pods(file_screen(), lines, {}),
            "NAME   NODE  CARDS   REQUEST  GRANT      STATE\n"
            "half   a     GPU-a0  0.5      40Gi, 0.5  Starting\n"
            "large  -     -       100Gi    -          Pending\n");
  EXPECT_EQ(
      draw_pods(file_screen(), lines, {.namespaces = true, .wide = true}),
      "NAMESPACE  NAME   NODE  CARDS   REQUEST  GRANT      ISOLATION  MEMORY LIMITS  STATE     "
      "FINDINGS\n"
      "ml         half   a     GPU-a0  0.5      40Gi, 0.5  mps        nothing        Starting  -\n"
      "ml         large  -     -       100Gi    -          -          -              Pending   "
      "-\n");
  EXPECT_TRUE(pod_lines(*cluster, "other").empty());
  EXPECT_EQ(pod_lines(*cluster, "").size(), 2U);
}

TEST(PodsTest, ShortensUuidsAndSaysWhatIsWrong) {
  Rig rig;
  rig.add_node("a", {testing::card("GPU-01234567-89ab-cdef")});
  const std::string uid = rig.add_pod("p", {{"gpu-fraction", "0.5"}});
  rig.bind("p", uid, "a", {testing::granted("GPU-01234567-89ab-cdef", 10'000, 100)});
  rig.add_pod("q", {{"gpu-fraction", "0.3333"}});
  const auto lines = pod_lines(*rig.cluster(), "ml");
  EXPECT_EQ(draw_pods(file_screen(), lines, {}),
            "NAME  NODE  CARDS          REQUEST  GRANT         STATE\n"
            "p     a     GPU-01234567…  0.5      10000Mi, 0.1  Starting, resize Infeasible\n"
            "q     -     -              -        -             Pending (RequestInvalid)\n");
}

/// Lines with these states of resizes, of pods "0", "1" and so on.
std::vector<PodLine> resizing(const std::vector<std::string>& states) {
  std::vector<PodLine> lines;
  for (const std::string& state : states) {
    lines.push_back({.ns = "ml", .name = std::to_string(lines.size()), .resize = state});
  }
  return lines;
}

TEST(PodsTest, AsksTheExtenderWhetherAResizeCanBeWritten) {
  auto lines = resizing({"", "Proposed", "InProgress", "Deferred", "Infeasible", "Proposed"});
  std::vector<std::string> asked;
  const auto done = ask_about_resizes(
      lines, [&](const std::string& ns, const std::string& pod) -> Result<std::string> {
        asked.push_back(ns + "/" + pod);
        if (pod == "5") return fail(Errc::kNotFound, "no pod ml/5");
        const std::string resize =
            pod == "1" ? R"(,"resize":{"state":"Infeasible","reason":"rejected"})" : "";
        return R"({"namespace":"ml","name":"p","state":"bound","node":"n","containers":[])" +
               resize + "}";
      });
  EXPECT_TRUE(done);
  EXPECT_EQ(asked, (std::vector<std::string>{"ml/1", "ml/2", "ml/5"}));
  std::vector<std::string> states;
  for (const PodLine& line : lines) states.push_back(line.resize);
  EXPECT_EQ(states,
            (std::vector<std::string>{"", "Infeasible", "", "Deferred", "Infeasible", "Proposed"}));
}

TEST(PodsTest, FailsIfTheExtenderDoesNotAnswer) {
  auto lines = resizing({"Proposed"});
  const auto done =
      ask_about_resizes(lines, [](const std::string&, const std::string&) -> Result<std::string> {
        return fail(Errc::kUnavailable, "no answer");
      });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "no answer");
  EXPECT_EQ(lines[0].resize, "Proposed");
}

TEST(PodsTest, NamesEachMeansOfMemoryLimitsOnce) {
  model::GrantedCard mps = testing::shared("a", 10, 10);
  mps.memory_limits = model::MemoryLimits::kMps;
  model::GrantedCard whole = testing::granted("b", 10, 10);
  whole.whole = true;
  EXPECT_EQ(limits_text({}), "");
  EXPECT_EQ(limits_text({{"main", {mps}}, {"side", {mps}}}), "mps");
  EXPECT_EQ(limits_text({{"main", {testing::shared("c", 10, 10)}}}), "nothing");
  EXPECT_EQ(limits_text({{"main", {mps, whole}}}), "mps, whole card");
}

TEST(PodsTest, FitsANarrowTerminal) {
  Rig rig;
  rig.add_node("a-node-with-a-long-name-of-its-own", {testing::card("GPU-0")});
  rig.add_bound("a-pod-with-a-long-name-of-its-own", "0.5", "a-node-with-a-long-name-of-its-own",
                {testing::granted("GPU-0", 40'960, 500)});
  const auto lines = pod_lines(*rig.cluster(), "ml");
  EXPECT_EQ(draw_pods(terminal(60), lines, {}),
            "NAME                 NODE                  REQUEST  STATE\n"
            "a-pod-…e-of-its-own  a-node…me-of-its-own  0.5      Starting\n");
}

TEST(PodsTest, AnswersPrograms) {
  Rig rig;
  rig.fill();
  EXPECT_EQ(
      pods_json(pod_lines(*rig.cluster(), "ml")),
      R"({"pods":[{"namespace":"ml","name":"half","node":"a","cards":["GPU-a0"],)"
      R"("request":"0.5","grant":"40Gi, 0.5","isolation":"mps","memoryLimits":"nothing",)"
      R"("state":"Starting","resize":"",)"
      R"("findings":[]},{"namespace":"ml","name":"large","node":"","cards":[],)"
      R"("request":"100Gi","grant":"","isolation":"","memoryLimits":"","state":"Pending","resize":"","findings":[]}]})");
}

}  // namespace
}  // namespace tangram::cli
