#pragma once

#include "kube/local/object.hpp"
#include "kube/local/route.hpp"
#include "kube/local/status.hpp"

#include <cstdint>
#include <optional>
#include <string>

/// What a real API server checks and fills in when an object is written. Pure functions.
namespace tangram::kube {

/// What the server stamps on a new object.
struct Stamp {
  std::string uid;
  std::string time;    ///< creationTimestamp
  std::string suffix;  ///< behind generateName
};

/// Reads a body that should be an object of the route's kind.
struct Body {
  JsonDoc doc;
  ObjectHead head;
};
[[nodiscard]] ApiResult<Body> read_body(const Route& route, const std::string& text);

/// A new object as it will be stored. A pod begins as Pending, whatever status was sent, unless
/// `keep_status`.
[[nodiscard]] ApiResult<Content> created_object(const Route& route, Body body, const Stamp& stamp,
                                                bool keep_status);

/// An object as a PUT of `body` makes it.
[[nodiscard]] ApiResult<Content> replaced_object(const Route& route, const StoredObject& before,
                                                 Body body);

/// An object as a merge-patch makes it; of the status subresource where the route names it.
[[nodiscard]] ApiResult<Content> patched_object(const Route& route, const StoredObject& before,
                                                const JsonDoc& patch);

/// Of the stored object; empty = any.
struct Preconditions {
  std::string uid;
  std::string resource_version;
};

/// A POST to a pod's binding subresource.
struct BindingOrder {
  Preconditions preconditions;
  std::string node;
  std::optional<JsonDoc> annotations;  ///< {"metadata": {"annotations": {...}}}
};
[[nodiscard]] ApiResult<BindingOrder> read_binding(const Route& route, const std::string& body);
/// The pod as the binding makes it: node, annotations and condition in one write.
/// @param now  for the condition's transition time
[[nodiscard]] ApiResult<Content> bound_pod(const StoredObject& before, const BindingOrder& order,
                                           const std::string& now);

/// A DELETE.
struct DeleteOptions {
  std::optional<std::int64_t> grace;
  Preconditions preconditions;
  std::vector<std::string> dry_run;  ///< "All" = change nothing
};
/// @param grace  the query's gracePeriodSeconds; the body's wins
[[nodiscard]] ApiResult<DeleteOptions> read_delete_options(const std::string& body,
                                                           const std::string* grace);
/// A POST to a pod's eviction subresource.
[[nodiscard]] ApiResult<DeleteOptions> read_eviction(const Route& route, const std::string& body);
/// Pods that wait for their start are evicted, whatever budget they are under: so does a real
/// server (canIgnorePDB in pkg/registry/core/pod/storage/eviction.go). Of others it knows nothing.
[[nodiscard]] ApiResult<void> check_eviction(const StoredObject& before);
/// Seconds the object still has. 0 = it goes at once: all but a pod that may be running.
[[nodiscard]] ApiResult<std::int64_t> grace_of(ResourceKind kind, const StoredObject& before,
                                               const DeleteOptions& options);
/// The pod with its deletion time set; unchanged if that is due sooner already.
[[nodiscard]] Content deleting_pod(const StoredObject& before, const std::string& when,
                                   std::int64_t grace);

}  // namespace tangram::kube
