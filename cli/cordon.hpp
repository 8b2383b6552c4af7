#pragma once

#include "base/result.hpp"
#include "kube/api.hpp"

#include <string>
#include <string_view>

/// `cordon-card`, `drain-card` and `uncordon-card`: each one PATCH of the annotations
/// tangram.dev/cordon and tangram.dev/drain of one Node.
namespace tangram::cli {

/// Longer reasons do not fit into the cards annotation beside another one.
inline constexpr std::size_t kMaxReason = 256;

/// The annotation with one more card; other items stay as they are written. A card that is listed
/// already gets the new reason.
/// @param reason  may be empty
[[nodiscard]] std::string with_card(std::string_view annotation, std::string_view uuid,
                                    std::string_view reason);
/// The annotation without the card; "" if it was the last one.
[[nodiscard]] std::string without_card(std::string_view annotation, std::string_view uuid);

/// @param card   its UUID, or "NODE/UUID"
/// @param flags  of kubectl, for the commands in messages: flags_of()
/// @returns a sentence that says what was done, or that nothing was to be done;
///          kInvalidArgument  a reason that the annotation cannot hold
///          kNotFound         no node lists the card; the message names cards with this prefix
///          kConflict         several nodes list the UUID, forbidden, or others kept changing the
///                            node; of an instance whose physical card is drained
///          kUnavailable      the API server rejects it
/// Ends a drain of the card: its pods keep running.
Result<std::string> cordon_card(kube::KubeApi& api, const std::string& card,
                                const std::string& reason, const std::string& flags);
/// Cordons the card and has the extender evict its pods. @returns as above
Result<std::string> drain_card(kube::KubeApi& api, const std::string& card,
                               const std::string& reason, const std::string& flags);
/// Also ends a drain. A card that no node lists any more may still be named by a node's
/// annotations: then it is removed from these.
/// @returns as above; also kConflict if the card is cordoned otherwise than by its own name, and
///          not drained
Result<std::string> uncordon_card(kube::KubeApi& api, const std::string& card,
                                  const std::string& flags);

}  // namespace tangram::cli
