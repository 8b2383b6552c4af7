#include "extender/admission/routes.hpp"

#include "model/request.hpp"

#include <utility>

namespace tangram::extender {

void add_admission_routes(http::Router& router, const AdmissionService& service) {
  router.add("POST", "/admission/mutate",
             [&service](http::Request request, http::Responder responder) {
               responder.send(service.mutate(std::move(request.body)));
             });
  const auto add_validate = [&](const std::string& below, std::vector<std::string_view> counted) {
    router.add(
        "POST", "/admission/validate" + below,
        [&service, counted = std::move(counted)](http::Request request, http::Responder responder) {
          responder.send(service.validate(std::move(request.body), counted));
        });
  };
  add_validate("", {});
  add_validate("/counted/gpu-milli", {model::kMilliResource});
  add_validate("/counted/gpu-mem-mib", {model::kMemoryResource});
  add_validate("/counted/gpu-milli/gpu-mem-mib", {model::kMilliResource, model::kMemoryResource});
}

}  // namespace tangram::extender
