#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/scheduling/decision_log.hpp"
#include "extender/scheduling/offers.hpp"
#include "extender/scheduling/promises.hpp"
#include "extender/scheduling/wire.hpp"
#include "kube/client.hpp"
#include "model/grant_reading.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace tangram::extender {

/// How binds ended; the labels of tangram_binds_total.
enum class BindOutcome {
  kBound,
  kAlreadyBound,  ///< a repeated request for a pod that is bound there
  kNoRoom,        ///< the node cannot take the pod (any more)
  kRefused,       ///< the API server said no: 4xx
  kUnknown,       ///< no answer, and the pod was not seen bound; the allocation stays
  kInvalid,       ///< the request or the pod's annotations are wrong
  kUnavailable,   ///< nothing was tried: API server or queue
};
inline constexpr std::size_t kBindOutcomes = 7;
[[nodiscard]] std::string_view to_string(BindOutcome outcome);

struct BindSettings {
  std::chrono::milliseconds api_timeout{4'000};  ///< of a request outside a bind
  std::chrono::milliseconds assume_ttl{70'000};
};

/// Binds pods: chooses the cards, assumes them in the ledger, sends one write to the API server,
/// and resolves the assumption by its answer. No lock is held while the API server is asked, so any
/// number of binds run at once. Blocks; call it on a worker thread. Threads: safe.
///
/// A write whose outcome is unknown may take effect late. Its allocation stays until the pod is
/// seen bound, sent again to the same node with the same cards, or read unbound after assume_ttl,
/// which is longer than the API server works on a request.
class Binder {
 public:
  struct Parts {
    kube::KubeApi& api;
    cluster::SharedLedger& ledger;
    const cluster::PodTable& pods;
    Offers& offers;
    const Promises& promises;
    const cluster::PolicySource& policies;
    const Clock& clock;
    /// May a write be sent that takes this long at most? Only a leader may, and only while its
    /// lease outlives the write.
    Required<std::function<bool(std::chrono::milliseconds)>> may_write;
    Required<model::Signer> sign;           ///< of grants
    Required<model::SignatureCheck> check;  ///< of grants that are read
  };
  Binder(Parts parts, BindSettings settings)
      : parts_(std::move(parts)), settings_(settings), log_(parts_.clock) {}

  struct BindResult {
    BindOutcome outcome;
    std::string error;  ///< empty = bound; stable: no numbers that change between attempts
  };
  /// Safe to repeat: a pod that is bound to that node already is answered as bound.
  /// @param deadline  when the caller stops waiting: all requests together end before it
  BindResult bind(const BindArgs& args, TimePoint deadline);

  /// Looks after pods whose bind was never confirmed or shown by the watch in time: reads each
  /// and confirms or releases it. @returns how many were looked at
  /// A few at a time, for each may take as long as the API server likes.
  std::size_t resolve_overdue(const std::stop_token& stop = {});

 private:
  BindResult try_bind(const BindArgs& args, TimePoint deadline, Decision& decision);
  /// Of the time that is left until the deadline.
  [[nodiscard]] std::chrono::milliseconds part(int percent, TimePoint deadline) const;
  [[nodiscard]] Result<cluster::PodPtr> find_pod(const BindArgs& args, TimePoint deadline);
  [[nodiscard]] Result<model::Allocation> assume(const BindArgs& args, const kube::Pod& pod,
                                                 const model::PodDemand& demand,
                                                 const policies::Policy& policy);
  BindResult bind_again(const BindArgs& args, TimePoint deadline,
                        const model::Ledger::Entry& entry);
  [[nodiscard]] std::string grant_text(const model::Allocation& allocation,
                                       std::string issued_at) const;
  /// Until when an earlier write of the same may still take effect; nothing = none was sent.
  using UnknownUntil = std::optional<TimePoint>;
  BindResult send(const BindArgs& args, TimePoint deadline, const model::Allocation& allocation,
                  UnknownUntil before);
  void give_up(const BindArgs& args, UnknownUntil before);
  /// @param issued_at  of the grant that the API server took; "" = it has none
  BindResult confirmed(const BindArgs& args, bool is_signed, std::string issued_at);
  BindResult check_bind(const BindArgs& args, TimePoint deadline,
                        const model::Allocation& allocation, const Error& error);
  [[nodiscard]] Result<kube::Pod> read_outcome(const BindArgs& args, TimePoint deadline);
  void resolve(const model::Ledger::Overdue& late);
  BindResult refuse(const BindArgs& args, BindOutcome outcome, std::string why);

  Parts parts_;
  BindSettings settings_;
  DecisionLog log_;
};

}  // namespace tangram::extender
