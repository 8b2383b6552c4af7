#pragma once

#include "extender/admission/review.hpp"
#include "extender/admission/settings.hpp"

#include <string_view>
#include <vector>

namespace tangram::extender {

/// What is also checked, by the labels of the pod's namespace.
struct Checks {
  /// Aggregate resources that every request must count in, since quotas are on them.
  std::vector<std::string_view> counted = {};
  /// The node's cards are hidden from every new container, or it holds some.
  bool hidden = false;
};

/// Checks what the API server submits:
///
///     a new pod        the request can be read, and the pod has what mutate() gives it; no grant
///     a changed pod    the grant stays as it was, unless the extender revises or repairs it, which
///                      changes nothing else; a changed request is checked like a new pod's; once
///                      the pod is bound, it may ask for other amounts of the same cards
///     a new ephemeral container   does not show itself cards
///     a Binding        carries nothing of Tangram's, unless the extender made it
///
/// A refusal names the pod and holds every mistake of it, each with what to write instead. A pod
/// that was there before the webhook, however wrong, can be changed otherwise. Pure.
[[nodiscard]] AdmissionResponse validate(const AdmissionRequest& request,
                                         const AdmissionSettings& settings,
                                         const Checks& checks = {});

}  // namespace tangram::extender
