#pragma once

#include "extender/admission/service.hpp"
#include "http/router.hpp"

namespace tangram::extender {

/// POST /admission/mutate and /admission/validate; below the latter, for namespaces with a quota on
/// aggregate resources, counted/gpu-milli, counted/gpu-mem-mib and counted/gpu-milli/gpu-mem-mib.
/// (Paths, because a webhook's address cannot have a query.)
/// @param service  outlives the router
void add_admission_routes(http::Router& router, const AdmissionService& service);

}  // namespace tangram::extender
