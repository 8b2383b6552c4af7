#pragma once

#include "base/result.hpp"
#include "kube/json_doc.hpp"
#include "kube/pod_manifest.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// Objects as the in-memory API server keeps them.
namespace tangram::kube {

enum class ResourceKind {
  kPods,
  kNodes,
  kLeases,
  kEvents,
  kBudgets,
  kNamespaces,
  kCapacities,
  kSecrets,
  kConfigMaps,
  kDeployments,
  kMutatingWebhooks,
  kValidatingWebhooks
};
inline constexpr std::size_t kResourceKinds = 12;

struct KindInfo {
  std::string_view prefix;       ///< of its paths: "/api/v1"
  std::string_view api_version;  ///< "v1"
  std::string_view plural;       ///< "pods"
  std::string_view kind;         ///< "Pod"
  std::string_view qualified;    ///< as messages name it: "leases.coordination.k8s.io"
  bool namespaced;
  bool has_status;  ///< the status is written through the subresource alone
};
[[nodiscard]] const KindInfo& info(ResourceKind kind);
inline constexpr ResourceKind kAllKinds[] = {ResourceKind::kPods,
                                             ResourceKind::kNodes,
                                             ResourceKind::kLeases,
                                             ResourceKind::kEvents,
                                             ResourceKind::kBudgets,
                                             ResourceKind::kNamespaces,
                                             ResourceKind::kCapacities,
                                             ResourceKind::kSecrets,
                                             ResourceKind::kConfigMaps,
                                             ResourceKind::kDeployments,
                                             ResourceKind::kMutatingWebhooks,
                                             ResourceKind::kValidatingWebhooks};

/// What selectors look at, kept beside the text so that selecting parses nothing.
struct Fields {
  std::string ns;
  std::string name;
  std::string node;   ///< spec.nodeName of a pod
  std::string phase;  ///< status.phase of a pod
  StringMap labels;
};

/// An object ready to be stored. The text leaves out what every answer adds: kind, apiVersion and
/// resourceVersion. It is the JSON behind `{"metadata":{"resourceVersion":"7",`.
struct Content {
  std::string tail;
  Fields fields;
};

/// An object as it was from one version on. Immutable.
struct StoredObject {
  Content content;
  std::uint64_t version = 0;

  [[nodiscard]] const Fields& fields() const { return content.fields; }
};
using ObjectPtr = std::shared_ptr<const StoredObject>;

/// "ns/name", or "name" where there are no namespaces. Sorts as etcd does.
[[nodiscard]] std::string object_key(std::string_view ns, std::string_view name);

/// Appends the text at a version: without kind and apiVersion, as list items are.
void append_item(std::string& out, const StoredObject& object, std::uint64_t version);
/// With kind and apiVersion: an answer, or what a watch shows.
void append_object(std::string& out, ResourceKind kind, const StoredObject& object,
                   std::uint64_t version);
[[nodiscard]] std::string object_text(ResourceKind kind, const StoredObject& object);

/// The members of an object that the server acts upon.
struct ObjectHead {
  std::string api_version;
  std::string kind;
  std::string generate_name;
  std::string uid;
  std::string resource_version;
  std::string deleted_at;  ///< metadata.deletionTimestamp; empty = it is not being deleted
  Fields fields;
  std::optional<std::int64_t> grace;           ///< spec.terminationGracePeriodSeconds
  std::optional<std::int64_t> deletion_grace;  ///< metadata.deletionGracePeriodSeconds
  bool gated = false;
};

/// @returns kInvalidArgument for wrong types, with the path
Result<ObjectHead> read_head(std::string text);

/// Strips what Content leaves out. `doc` must have metadata.uid.
[[nodiscard]] std::string tail_of(JsonDoc doc);

}  // namespace tangram::kube
