// What deploy/webhook registers, against what the webhook serves.

#include "base/quantity.hpp"
#include "extender/admission/limits.hpp"
#include "extender/admission/service.hpp"
#include "extender/admission/visible_devices.hpp"
#include "kube/local/yaml_to_json.hpp"
#include "model/annotations.hpp"
#include "source_dir.hpp"
#include "tests/extender/admission/reviews.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <utility>

namespace tangram::extender {
namespace {

using testing::at;

std::vector<kube::YamlObject> objects_of(const std::string& file) {
  const std::string folder = file.find('/') == std::string::npos ? "webhook/" : "";
  std::ifstream in(std::string(TANGRAM_SOURCE_DIR "/deploy/").append(folder).append(file));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  auto objects = kube::yaml_to_json(text);
  if (!objects) throw std::runtime_error(file + ": " + objects.error().message);
  return std::move(*objects);
}

/// Of every webhook of every configuration in the file.
std::vector<std::string> webhooks_of(const std::string& file) {
  std::vector<std::string> webhooks;
  for (const auto& object : objects_of(file)) {
    for (int i = 0; !at(object.json, "webhooks." + std::to_string(i)).empty(); ++i) {
      webhooks.push_back(at(object.json, "webhooks." + std::to_string(i)));
    }
  }
  return webhooks;
}

int status_of(const http::Router& router, const std::string& path) {
  int status = 0;
  http::Request request;
  request.method = "POST";
  request.path = path;
  router(std::move(request),
         http::Responder([&](const http::Response& response) { status = response.status; }));
  return status;
}

class ShippedWebhookTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ShippedWebhookTest, CallsWhatIsServedAndNothingOfTheClustersOwn) {
  const testing::ManualClock clock;
  const AdmissionService service(testing::shipped_settings(), clock, nullptr);
  http::Router router;
  add_admission_routes(router, service);
  const auto webhooks = webhooks_of(GetParam());
  EXPECT_FALSE(webhooks.empty());
  for (const std::string& webhook : webhooks) {
    SCOPED_TRACE(at(webhook, "name"));
    EXPECT_EQ(status_of(router, at(webhook, "clientConfig.service.path")), 400)
        << "there, and not content with an empty text";
    EXPECT_EQ(at(webhook, "clientConfig.caBundle"), "CA_BUNDLE");
    EXPECT_EQ(at(webhook, "admissionReviewVersions"), R"(["v1"])");
    EXPECT_EQ(at(webhook, "sideEffects"), "None");
    const bool fails = at(webhook, "failurePolicy") == "Fail";
    EXPECT_LE(std::stoi(at(webhook, "timeoutSeconds")), fails ? 5 : 2);
    EXPECT_NE(at(webhook, "namespaceSelector")
                  .find(R"("operator":"NotIn","values":["kube-system","tangram-system"])"),
              std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ShippedWebhookTest,
                         ::testing::Values("webhook.yaml", "webhook-by-label.yaml",
                                           "webhook-foreign.yaml", "quota.yaml",
                                           "memory-limits.yaml"));

TEST(ShippedReinvocationTest, WhatComesFirstComesLastAsWell) {
  const auto objects = objects_of("webhook.yaml");
  ASSERT_EQ(objects.size(), 3U);
  EXPECT_EQ(at(objects[0].json, "metadata.name"), "00-tangram");
  EXPECT_EQ(at(objects[1].json, "metadata.name"), "zz-tangram");
  for (const auto& object : {objects[0], objects[1]}) {
    EXPECT_EQ(at(object.json, "kind"), "MutatingWebhookConfiguration");
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(at(objects[1].json, "webhooks." + std::to_string(i) + ".name"),
              "late-" + at(objects[0].json, "webhooks." + std::to_string(i) + ".name"));
    for (const char* member : {"rules", "matchConditions", "namespaceSelector", "failurePolicy",
                               "clientConfig", "reinvocationPolicy"}) {
      const std::string path = "webhooks." + std::to_string(i) + "." + member;
      EXPECT_EQ(at(objects[0].json, path), at(objects[1].json, path)) << path;
    }
  }
}

TEST(ShippedQuotaTest, ALabelOfAnyOtherValueIsTheStrictest) {
  const auto webhooks = webhooks_of("quota.yaml");
  ASSERT_EQ(webhooks.size(), 4U);
  EXPECT_NE(at(webhooks[3], "namespaceSelector").find(R"("operator":"Exists")"), std::string::npos);
  EXPECT_NE(at(webhooks[3], "namespaceSelector").find(R"(["gpu-milli","gpu-mem-mib","both"])"),
            std::string::npos);
  EXPECT_EQ(at(webhooks[3], "clientConfig"), at(webhooks[2], "clientConfig"));
}

TEST(ShippedMemoryLimitsTest, ALabelOfAnyOtherValueIsTheStrictest) {
  const auto webhooks = webhooks_of("memory-limits.yaml");
  ASSERT_EQ(webhooks.size(), model::kRequirableMemoryLimits.size() + 1);
  const std::string path = "/admission/mutate/memory-limits/";
  for (std::size_t i = 0; i < model::kRequirableMemoryLimits.size(); ++i) {
    const std::string means(model::kRequirableMemoryLimits.at(i));
    EXPECT_EQ(at(webhooks[i], "clientConfig.service.path"), path + means);
    EXPECT_NE(at(webhooks[i], "namespaceSelector")
                  .find(R"({"key":"tangram.dev/min-memory-limits","operator":"In","values":[")" +
                        means + "\"]}"),
              std::string::npos);
  }
  const std::string& unknown = webhooks.back();
  EXPECT_EQ(at(unknown, "clientConfig.service.path"), path + "driver");
  EXPECT_NE(at(unknown, "namespaceSelector").find(R"("operator":"Exists")"), std::string::npos);
  EXPECT_NE(at(unknown, "namespaceSelector").find(R"(["mps","library","driver"])"),
            std::string::npos);
  for (const std::string& webhook : webhooks) EXPECT_EQ(at(webhook, "failurePolicy"), "Fail");
}

/// It reads what all other webhooks made of the pod.
TEST(ShippedMemoryLimitsTest, ComesLast) {
  const auto objects = objects_of("memory-limits.yaml");
  ASSERT_EQ(objects.size(), 1U);
  EXPECT_EQ(at(objects[0].json, "metadata.name"), "zz-tangram-memory-limits");
}

std::string policy_of(const std::string& kind, const std::string& name) {
  for (const auto& object : objects_of("policies.yaml")) {
    if (at(object.json, "kind") == kind && at(object.json, "metadata.name") == name) {
      return object.json;
    }
  }
  return "";
}

class ShippedCardsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ShippedCardsTest, AreThoseThatTheWebhookKnows) {
  const std::string policy = policy_of("ValidatingAdmissionPolicy", GetParam());
  ASSERT_EQ(at(policy, "spec.variables.0.name"), "cards");
  std::string cards;
  for (const std::string& card : testing::shipped_settings().card_resources) {
    cards += (cards.empty() ? "[\"" : ", \"") + card + "\"";
  }
  EXPECT_EQ(at(policy, "spec.variables.0.expression"), cards + "]");
  ASSERT_EQ(at(policy, "spec.variables.1.name"), "amounts");
  std::string amounts;
  for (const std::string_view amount : kAmountResources) {
    amounts += (amounts.empty() ? "[\"" : ", \"") + std::string(amount) + "\"";
  }
  EXPECT_EQ(at(policy, "spec.variables.1.expression"), amounts + "]");
  EXPECT_EQ(at(policy, "spec.failurePolicy"), "Fail");
  const std::string binding = policy_of("ValidatingAdmissionPolicyBinding", GetParam());
  EXPECT_EQ(at(binding, "spec.validationActions"), R"(["Deny"])");
}

INSTANTIATE_TEST_SUITE_P(Policies, ShippedCardsTest,
                         ::testing::Values("tangram-hidden-cards", "tangram-card-amounts"),
                         [](const auto& row) {
                           const bool amounts = std::string_view(row.param).ends_with("amounts");
                           return amounts ? "Amounts" : "Hidden";
                         });

TEST(ShippedCardAmountsTest, AreBoundedInEveryNamespaceAsByTheWebhook) {
  const auto expect_bound = [](const char* policy, const std::string& place, const char* variable) {
    const std::string json = policy_of("ValidatingAdmissionPolicy", policy);
    ASSERT_EQ(at(json, "spec.variables." + place + ".name"), variable);
    EXPECT_NE(at(json, "spec.variables." + place + ".expression")
                  .find(R"(isGreaterThan(quantity("10T")))"),
              std::string::npos);
  };
  expect_bound("tangram-card-amounts", "3", "wrapping");
  expect_bound("tangram-hidden-cards", "9", "exposed");
  EXPECT_EQ(KubeQuantity::parse("10T")->units_ceil(), kMostOfAResource);
  EXPECT_EQ(at(policy_of("ValidatingAdmissionPolicyBinding", "tangram-card-amounts"),
               "spec.matchResources"),
            "");
}

TEST(ShippedHiddenPolicyTest, HoldsWhereTheWebhookHidesCards) {
  const std::string binding = policy_of("ValidatingAdmissionPolicyBinding", "tangram-hidden-cards");
  ASSERT_NE(binding, "");
  std::string selector;
  for (const std::string& webhook : webhooks_of("webhook.yaml")) {
    if (at(webhook, "clientConfig.service.path") != "/admission/validate/hidden") continue;
    selector = at(webhook, "namespaceSelector");
  }
  EXPECT_EQ(at(binding, "spec.matchResources.namespaceSelector"), selector);
}

/// All expressions of a file, by the name of their registration or policy.
std::vector<std::pair<std::string, std::string>> expressions_of(const std::string& file) {
  std::vector<std::pair<std::string, std::string>> found;
  const auto add = [&](const std::string& in, const std::string& list, const std::string& name) {
    for (int i = 0; !at(in, list + std::to_string(i)).empty(); ++i) {
      found.emplace_back(name, at(in, list + std::to_string(i) + ".expression"));
    }
  };
  for (const std::string& webhook : webhooks_of(file)) {
    add(webhook, "matchConditions.", at(webhook, "name"));
  }
  for (const auto& object : objects_of(file)) {
    for (const char* list : {"spec.matchConditions.", "spec.variables.", "spec.validations."}) {
      add(object.json, list, at(object.json, "metadata.name"));
    }
  }
  return found;
}

constexpr std::array kExpressionFiles{"webhook.yaml",         "webhook-foreign.yaml",
                                      "quota.yaml",           "policies.yaml",
                                      "namespace-rules.yaml", "memory-limits.yaml"};

// The API server's time for a loop grows with the square of its length.
TEST(ShippedExpressionsTest, LookAtSizesBeforeTheyLoop) {
  const std::regex loop(R"((object\.metadata\.annotations|variables\.now|variables\.notes|)"
                        R"(object\.spec\.\w*[cC]ontainers\)?|variables\.added)\s*)"
                        R"(\)?\s*\.(exists|filter|all)\()");
  const std::regex size(R"(size\((old)?[oO]bject\.(metadata\.annotations|spec\.containers)\))"
                        R"(|variables\.(few|containers)\b)");
  int loops = 0;
  for (const char* file : kExpressionFiles) {
    for (const auto& [name, expression] : expressions_of(file)) {
      std::smatch looped;
      if (!std::regex_search(expression, looped, loop)) continue;
      ++loops;
      std::smatch sized;
      ASSERT_TRUE(std::regex_search(expression, sized, size)) << file << ' ' << name << expression;
      EXPECT_LT(sized.position(), looped.position()) << file << ' ' << name << expression;
    }
  }
  EXPECT_GE(loops, 20);
}

// The API server leaves out an empty one, and the expression would fail for the pod itself.
TEST(ShippedExpressionsTest, ReadNoFieldThatSomeRequestsDoNotHave) {
  for (const char* file : kExpressionFiles) {
    for (const auto& [name, expression] : expressions_of(file)) {
      EXPECT_EQ(expression.find("request.subResource"), std::string::npos) << file << ' ' << name;
    }
  }
}

TEST(ShippedExpressionsTest, HaveTheLimitsOfTheWebhook) {
  const std::regex number(R"((<=|>)\s*([0-9]+))");
  int numbers = 0;
  for (const char* file : kExpressionFiles) {
    for (const auto& [name, expression] : expressions_of(file)) {
      const std::sregex_iterator end;
      for (std::sregex_iterator i(expression.begin(), expression.end(), number); i != end; ++i) {
        const std::size_t limit = std::stoul((*i)[2]);
        if (limit == 0) continue;
        ++numbers;
        EXPECT_TRUE(limit == kMaxAnnotations || limit == kMaxContainers || limit == kMaxResources)
            << file << ' ' << name << ": " << expression;
      }
    }
  }
  EXPECT_GE(numbers, 30);
}

TEST(ShippedExpressionsTest, LetUpdatesThatChangeNoAnnotationPass) {
  const std::string same = "object.metadata.annotations == oldObject.metadata.annotations";
  int changes = 0;
  for (const char* file : {"webhook.yaml", "quota.yaml", "policies.yaml", "namespace-rules.yaml"}) {
    std::set<std::string> passing;
    std::set<std::string> comparing;
    for (const auto& [name, expression] : expressions_of(file)) {
      if (expression.find(same) != std::string::npos) passing.insert(name);
      if (name == "changes.tangram.dev" || name.starts_with("quota-") ||
          name == "tangram-bound-requests" || name == "tangram-sizes" ||
          name == "tangram-namespace-rules") {
        comparing.insert(name);
      }
    }
    EXPECT_EQ(passing, comparing) << file;
    changes += static_cast<int>(passing.size());
  }
  EXPECT_EQ(changes, 8);
}

// A revision of a grant is no change of the request; the pod may be older than the rule.
TEST(ShippedNamespaceRulesTest, LeaveGrantsToTheirOwnPolicy) {
  int changes = 0;
  for (const auto& object : objects_of("namespace-rules.yaml")) {
    for (int i = 0; !at(object.json, "spec.variables." + std::to_string(i)).empty(); ++i) {
      const std::string variable = at(object.json, "spec.variables." + std::to_string(i));
      if (at(variable, "name") != "changed") continue;
      ++changes;
      EXPECT_NE(at(variable, "expression").find("name != \"tangram.dev/gpu-grant\""),
                std::string::npos);
    }
  }
  EXPECT_EQ(changes, 1);
}

/// The API server copies annotations, and from Kubernetes 1.35 labels, from a Binding to its pod.
TEST(ShippedExtenderPolicyTest, LetsItsBindingsCarryNothingButAGrant) {
  int policies = 0;
  int denied = 0;
  for (const auto& object : objects_of("scheduler/policy.yaml")) {
    if (at(object.json, "spec.policyName") == "tangram-extender-bindings") {
      denied += at(object.json, "spec.validationActions") == R"(["Deny"])" ? 1 : 0;
    }
    if (at(object.json, "kind") != "ValidatingAdmissionPolicy" ||
        at(object.json, "metadata.name") != "tangram-extender-bindings") {
      continue;
    }
    ++policies;
    const std::string rules = "spec.matchConstraints.resourceRules.0.";
    EXPECT_EQ(at(object.json, rules + "resources"), R"(["pods/binding","bindings"])");
    EXPECT_EQ(at(object.json, rules + "operations"), R"(["CREATE"])");
    EXPECT_EQ(at(object.json, "spec.matchConditions.0.expression"),
              "request.userInfo.username == '" + testing::shipped_settings().extender_user + "'");
    // The API server's own, which it adds before it evaluates policies.
    EXPECT_EQ(at(object.json, "spec.validations.0.expression"),
              "!has(object.metadata.labels) || (size(object.metadata.labels) <= 2 && "
              "object.metadata.labels.all(name,\n  name in ['topology.kubernetes.io/zone', "
              "'topology.kubernetes.io/region']))");
    EXPECT_NE(at(object.json, "spec.validations.1.expression")
                  .find("size(object.metadata.annotations) == 1 && '" +
                        std::string(model::kGrantAnnotation) + "' in object.metadata.annotations"),
              std::string::npos);
  }
  EXPECT_EQ(policies, 1);
  EXPECT_EQ(denied, 1);
}

bool receives(const std::string& webhook, const char* operation, const char* resource) {
  for (int i = 0; !at(webhook, "rules." + std::to_string(i)).empty(); ++i) {
    const std::string rule = at(webhook, "rules." + std::to_string(i));
    if (at(rule, "operations").find(operation) == std::string::npos) continue;
    if (at(rule, "resources").find("\"" + std::string(resource) + "\"") != std::string::npos) {
      return true;
    }
  }
  return false;
}

bool is_for_label(const std::string& webhook, const std::string& operation) {
  return at(webhook, "namespaceSelector")
             .find(R"("key":"tangram.dev/admission","operator":")" + operation +
                   R"(","values":["enabled"])") != std::string::npos;
}

/// It receives only changes of requests and grants, or, where that cannot be said, all changes.
bool is_about_changes(const std::string& webhook) {
  return at(webhook, "name") == "changes.tangram.dev";
}

TEST(ShippedHidingTest, FailsClosedInLabelledNamespaces) {
  for (const char* file : {"webhook.yaml", "webhook-by-label.yaml"}) {
    int hiding = 0;
    for (const std::string& webhook : webhooks_of(file)) {
      const bool pods = receives(webhook, "CREATE", "pods");
      const bool debugging = receives(webhook, "UPDATE", "pods/ephemeralcontainers");
      if ((!pods && !debugging) || is_about_changes(webhook)) continue;
      SCOPED_TRACE(std::string(file) + " " + at(webhook, "name"));
      if (is_for_label(webhook, "NotIn")) continue;
      EXPECT_EQ(at(webhook, "failurePolicy"), "Fail");
      const bool checks = at(webhook, "clientConfig.service.path") == "/admission/validate/hidden";
      if (!checks) continue;
      ++hiding;
      EXPECT_TRUE(pods && debugging);
      EXPECT_TRUE(is_for_label(webhook, "In"));
      EXPECT_EQ(at(webhook, "matchConditions"), "") << "it sees every pod, whatever that requests";
    }
    EXPECT_EQ(hiding, 1) << file;
  }
}

TEST(ShippedDebuggingTest, DoesNotWaitForTheWebhookInOtherNamespaces) {
  for (const char* file : {"webhook.yaml", "webhook-by-label.yaml", "webhook-foreign.yaml"}) {
    for (const std::string& webhook : webhooks_of(file)) {
      if (!receives(webhook, "UPDATE", "pods/ephemeralcontainers")) continue;
      if (webhook.find("changes-a-request-or-a-grant") != std::string::npos) continue;
      EXPECT_TRUE(is_for_label(webhook, "In") || at(webhook, "failurePolicy") == "Ignore")
          << at(webhook, "name");
    }
  }
}

TEST(ShippedStatusTest, OfRunningPodsDoesNotWaitForTheWebhook) {
  for (const char* file : {"webhook.yaml", "webhook-by-label.yaml"}) {
    for (const std::string& webhook : webhooks_of(file)) {
      if (webhook.find("pods/status") == std::string::npos) continue;
      const bool narrow = webhook.find("changes-a-request-or-a-grant") != std::string::npos;
      EXPECT_TRUE(narrow || at(webhook, "failurePolicy") == "Ignore") << at(webhook, "name");
    }
  }
}

}  // namespace
}  // namespace tangram::extender
