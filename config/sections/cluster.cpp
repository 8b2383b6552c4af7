#include "config/rules.hpp"
#include "config/sections/sections.hpp"

namespace tangram::config {
namespace {

using Kube = Config::Kube;
/// In the order of KubeSource.
constexpr std::array<std::string_view, 3> kKubeSources{"local", "in-cluster", "kubeconfig"};
constexpr Setting kKubeSettings[]{
    {.key = "source",
     .description = "local = the file below, in memory, for trying things out; in-cluster = the "
                    "service account of this pod; kubeconfig = the file below. There is no "
                    "default: a forgotten line must not end in a scheduler that forgets.",
     .rule = choice<&Kube::source, kKubeSources>(),
     .required = true},
    {"kubeconfig",
     "For source: kubeconfig alone: the file; \"\" = the one that $KUBECONFIG names, else "
     "~/.kube/config. Exec plugins, auth providers and proxies are refused.",
     free_text<&Kube::kubeconfig, true>("a path, or \"\" for the usual one")},
    {"context", "For source: kubeconfig alone: the context in it; \"\" = its current one.",
     free_text<&Kube::context, true>("a context's name, or \"\"")},
    {"cluster_file",
     "For source: local alone: a YAML file with Node and Pod objects, as kubectl prints them. A "
     "relative path starts at the working directory.",
     free_text<&Kube::cluster_file, true>("a path, or \"\" for none")},
    {"page_size",
     "Objects per page when nodes and pods are listed; fewer where a page would exceed 64 MiB.",
     number<&Kube::page_size>(
         {1, "a page holds something"},
         {10'000, "a page of 20 KiB objects is 200 MiB of JSON at that size"})},
    {"qps",
     "Calls to the API server per second, in the long run; watches and renewals of the lease are "
     "not counted. kube-scheduler's own limit is 50, one bind at a time; here hundreds of pods are "
     "bound in a second, and the server's priority and fairness protects it from more.",
     number<&Kube::qps>({5, "the limit of Kubernetes' own clients where none is set"},
                        {10'000, "no API server answers more; what is meant is no limit"})},
    {"burst", "Calls at once after a pause.",
     number<&Kube::burst>({10, "the burst of Kubernetes' own clients where none is set"},
                          {20'000, "two seconds of the highest qps"})}};

using LeaderElection = Config::LeaderElection;
constexpr Setting kLeaderElectionSettings[]{
    {"enabled",
     "Whether to ask for the Lease. Without it there must be one replica only, and no overlap of "
     "the old and the new one in a roll-out. A cluster in memory has no other replica.",
     yes_or_no<&LeaderElection::enabled>()},
    {"lease", "The Lease's name.", free_text<&LeaderElection::lease, false>("the name of a Lease")},
    {"namespace",
     "The Lease's namespace; \"\" = this pod's own ($POD_NAMESPACE, else its service account's), "
     "else tangram-system.",
     free_text<&LeaderElection::ns, true>("a namespace, or \"\" for this pod's own")},
    {"lease_duration_s", "How long other replicas wait for a leader that has fallen silent.",
     number<&LeaderElection::lease_duration>(
         {2, "a Lease counts in whole seconds, and a leader must renew it in time"},
         {300, "no pod with a GPU is placed meanwhile"})},
    {"renew_deadline_ms", "A leader that could not renew its Lease for so long stops leading.",
     number<&LeaderElection::renew_deadline>(
         {500, "an API server under load takes that long to answer"},
         {299'000, "below the longest lease_duration_s"})},
    {"retry_period_ms", "Time between two attempts to get or renew the Lease.",
     number<&LeaderElection::retry_period>(
         {100, "every replica writes or reads the Lease that often"},
         {60'000, "a Lease that was given back waits so long for its next holder"})}};

using Eviction = Config::Eviction;
constexpr Setting kEvictionSettings[]{
    {"enabled",
     "Whether the leader evicts them, so that their controller creates new pods, which are "
     "scheduled again. Only pods of a controller other than a DaemonSet, and only if none of their "
     "containers has run, so no work is lost. A Job counts such a pod as failed unless its "
     "podFailurePolicy ignores DisruptionTarget. false = their events say what to do.",
     yes_or_no<&Eviction::enabled>()},
    {"after_s", "How long a pod must have been like that, without a break.",
     number<&Eviction::after>({10,
                               "kubelet reports a status after up to 10 s; a card may be away for "
                               "as long while its driver restarts"},
                              {3600, "to wait longer, write enabled: false"})},
    {"per_minute",
     "Evictions in a minute, evenly spread: if a whole node refuses its pods by mistake, people "
     "have time to see it.",
     number<&Eviction::per_minute>({1, "0 would be enabled: false"},
                                   {60, "one a second is as often as the leader looks"})}};

using BrokenCards = Config::BrokenCards;
constexpr Setting kBrokenCardsSettings[]{
    {"evict",
     "Whether the leader evicts them, through the Eviction API. Only pods of a controller other "
     "than a DaemonSet, and only while another node or card has room for the next pod. false = "
     "their "
     "events say what to do; cards that are drained are not emptied either.",
     yes_or_no<&BrokenCards::evict>()},
    {"after_s",
     "How long a card must have been unhealthy, without a break: longer than the 10 minutes after "
     "which an agent takes a card with a passing fault for healthy. Pods of a card that is drained "
     "are evicted at once.",
     number<&BrokenCards::after>({10, "a card may be away for as long while its driver restarts"},
                                 {86'400, "to wait longer, write evict: false"})},
    {"per_minute",
     "Evictions in a minute, evenly spread: if many cards seem to be broken by mistake, people "
     "have time to see it.",
     number<&BrokenCards::per_minute>({1, "0 would be evict: false"},
                                      {60, "one a second is as often as the leader looks"})}};

using CardPreemption = Config::CardPreemption;
constexpr Setting kCardPreemptionSettings[]{
    {"enabled",
     "Whether the leader evicts pods of lower priority for such a pod: as few as possible, through "
     "the Eviction API, and only if no disruption budget is broken. kube-scheduler's own "
     "preemption goes on in any case.",
     yes_or_no<&CardPreemption::enabled>()},
    {"per_minute", "Evictions in a minute, of all such pods together.",
     number<&CardPreemption::per_minute>(
         {1, "0 would be enabled: false"},
         {6000, "100 a second are most of what one client may send to the API server"})}};

using Defrag = Config::Defrag;
constexpr Setting kDefragSettings[]{
    {"enabled",
     "Whether the leader moves pods by itself: it evicts a few, through the Eviction API, whose "
     "controllers make others, and reserves a place for each of these first. Only pods of a "
     "ReplicaSet or StatefulSet move, or of another controller with the label "
     "tangram.dev/movable: \"true\"; none with \"false\". No disruption budget is broken.",
     yes_or_no<&Defrag::enabled>()},
    {"moves_per_hour", "Pods that may be evicted for that in any hour.",
     number<&Defrag::moves_per_hour>(
         {1, "0 would be enabled: false"},
         {1000, "the next pod moves when the one before has its place, which takes seconds"})},
    {"from_hour",
     "The hour of the day, in UTC, from which moves may begin. If it is greater than until_hour, "
     "they may begin at night.",
     number<&Defrag::from_hour>({0, "midnight"}, {23, "the last hour of the day"})},
    {"until_hour", "The hour of the day, in UTC, from which no move begins any more.",
     number<&Defrag::until_hour>({0, "midnight"}, {24, "the end of the day"})},
    {"min_gain_percent", "What the waiting pod must get of cards, in percent of what moves for it.",
     number<&Defrag::min_gain_percent>({0, "any gain will do"},
                                       {100'000, "a whole node for a hundredth of a card"})},
    {"waited_s",
     "How long a pod must have waited for room before others move for it. Meanwhile pods of lower "
     "priority are evicted for it, or others end.",
     number<&Defrag::waited>({5, "kube-scheduler tries a pod again within seconds"},
                             {86'400, "a day"})},
    {"on_request",
     "Whether the leader also carries out the moves of kubectl tangram defrag --run, whatever the "
     "settings above say: the pods that the command has shown move, and no others. Who may write "
     "the ConfigMap tangram-defrag in its namespace may request them.",
     yes_or_no<&Defrag::on_request>()}};

using Grants = Config::Grants;
constexpr Setting kGrantsSettings[]{
    {"signing_key",
     "The Ed25519 private key that grants are signed with, as tangram-extender grant-key makes it; "
     "\"\" = they are not signed. Grants are not signed by default, because you must create the "
     "key. Without signatures only the admission rules prevent others from writing grants.",
     free_text<&Grants::signing_key, true>("a path, or \"\" to sign nothing")},
    {"public_keys",
     "The public keys whose grants count, of signing_key and of its predecessors: a file, or a "
     "folder of files. The same that the agents have.",
     free_text<&Grants::public_keys, true>("a path, or \"\" if nothing is signed")},
    {"required",
     "Whether a grant that none of these keys signed grants nothing in the ledger. Write true only "
     "after every agent runs with --require-signed-grants: an agent without it may start what is "
     "not counted here.",
     yes_or_no<&Grants::required>()}};

constexpr Section kAll[]{
    {"kube", "Where the cluster's nodes and pods come from.", kKubeSettings},
    {"leader_election",
     "Which of several replicas binds pods. All of them read the cluster and answer for people; "
     "one holds a Lease and answers kube-scheduler.",
     kLeaderElectionSettings},
    {"eviction",
     "Pods that were bound and can never start: their grant is not valid, or the agent of their "
     "node rejects them permanently.",
     kEvictionSettings},
    {"broken_cards",
     "Pods on cards that stay unhealthy, and on cards that an operator drains "
     "(kubectl tangram drain-card).",
     kBrokenCardsSettings},
    {"card_preemption",
     "Pods of a higher priority that lack room on one card while the node's sums are free. "
     "kube-scheduler finds no victims for these, since it counts sums only.",
     kCardPreemptionSettings},
    {"defrag",
     "Moves of running pods, so that a pod that waits for room gets it where no eviction for its "
     "priority helps. kubectl tangram defrag shows what would move.",
     kDefragSettings},
    {"grants",
     "Signatures of grants; see docs/signing.md. The files are read again while the program runs.",
     kGrantsSettings}};

}  // namespace

constexpr std::span<const Section> kClusterSections = kAll;

}  // namespace tangram::config
