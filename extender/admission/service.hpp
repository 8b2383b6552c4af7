#pragma once

#include "base/clock.hpp"
#include "extender/admission/settings.hpp"
#include "extender/admission/validate.hpp"
#include "http/body_budget.hpp"
#include "http/router.hpp"
#include "model/memory_limits.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tangram::extender {

enum class AdmissionCall : std::uint8_t { kMutate, kValidate };
inline constexpr std::size_t kAdmissionCalls = 2;
[[nodiscard]] std::string_view to_string(AdmissionCall call);

enum class AdmissionOutcome : std::uint8_t {
  kAllowed,  ///< unchanged
  kPatched,
  kRefused,
  kUnreadable,  ///< refused if its UID could be found; else 400: the text was no AdmissionReview v1
  kLate,        ///< 503: not begun, since the API server has given up by now
  kBusy,        ///< refused likewise: other large reviews take the memory for reading it
};
inline constexpr std::size_t kAdmissionOutcomes = 6;
[[nodiscard]] std::string_view to_string(AdmissionOutcome outcome);

/// The admission webhook: an AdmissionReview's text in, the response to it out. Has no side effects
/// and keeps no state, so dry-run requests are answered like any other, by every replica, synced or
/// not. Threads: safe; computes only, well below a millisecond for an ordinary pod, and in time
/// that grows with the size of the text alone: a review that is begun needs no deadline.
class AdmissionService {
 public:
  struct Done {
    AdmissionCall call;
    AdmissionOutcome outcome;
    std::chrono::nanoseconds took;
  };
  /// @param clock  that of the server; outlives the service
  /// @param done  called after every call, on any thread; may be null
  AdmissionService(AdmissionSettings settings, const Clock& clock,
                   std::function<void(const Done&)> done);

  /// @param source  who sent it, for sharing the memory
  [[nodiscard]] http::Response mutate(std::string body, const http::BodySource& source = {}) const;
  /// See require_memory_limits().
  [[nodiscard]] http::Response require_memory_limits(std::string body, model::MemoryLimits least,
                                                     const http::BodySource& source = {}) const;
  /// @param checks  with views of static storage
  [[nodiscard]] http::Response validate(std::string body, const Checks& checks,
                                        const http::BodySource& source = {}) const;

  /// For reading all reviews that are larger than http::kUncountedBodyBytes, at the same time and
  /// beside their texts. One address gets half, which is enough for the largest.
  static constexpr std::size_t kReadingMemory = std::size_t{256} << 20;

  /// The answer to a review whose caller has given up; nothing = it is worth beginning. The API
  /// server writes its time-out into the query; none of ours is above kLongestTimeout.
  [[nodiscard]] std::optional<http::Response> refuse_late(AdmissionCall call,
                                                          const http::Request& request) const;
  static constexpr std::chrono::seconds kLongestTimeout{5};

 private:
  template <class Handle>
  http::Response answer(AdmissionCall call, std::string body, const http::BodySource& source,
                        const Handle& handle) const;
  template <class Handle>
  std::pair<http::Response, AdmissionOutcome> read_and_answer(std::string body,
                                                              const Handle& handle) const;

  AdmissionSettings settings_;
  const Clock& clock_;
  std::function<void(const Done&)> done_;
  mutable http::BodyBudget reading_{kReadingMemory};
};

/// POST /admission/mutate and /admission/validate. Below the former: for namespaces that require
/// memory limits, memory-limits/mps, memory-limits/library and memory-limits/driver. Below the
/// latter: for namespaces whose containers must not see cards, hidden; for namespaces with a quota
/// on aggregate resources, counted/gpu-milli, counted/gpu-mem-mib and
/// counted/gpu-milli/gpu-mem-mib.
/// (Paths, because a webhook's address cannot have a query.)
/// @param service  outlives the router
void add_admission_routes(http::Router& router, const AdmissionService& service);

}  // namespace tangram::extender
