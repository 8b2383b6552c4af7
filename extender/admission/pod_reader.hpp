#pragma once

#include "base/json.hpp"
#include "extender/admission/pod.hpp"

/// JSON to AdmittedPod.
namespace tangram::extender {

/// Reads a v1.Pod where the reader stands. Members that are not needed are skipped; one of the
/// wrong type, and a pod without metadata or spec, make the reader fail: a patch could not be
/// applied to it. The namespace is the request's matter.
[[nodiscard]] AdmittedPod read_admitted_pod(json::Reader& in);

/// The annotations of any object where the reader stands.
[[nodiscard]] Texts read_object_annotations(json::Reader& in);

}  // namespace tangram::extender
