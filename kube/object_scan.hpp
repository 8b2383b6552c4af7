#pragma once

#include "kube/objects.hpp"

#include <optional>
#include <string>
#include <string_view>

/// Reads a few members of an object's text by quotes and brackets alone, and leaves the text as it
/// is: for objects that may not be readable otherwise. A deletion must release what the pod had,
/// whatever else is in the object.
///
/// A member is found by the names of its own path only: what the same names mean in a text, a list
/// or a template inside the object does not count. Takes time linear in the text.
namespace tangram::kube {

/// The text of a JSON string; "" if the value is none.
[[nodiscard]] std::string scan_text(std::string_view value);

struct ObjectId {
  std::string uid;  ///< "" = it has none, as the next two
  std::string ns;
  std::string name;
};
[[nodiscard]] ObjectId scan_id(std::string_view object);

/// What can be told of a pod that decode_pod() does not read: its id, node, priority, own
/// annotations, labels, and whether it is being deleted or has finished. It has no containers and
/// requests nothing.
/// @returns nothing if it has no UID
[[nodiscard]] std::optional<Pod> scan_pod(std::string_view object);

/// The object with null as its metadata.managedFields, which may be too deep for JsonDoc. Written
/// back so, the API server keeps those that it has.
[[nodiscard]] std::string without_managed_fields(std::string_view object);

}  // namespace tangram::kube
