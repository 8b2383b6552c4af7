#include "tests/extender/admission/reviews.hpp"

#include "base/base64.hpp"
#include "base/json.hpp"
#include "base/rapidjson.hpp"
#include "extender/admission/service.hpp"
#include "kube/local/yaml_to_json.hpp"
#include "tests/extender/admission/json_patch_applier.hpp"
#include "tests/testing/manual_clock.hpp"

#include <stdexcept>

namespace tangram::testing {

namespace {

std::string text_of(const rapidjson::Value& value) {
  if (value.IsString()) return value.GetString();
  rapidjson::StringBuffer out;
  rapidjson::Writer<rapidjson::StringBuffer> writer(out);
  value.Accept(writer);
  return out.GetString();
}

std::string body_of(const http::Response& response) {
  if (response.status != 200) throw std::runtime_error(response.body);
  return response.body;
}

}  // namespace

std::string json_of(const std::string& yaml) {
  const auto objects = kube::yaml_to_json(yaml);
  if (!objects) throw std::runtime_error(objects.error().message + " in\n" + yaml);
  return objects->at(0).json;
}

extender::AdmissionSettings shipped_settings() {
  return extender::admission_settings(config::Config{});
}

std::string review_text(const Asking& asking) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("kind", "AdmissionReview").member("apiVersion", "admission.k8s.io/v1");
  out.key("request").begin_object().member("uid", "7f0c");
  out.key("resource").begin_object();
  out.member("group", "").member("version", "v1").member("resource", asking.resource).end_object();
  if (!asking.subresource.empty()) out.member("subResource", asking.subresource);
  out.member("name", asking.name).member("namespace", asking.ns);
  out.member("operation", asking.operation);
  out.key("userInfo").begin_object().member("username", asking.user).end_object();
  out.key("object").raw(asking.object).key("oldObject").raw(asking.old_object);
  out.member("dryRun", false).end_object().end_object();
  return text;
}

Verdict verdict_in(const std::string& response) {
  const auto text = [&](const std::string& path) { return at(response, "response." + path); };
  if (at(response, "apiVersion") != "admission.k8s.io/v1" ||
      at(response, "kind") != "AdmissionReview") {
    throw std::runtime_error("no AdmissionReview: " + response);
  }
  Verdict verdict;
  verdict.uid = text("uid");
  verdict.allowed = text("allowed") == "true";
  verdict.message = text("status.message");
  verdict.reason = text("status.reason");
  if (!text("status.code").empty()) verdict.code = std::stoi(text("status.code"));
  const std::string retry = text("status.details.retryAfterSeconds");
  if (!retry.empty()) verdict.retry_after_seconds = std::stoi(retry);
  if (!text("patch").empty()) {
    if (text("patchType") != "JSONPatch") throw std::runtime_error("patch without its type");
    verdict.patch = base64_decode(text("patch")).value();
  }
  for (int i = 0; !text("warnings." + std::to_string(i)).empty(); ++i) {
    verdict.warnings.push_back(text("warnings." + std::to_string(i)));
  }
  return verdict;
}

Verdict Webhook::mutate(const Asking& asking) const {
  const ManualClock clock;
  const extender::AdmissionService service(settings_, clock, nullptr);
  return verdict_in(body_of(service.mutate(review_text(asking))));
}

Verdict Webhook::require_memory_limits(const Asking& asking, model::MemoryLimits least) const {
  const ManualClock clock;
  const extender::AdmissionService service(settings_, clock, nullptr);
  return verdict_in(body_of(service.require_memory_limits(review_text(asking), least)));
}

Verdict Webhook::validate(const Asking& asking, const extender::Checks& checks) const {
  const ManualClock clock;
  const extender::AdmissionService service(settings_, clock, nullptr);
  return verdict_in(body_of(service.validate(review_text(asking), checks)));
}

std::string Webhook::mutated(const std::string& pod) const {
  const Verdict verdict = mutate({.object = pod});
  if (!verdict.allowed) throw std::runtime_error("mutate refuses: " + verdict.message);
  return verdict.patch.empty() ? pod : apply_json_patch(pod, verdict.patch);
}

std::string Webhook::refusal(const std::string& pod, const extender::Checks& checks) const {
  const Verdict verdict = validate({.object = mutated(pod)}, checks);
  if (verdict.allowed != verdict.message.empty())
    throw std::runtime_error("refused without a message");
  return verdict.message;
}

std::string at(const std::string& json, const std::string& path) {
  rapidjson::Document document;
  document.Parse(json.c_str());
  if (document.HasParseError()) throw std::runtime_error("no JSON: " + json);
  std::string pointer;
  for (const char c : "." + path) {
    // Names with dots and slashes are written with : and | for them.
    if (c == '.') {
      pointer += '/';
    } else if (c == ':') {
      pointer += '.';
    } else if (c == '|') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  const rapidjson::Value* found = rapidjson::Pointer(pointer.c_str()).Get(document);
  return found == nullptr || found->IsNull() ? "" : text_of(*found);
}

}  // namespace tangram::testing
