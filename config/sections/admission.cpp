#include "base/logging.hpp"
#include "config/rules.hpp"
#include "config/sections/sections.hpp"

namespace tangram::config {
namespace {

using Admission = Config::Admission;
constexpr Setting kAdmissionSettings[]{
    {"scheduler_name",
     "The schedulerName that pods with a request get, such as tangram where kube-scheduler has a "
     "profile of that name for them; \"\" = they keep their own, but pods whose requests are "
     "translated from another system's get default-scheduler instead of that system's scheduler.",
     free_text<&Admission::scheduler_name, true>("a scheduler's name, or \"\"")},
    {"replaced_schedulers",
     "Which schedulerName is replaced by scheduler_name, with commas between: the default, and "
     "those of the systems whose requests Tangram translates. A pod that names another scheduler "
     "keeps it.",
     name_list<&Admission::replaced_schedulers>()},
    {"runtime_class",
     "The runtimeClassName that pods with a request get if they name none, such as nvidia; \"\" = "
     "none.",
     free_text<&Admission::runtime_class, true>("the name of a RuntimeClass, or \"\"")},
    {"node_selector",
     "Whether pods with a request get the nodeSelector tangram.dev/gpu: \"true\" if they do not "
     "say otherwise. Slots alone keep them on GPU nodes; this also shows it to the autoscaler and "
     "people.",
     yes_or_no<&Admission::node_selector>()},
    {"tolerations",
     "Keys of taints, with commas between. Pods with a request tolerate them with the effect "
     "NoSchedule and any value. The default: the taints with which clouds and autoscalers keep "
     "other pods off GPU nodes. \"\" = none.",
     key_list<&Admission::tolerations>()},
    {"aggregates",
     "Whether containers with a request get tangram.dev/gpu-milli and tangram.dev/gpu-mem-mib, by "
     "which quotas, kube-scheduler's own fit and its preemption see them. Nodes must publish these "
     "(--aggregates of the agent), else no node fits.",
     yes_or_no<&Admission::aggregates>()},
    {"allow_visible_devices",
     "Whether containers may write NVIDIA_VISIBLE_DEVICES themselves. With it they can use cards "
     "that were not granted to them.",
     yes_or_no<&Admission::allow_visible_devices>()},
    {"card_resources",
     "Resources that stand for NVIDIA cards of other GPU systems, with commas between; a star at "
     "the end stands for every ending. A container that holds one keeps what that system shows it, "
     "unless its pod sets spec.nodeName, and cannot hold a share beside it. Network cards such as "
     "nvidia.com/hostdev are none; passed-through cards under their models' names are, so add "
     "those.",
     name_list<&Admission::card_resources>()},
    {"extender_user",
     "The user name with which the extender binds pods. Only this user may write "
     "tangram.dev/gpu-grant.",
     free_text<&Admission::extender_user, false>(
         "a user name, as in system:serviceaccount:tangram-system:tangram-extender")}};

using Foreign = Config::Foreign;
constexpr std::array<std::string_view, 2> kGpushareUnits{"GiB", "MiB"};
constexpr Setting kForeignSettings[]{
    {"nvidia",
     "nvidia.com/gpu: N and nvidia.com/mig-PROFILE: N, as whole cards. true where NVIDIA's device "
     "plugin serves no node any more.",
     yes_or_no<&Foreign::nvidia>()},
    {"nvidia_sharing",
     "nvidia.com/gpu: N, nvidia.com/gpu.shared: N and the same of MIG profiles, as N replicas of "
     "different cards, by the sharing configuration of each node (--sharing-configs of the agent). "
     "A node without one gives whole cards. Replicas count in no quota of aggregates. Implies "
     "nvidia.",
     yes_or_no<&Foreign::nvidia_sharing>()},
    {"hami",
     "nvidia.com/gpumem, gpumem-percentage and gpucores, HAMi's annotations, and nvidia.com/gpu of "
     "pods that have one of those or name the scheduler hami-scheduler. Take HAMi's own webhook "
     "away first: both would change the pod.",
     yes_or_no<&Foreign::hami>()},
    {"gpushare", "aliyun.com/gpu-mem.", yes_or_no<&Foreign::gpushare>()},
    {"gpushare_unit", "What aliyun.com/gpu-mem counts: the flag --memory-unit of its plugin.",
     choice<&Foreign::gpushare_in_mib, kGpushareUnits>()},
    {"kai",
     "The annotations gpu-fraction, gpu-memory and gpu-fraction-num-devices, and nvidia.com/gpu of "
     "pods that name the scheduler kai-scheduler.",
     yes_or_no<&Foreign::kai>()}};

constexpr std::array<std::string_view, 4> kLogLevels{"debug", "info", "warn", "error"};
constexpr Setting kLogSettings[]{
    {"level", "The least severe message that is written.",
     choice<&Config::Log::level, kLogLevels>()},
    {"format",
     "text: for people. json: each message as a JSON object on one line, with level, ts and msg.",
     choice<&Config::Log::format, kLogFormatNames>()}};

constexpr Section kAll[]{
    {"admission", "How the admission webhook changes and checks pods; see docs/admission.md.",
     kAdmissionSettings},
    {"foreign",
     "Which requests of other systems the admission webhook translates into Tangram's, so that "
     "existing manifests run unchanged; docs/migration.md has the table. All are off by default: "
     "translated pods leave the other system, and where that one still serves some nodes, its "
     "users would find their pods on Tangram's.",
     kForeignSettings},
    {"log", "What is written to standard error.", kLogSettings}};

}  // namespace

constexpr std::span<const Section> kAdmissionSections = kAll;

}  // namespace tangram::config
