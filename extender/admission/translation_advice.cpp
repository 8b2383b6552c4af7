// Where a namespace has a quota, a translated request may not count in it. The author has not
// written Tangram's annotations, and can mend only the manifest.

#include "extender/admission/translation_reading.hpp"
#include "model/request.hpp"

#include <utility>

namespace tangram::extender {

namespace {

using model::ShareForm;

/// In Tangram's annotations, instead of KAI's.
std::string own_form(const model::Share& share, std::string_view resource) {
  const bool by_fraction = share.form == ShareForm::kFraction && resource == model::kMilliResource;
  if (!by_fraction) return "tangram.dev/gpu-mem and tangram.dev/gpu-compute";
  return model::full_name(model::kFractionKey) + ": \"" + model::share_text(share.fraction) + "\"";
}

/// HAMi's and gpushare's resources are gone when the request is checked.
std::string for_resources(const model::Share& share, std::string_view resource,
                          const OtherSystems& systems) {
  const bool compute = resource == model::kMilliResource;
  std::string advice;
  const auto add = [&](std::string_view written, std::string_view instead) {
    advice.append("; if the manifest has ").append(written).append(", ").append(instead);
  };
  if (share.form == ShareForm::kFraction && systems.hami) {
    add("nvidia.com/gpumem-percentage",
        compute ? "write nvidia.com/gpucores with the same number beside it"
                : "write nvidia.com/gpumem instead");
  }
  if (share.form == ShareForm::kMemory && compute) {
    if (systems.hami) add("nvidia.com/gpumem", "write nvidia.com/gpucores beside it");
    if (systems.gpushare) {
      add("aliyun.com/gpu-mem", "write tangram.dev/gpu-mem and tangram.dev/gpu-compute instead");
    }
  }
  return advice;
}

}  // namespace

std::string counting_advice(const kube::PodManifest& pod, const model::Share& share,
                            std::string_view resource, const OtherSystems& systems,
                            std::string plain) {
  const std::string kai = systems.kai ? translation::kai_request(pod) : "";
  if (kai.empty()) return std::move(plain += for_resources(share, resource, systems));
  return "Tangram made it from the annotation " + kai + "; write " + own_form(share, resource) +
         " instead of that";
}

}  // namespace tangram::extender
