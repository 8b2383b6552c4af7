#pragma once

#include "kube/api.hpp"
#include "kube/local/object.hpp"

#include <boost/system/result.hpp>

#include <string>
#include <string_view>
#include <utility>

/// How the in-memory API server refuses: statuses, reasons and sentences of a real
/// one.
namespace tangram::kube {

struct Refusal {
  Refusal() = default;
  // A constructor, so that no number converts to a refusal by itself.
  Refusal(int status, std::string why, std::string sentence, std::string of_resource,
          std::string of_name)
      : code(status),
        reason(std::move(why)),
        message(std::move(sentence)),
        resource(std::move(of_resource)),
        name(std::move(of_name)) {}

  int code = 0;
  std::string reason;  ///< metav1.StatusReason: "NotFound"
  std::string message;
  std::string resource;  ///< details.kind; empty = no details
  std::string name;
};

/// A value, or the refusal to answer with.
template <class T>
using ApiResult = boost::system::result<T, Refusal>;

[[nodiscard]] Refusal bad_request(std::string message);
[[nodiscard]] Refusal not_found(ResourceKind kind, std::string_view name);
[[nodiscard]] Refusal no_such_path();
[[nodiscard]] Refusal already_exists(ResourceKind kind, std::string_view name);
/// @param resource  "pods", or "pods/binding"
[[nodiscard]] Refusal conflict(std::string_view resource, std::string_view name,
                               std::string_view why);
[[nodiscard]] Refusal modified_meanwhile(ResourceKind kind, std::string_view name);
[[nodiscard]] Refusal invalid(std::string_view kind, std::string_view name, std::string_view why);
[[nodiscard]] Refusal method_not_allowed();
[[nodiscard]] Refusal unsupported_media_type(std::string_view what);
[[nodiscard]] Refusal expired(std::string_view why);
[[nodiscard]] Refusal too_large_version(std::uint64_t requested, std::uint64_t current);
[[nodiscard]] Refusal too_large_body(std::size_t limit);

/// The metav1.Status of a refusal.
[[nodiscard]] std::string status_text(const Refusal& refusal);
[[nodiscard]] Response response(const Refusal& refusal);
/// A metav1.Status "Success".
[[nodiscard]] Response success(int code);

}  // namespace tangram::kube
