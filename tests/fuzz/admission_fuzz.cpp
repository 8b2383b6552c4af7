#include "base/json_members.hpp"
#include "extender/admission/least_memory_limits.hpp"
#include "extender/admission/limits.hpp"
#include "extender/admission/mutate.hpp"
#include "extender/admission/review.hpp"
#include "extender/admission/validate.hpp"
#include "model/request.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using namespace tangram;
using namespace tangram::extender;
using fuzz::require;

bool is_json(std::string text) {
  json::Reader in(text);
  in.skip();
  return in.finish().has_value();
}

/// The scope names all that is looked at: a pod of which all is kept gets the same answer.
void require_same_answer(std::string text, const kube::PodManifest& pod,
                         const AdmissionSettings& settings) {
  json::Reader in(text);
  kube::PodManifest whole;
  const auto read = [](json::Reader& object) { return kube::read_manifest(object); };
  const auto request = [&](json::Reader&) {
    json::read_members(in, "object", json::value(whole, read));
  };
  json::read_members(in, "request", request);
  if (!in.finish() || !too_large(whole).empty() || !too_large(pod).empty()) return;
  whole.ns = pod.ns;
  if (whole.name.empty()) whole.name = pod.name;
  const AdmissionResponse all = mutate(whole, settings);
  const AdmissionResponse kept = mutate(pod, settings);
  require(all.refusal == kept.refusal && all.patch == kept.patch && all.warnings == kept.warnings);
}

/// What the outline leaves out is not read: the pod is the same without one.
void require_same_pod(std::string text, const kube::PodManifest& pod) {
  json::Reader in(text);
  kube::PodManifest whole;
  const auto read = [](json::Reader& object) {
    return kube::read_manifest(object, admission_scope());
  };
  const auto request = [&](json::Reader&) {
    json::read_members(in, "object", json::value(whole, read));
  };
  json::read_members(in, "request", request);
  if (!in.finish()) return;  // wrong in what is left out: the same key twice, or too deep
  whole.ns = pod.ns;
  if (whole.name.empty()) whole.name = pod.name;
  require(whole == pod);
}

AdmissionSettings settings_with_everything() {
  AdmissionSettings settings;
  settings.other_systems = {.nvidia = true, .hami = true, .gpushare = true, .kai = true};
  settings.scheduler_name = "tangram";
  settings.replaced_schedulers = {"default-scheduler"};
  settings.runtime_class = "nvidia";
  settings.node_selector = true;
  settings.extender_user = "extender";
  return settings;
}

void review(const std::string& text) {
  static const AdmissionSettings kSettings = settings_with_everything();
  const std::string_view uid = uid_of_review(text);
  const auto request = decode_review(text);
  if (!request) {
    require(!request.error().message.empty());
    return;
  }
  require(uid.empty() || uid == request->uid);
  AdmissionResponse answer;
  if (request->pod) {
    require_same_pod(text, *request->pod);
    require_same_answer(text, *request->pod, kSettings);
    AdmissionResponse mutation = mutate(*request->pod, kSettings);
    require(mutation.patch.empty() || is_json(mutation.patch));
    const AdmissionResponse limited =
        require_memory_limits(*request->pod, kSettings, model::MemoryLimits::kDriver);
    require(limited.patch.empty() || is_json(limited.patch));
    require(limited.refusal.find('\n') == std::string::npos);
    answer.patch = std::move(mutation.patch);
    answer.warnings = std::move(mutation.warnings);
    require(is_json(encode_review(request->uid, answer)));
  }
  if (request->pod && request->old_pod) {
    const AdmissionResponse mutation =
        mutate_ephemeral(*request->pod, *request->old_pod, kSettings);
    require(mutation.patch.empty() || is_json(mutation.patch));
  }
  answer = validate(*request, kSettings,
                    {.counted = {model::kMilliResource, model::kMemoryResource}, .hidden = true});
  require(is_json(encode_review(request->uid, answer)));
  require(answer.refusal.find('\n') == std::string::npos);
  require(answer.refusal.size() < 50'000);
}

}  // namespace

/// Any text: is refused with a message that can be sent, or gets two answers that are JSON, of
/// which a refusal is one line of bounded length; at a cost that its size bounds.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  fuzz::require_cheap(size, [&] { review(text); });
  return 0;
}
