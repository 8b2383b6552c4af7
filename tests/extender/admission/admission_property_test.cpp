// Random pods, for what must hold of every one.

#include "base/json.hpp"
#include "tests/extender/admission/json_patch_applier.hpp"
#include "tests/extender/admission/reviews.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tangram::extender {
namespace {

using testing::apply_json_patch;
using testing::at;
using testing::shipped_settings;
using testing::Webhook;

constexpr int kRounds = 300;

/// Writes pods that are right or wrong in every way that parts of them can be.
class PodMaker {
 public:
  explicit PodMaker(unsigned seed) : engine_(seed) {}

  std::string pod() {
    std::string text;
    json::Writer out(text);
    out.begin_object().key("metadata").begin_object().member("name", "p");
    if (!one_in(8)) annotations(out);
    out.end_object().key("spec").begin_object();
    if (one_in(3)) out.member("schedulerName", pick({"default-scheduler", "volcano", "tangram"}));
    if (one_in(4)) {
      out.key("tolerations")
          .raw(pick({"null", "[]", R"([{"operator":"Exists"}])", R"([{"key":"a"}])",
                     R"([{"key":"nvidia.com/gpu","operator":"Exists"}])"}));
    }
    if (one_in(4)) out.key("nodeSelector").raw(pick({"{}", "null", R"({"zone":"a"})"}));
    out.key("containers").begin_array();
    container(out, "main", false);
    if (one_in(2)) container(out, "side", false);
    out.end_array();
    if (one_in(3)) {
      out.key("initContainers").begin_array();
      container(out, "first", true);
      container(out, "second", true);
      out.end_array();
    }
    out.end_object().end_object();
    return text;
  }

  bool one_in(unsigned n) { return engine_() % n == 0; }

 private:
  std::string pick(const std::vector<std::string>& from) { return from[engine_() % from.size()]; }

  void annotations(json::Writer& out) {
    out.key("annotations").begin_object();
    const std::string suffix = pick({"", "", "", ".main", ".side", ".second", ".nobody"});
    const auto share = [&](const std::string& key, const std::vector<std::string>& values) {
      out.member("tangram.dev/" + key + suffix, pick(values));
    };
    const auto form = engine_() % 4;
    if (form == 0) share("gpu-fraction", {"0.5", "0.25", "1", "50%"});
    if (form == 1) share("gpu-mem", {"8Gi", "1Mi", "3G", "8"});
    if (form == 1 && one_in(2)) share("gpu-compute", {"0", "0.3", "1"});
    if (form == 2) share("gpu-count", {"1", "2", "65"});
    if (one_in(5)) out.member("tangram.dev/gpu-isolation", pick({"mps", "time-slice", "x"}));
    if (one_in(5)) out.member("tangram.dev/gpu-container", pick({"main", "side", "first"}));
    if (one_in(9)) out.member("tangram.dev/gpu-policy", pick({"binpack", "none-such"}));
    if (one_in(9)) out.member("x~y/z", "1");
    if (one_in(9)) out.member("gpu-fraction", pick({"0.5", "0.3333", "2"}));
    if (one_in(9)) out.member("nvidia.com/use-gputype", "A100");
    out.end_object();
  }

  void quantities(json::Writer& out, const char* list) {
    if (one_in(3)) return;
    out.key(list).begin_object();
    if (one_in(2)) out.member("cpu", "1");
    if (one_in(5)) out.member("tangram.dev/gpu-slot", pick({"1", "2", "0"}));
    if (one_in(9)) out.member("tangram.dev/gpu-milli", pick({"500", "1e3", "7"}));
    if (one_in(9)) out.member("nvidia.com/gpu", 1);
    if (one_in(9)) out.member("nvidia.com/gpumem", 3000);
    if (one_in(9)) out.member("aliyun.com/gpu-mem", 3);
    out.end_object();
  }

  void container(json::Writer& out, const char* name, bool init) {
    out.begin_object().member("name", name);
    if (init && one_in(2)) out.member("restartPolicy", "Always");
    if (one_in(2)) {
      out.key("resources").begin_object();
      quantities(out, "limits");
      quantities(out, "requests");
      out.end_object();
    }
    if (one_in(3)) {
      out.key("env").raw(pick({"null", "[]", R"([{"name":"A","value":"b"}])",
                               R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"none"}])",
                               R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}])"}));
    }
    out.end_object();
  }

  std::mt19937 engine_;
};

AdmissionSettings busy_settings() {
  auto settings = shipped_settings();
  settings.scheduler_name = "tangram";
  settings.runtime_class = "nvidia";
  settings.node_selector = true;
  return settings;
}

/// Every request to another system is translated.
AdmissionSettings translating_settings() {
  auto settings = shipped_settings();
  settings.other_systems = {.nvidia = true, .hami = true, .gpushare = true, .kai = true};
  return settings;
}

std::string with_injected(std::string pod) {
  const std::string place = R"("containers":[)";
  const std::size_t found = pod.find(place);
  return pod.insert(found + place.size(), R"({"name":"proxy"},)");
}

/// What only the injected container gets.
constexpr const char* kVoidForTheFirst = R"([{"op":"add","path":"/spec/containers/0/env","value":)"
                                         R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}]}])";

class AdmissionPropertyTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(AdmissionPropertyTest, TwiceIsOnceAndAnInjectedContainerChangesNothing) {
  PodMaker maker(GetParam());
  for (const auto& settings : {shipped_settings(), busy_settings(), translating_settings()}) {
    const Webhook webhook(settings);
    int patched = 0;
    int allowed = 0;
    for (int round = 0; round < kRounds; ++round) {
      const std::string pod = maker.pod();
      SCOPED_TRACE(pod);
      const std::string patch = webhook.mutate({.object = pod}).patch;
      if (patch.empty()) continue;
      ++patched;
      const std::string once = apply_json_patch(pod, patch);
      ASSERT_EQ(webhook.mutate({.object = once}).patch, "") << patch;
      const bool is_allowed = webhook.validate({.object = once}).allowed;
      if (is_allowed) ++allowed;
      const std::string injected = with_injected(once);
      ASSERT_EQ(webhook.mutate({.object = injected}).patch, kVoidForTheFirst);
      ASSERT_EQ(webhook.validate({.object = injected}).allowed, is_allowed);
    }
    EXPECT_GT(patched, kRounds / 4);
    EXPECT_GT(allowed, kRounds / 10);
  }
}

/// Leaves the patched pod's own mistakes aside: those that are no matter of its request.
bool has_other_mistakes(const std::string& pod) {
  for (const char* part : {R"("NVIDIA_VISIBLE_DEVICES","value":"all")", R"("nvidia.com/gpu)",
                           R"("aliyun.com/gpu)", R"("tangram.dev/gpu-milli")",
                           R"("tangram.dev/gpu-slot":"2")", R"("tangram.dev/gpu-slot":"0")",
                           "none-such", R"("NVIDIA_VISIBLE_DEVICES","value":"none")"}) {
    if (pod.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST_P(AdmissionPropertyTest, WhatMutateMadeOfARightPodIsAllowed) {
  PodMaker maker(GetParam() + 1000);
  const Webhook webhook(busy_settings());
  int checked = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string pod = maker.pod();
    if (has_other_mistakes(pod)) continue;
    SCOPED_TRACE(pod);
    const auto verdict = webhook.mutate({.object = pod});
    if (verdict.patch.empty()) {
      // Either its request is wrong, or there was nothing to do.
      continue;
    }
    ++checked;
    ASSERT_EQ(webhook.refusal(pod), "");
  }
  EXPECT_GT(checked, kRounds / 10);
}

TEST_P(AdmissionPropertyTest, APodIsPatchedOrItsMistakesAreNamed) {
  PodMaker maker(GetParam() + 2000);
  const Webhook webhook;
  for (int round = 0; round < kRounds; ++round) {
    const std::string pod = maker.pod();
    SCOPED_TRACE(pod);
    const bool asks = at(pod, "metadata.annotations").find("tangram.dev/gpu-") != std::string::npos;
    const bool unchanged = webhook.mutate({.object = pod}).patch.empty();
    const std::string refusal = webhook.refusal(pod);
    if (asks && unchanged) {
      ASSERT_NE(refusal, "");
    }
    ASSERT_EQ(refusal.find('\n'), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AdmissionPropertyTest, ::testing::Values(1U, 2U, 3U),
                         [](const auto& seed) { return "Seed" + std::to_string(seed.param); });

}  // namespace
}  // namespace tangram::extender
