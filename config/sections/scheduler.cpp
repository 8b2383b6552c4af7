#include "config/rules.hpp"
#include "config/sections/sections.hpp"

namespace tangram::config {
namespace {

using Scheduler = Config::Scheduler;
constexpr Setting kSchedulerSettings[]{
    {"policy",
     "The policy for pods that name none in tangram.dev/gpu-policy; see docs/policies.md.",
     free_text<&Scheduler::policy, false>("the name of a policy")},
    {"short_list",
     "How many of the best nodes filter returns; 0 = all that fit. With 1, kube-scheduler need not "
     "score nodes, which is fastest. More count only with a weight of the extender below 121: "
     "then kube-scheduler's preferences have a say. See docs/policies.md.",
     number<&Scheduler::short_list>({0, "all nodes that fit"},
                                    {5000, "the largest cluster that Kubernetes supports"})},
    {"hold_ttl_ms",
     "How long room is reserved for a pod on the node that filter ranks first, until its bind "
     "comes. Other pods are not offered that room meanwhile, so few binds are rejected. 0 = no "
     "reservations.",
     number<&Scheduler::hold_ttl>(
         {0, "no reservations: bind rejects the later of two pods"},
         {60'000, "a pod whose bind never comes must not block a card for longer"})},
    {"long_hold_ttl_ms",
     "The same for a pod that may wait between filter and bind: it mounts volume claims, which may "
     "have to be provisioned first, or belongs to a group of the coscheduling plugin.",
     number<&Scheduler::long_hold_ttl>(
         {0, "not longer than other pods"},
         {900'000, "kube-scheduler gives up a volume after 10 minutes by default"})},
    {"wake",
     "Whether to make kube-scheduler try waiting pods again when room appears that its own events "
     "do not show; see docs/protocol.md. It writes an annotation of one object, at most once a "
     "second.",
     yes_or_no<&Scheduler::wake>()},
    {"assume_ttl_ms",
     "How long an assumed allocation waits for its bind's outcome before the pod itself is read. "
     "It is longer than the API server works on a request (its --request-timeout, 60 s by "
     "default), so that a bind which timed out cannot take effect after its room was given away.",
     number<&Scheduler::assume_ttl>(
         {5000, "kube-scheduler waits 5 s for a bind by default; before that it is in flight"},
         {600'000, "a lost bind must not make a card look full for longer"})},
    {"default_isolation",
     "The isolation mode of pods that choose none. mps is the default because only mps enforces a "
     "memory limit.",
     choice<&Scheduler::default_isolation, model::kIsolationNames>()},
    {"max_burst",
     "How many times its request a container may use of memory and of compute while the card has "
     "them: what gpu-mem-limit and gpu-compute-limit may be at most. 1 = no more than the request. "
     "0 = as much as the limits say; best effort (gpu-compute \"0\") needs that.",
     number<&Scheduler::max_burst>(
         {0, "as much as the limits say"},
         {1000, "the whole compute of a card for the smallest request, a thousandth"})},
    {"offer_memory_pods",
     "For how many pods Tangram remembers the nodes that were offered or tried in vain; the oldest "
     "is forgotten first.",
     number<&Scheduler::offer_memory_pods>(
         {100, "fewer than the pods that a busy cluster retries would remember nothing"},
         {1'000'000, "each takes a few hundred bytes"})},
    {"offer_penalty_s",
     "How long a node that was offered or tried in vain ranks last for the same pod.",
     number<&Scheduler::offer_penalty>(
         {10, "kube-scheduler's longest back-off; a shorter one is over before the next try"},
         {3600, "what refused the pod, a full volume for instance, may be gone by then"})}};

using Bind = Config::Bind;
constexpr Setting kBindSettings[]{
    {"workers", "Binds that write to the API server at the same time.",
     number<&Bind::workers>({1, "without one nothing is bound"},
                            {256, "the API server serves 200 writes at a time by default"})},
    {"queue", "Binds that wait for a worker; further ones are refused and kube-scheduler retries.",
     number<&Bind::queue>({1, "a burst needs somewhere to wait"},
                          {100'000, "what waits longer than bind.timeout_ms is refused anyway"})},
    {"timeout_ms",
     "How long one bind may take, its wait for a worker included. Keep it below httpTimeout of the "
     "extender in kube-scheduler's configuration, 5 s by default.",
     number<&Bind::timeout>(
         {100, "one write to an API server under load takes tens of milliseconds"},
         {60'000, "the API server gives up a request after 60 s by default"})}};

constexpr Section kAll[]{{"scheduler", "Which node and which card a pod gets.", kSchedulerSettings},
                         {"bind", "The writes that bind pods.", kBindSettings}};

}  // namespace

constexpr std::span<const Section> kSchedulerSections = kAll;

}  // namespace tangram::config
