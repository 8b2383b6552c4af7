#include "extender/app.hpp"
#include "extender/scheduling/preemption.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace tangram::extender {
namespace {

// What safety depends on has no default: leaving it out does not compile. Each pair of concepts
// differs in that one member.

using MayWrite = bool (*)(std::chrono::milliseconds);

template <class Parts>
concept BindsWith = requires(kube::KubeApi& api, cluster::SharedLedger& ledger,
                             const cluster::PodTable& pods, Offers& offers, Promises& promises,
                             const cluster::PolicySource& policies, const Clock& clock,
                             MayWrite may_write) {
  Parts{.api = api,
        .ledger = ledger,
        .pods = pods,
        .offers = offers,
        .promises = promises,
        .policies = policies,
        .clock = clock,
        .may_write = may_write,
        .sign = model::Signer(),
        .check = model::SignatureCheck()};
};
template <class Parts>
concept BindsWithoutPermission = requires(kube::KubeApi& api, cluster::SharedLedger& ledger,
                                          const cluster::PodTable& pods, Offers& offers,
                                          Promises& promises, const cluster::PolicySource& policies,
                                          const Clock& clock) {
  Parts{.api = api,
        .ledger = ledger,
        .pods = pods,
        .offers = offers,
        .promises = promises,
        .policies = policies,
        .clock = clock,
        .sign = model::Signer(),
        .check = model::SignatureCheck()};
};
template <class Parts>
concept BindsWithoutSignatures = requires(kube::KubeApi& api, cluster::SharedLedger& ledger,
                                          const cluster::PodTable& pods, Offers& offers,
                                          Promises& promises, const cluster::PolicySource& policies,
                                          const Clock& clock, MayWrite may_write) {
  Parts{.api = api,
        .ledger = ledger,
        .pods = pods,
        .offers = offers,
        .promises = promises,
        .policies = policies,
        .clock = clock,
        .may_write = may_write};
};
static_assert(BindsWith<Binder::Parts>);
static_assert(!BindsWithoutPermission<Binder::Parts>);
static_assert(!BindsWithoutSignatures<Binder::Parts>);

template <class Parts>
concept EvictsWith = requires(kube::KubeApi& api, const Clock& clock, MayWrite may_write) {
  Parts{.api = api, .clock = clock, .may_write = may_write, .report = nullptr};
};
template <class Parts>
concept EvictsWithoutPermission = requires(kube::KubeApi& api, const Clock& clock) {
  Parts{.api = api, .clock = clock, .report = nullptr};
};
static_assert(EvictsWith<Evictor::Parts>);
static_assert(!EvictsWithoutPermission<Evictor::Parts>);

template <class Who>
concept PreemptsWith = requires(const kube::Pod& pod, const model::PodDemand& demand,
                                const policies::Policy& policy, const model::Ledger::Uids& spared,
                                model::SearchBudget& searches, model::SearchBudget& tries) {
  Who{.pod = pod,
      .demand = demand,
      .policy = policy,
      .spared = spared,
      .budgets = nullptr,
      .searches = searches,
      .tries = tries};
};
template <class Who>
concept PreemptsWithoutSparing = requires(const kube::Pod& pod, const model::PodDemand& demand,
                                          const policies::Policy& policy,
                                          model::SearchBudget& searches,
                                          model::SearchBudget& tries) {
  Who{.pod = pod,
      .demand = demand,
      .policy = policy,
      .budgets = nullptr,
      .searches = searches,
      .tries = tries};
};
static_assert(PreemptsWith<PreemptRequest>);
static_assert(!PreemptsWithoutSparing<PreemptRequest>);

template <class Parts>
concept RunsWith = requires(kube::KubeApi& api, const Clock& clock) {
  Parts{.api = api, .clock = clock, .replica = std::nullopt};
};
template <class Parts>
concept RunsWithoutSayingWhoItIs = requires(kube::KubeApi& api, const Clock& clock) {
  Parts{.api = api, .clock = clock};
};
static_assert(RunsWith<App::Parts>);
static_assert(!RunsWithoutSayingWhoItIs<App::Parts>);

}  // namespace
}  // namespace tangram::extender
