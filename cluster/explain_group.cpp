#include "cluster/explain_group.hpp"

#include "cluster/places.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace tangram::cluster {

namespace {

/// Searches of one explanation, in steps: up to 100 ms.
constexpr std::int64_t kGroupSteps = 2'000'000;

constexpr int kNotKnown = -1;

std::string_view kind_of(const kube::Pod& pod) {
  switch (pod.group.kind) {
    case kube::GroupOfPod::Kind::kPodGroup:
      return "PodGroup";
    case kube::GroupOfPod::Kind::kCoscheduling:
      return "coscheduling";
    case kube::GroupOfPod::Kind::kKueue:
      return "Kueue";
    case kube::GroupOfPod::Kind::kNone:
      break;
  }
  return "";
}

/// Of the members of a group, so many are looked at: any user may make a group of all their pods.
/// Members that are alike are found together, so a usual group takes as long as one pod.
constexpr std::size_t kMostMembers = 256;

/// Those that ask for cards and that a scheduler may place, in kube-scheduler's order as far as it
/// is known here.
std::vector<PlacelessPod> waiting_members(const GroupMembers& members,
                                          const PolicySource& policies) {
  std::vector<PlacelessPod> waiting;
  for (const PodPtr& pod : members.pending) {
    if (pod->gated || pod->deleting || waiting.size() == kMostMembers) continue;
    if (auto plan = policies.plan(*pod)) waiting.push_back({pod, *std::move(plan)});
  }
  std::ranges::sort(waiting, {}, [](const PlacelessPod& one) {
    return std::tuple(-std::int64_t{one.pod->priority}, std::string_view(one.pod->name));
  });
  return waiting;
}

std::string sentence(const kube::Pod& pod, const GroupMembers& members, int minimum,
                     std::size_t waiting, const std::optional<NoPlace>& lacking,
                     const std::string& name) {
  std::string text = "it belongs to the " + std::string(kind_of(pod)) + " " + pod.group.name +
                     ", of which " + std::to_string(members.bound) + " members have a node";
  if (minimum != kNotKnown) text += " and " + std::to_string(minimum) + " must";
  text += ". ";
  if (!lacking) {
    return text + "There is room for " + std::to_string(waiting) +
           " that wait at the same time, by their cards, CPU, memory and slots";
  }
  return text + "Of " + std::to_string(waiting) + " that wait, " + std::to_string(lacking->pod) +
         " find room at the same time; the next, " + name +
         ", does not: " + std::string(lacking->why);
}

}  // namespace

void write_group(json::Writer& out, const kube::Pod& pod, const GroupQuestion& question) {
  const std::string key = group_key(pod);
  if (key.empty()) return;
  const GroupMembers members = question.pods.group(key);
  const int minimum =
      question.groups == nullptr ? kNotKnown : question.groups->min_count(key).value_or(kNotKnown);
  const auto waiting = waiting_members(members, question.policies);
  model::SearchBudget budget(kGroupSteps);
  const auto lacking = first_without_place(waiting, question.cluster, budget);
  const std::string name = lacking ? waiting[lacking->pod].pod->full_name() : "";
  out.key("group").begin_object().member("kind", kind_of(pod)).member("name", pod.group.name);
  out.member("bound", static_cast<std::int64_t>(members.bound));
  out.member("waiting", static_cast<std::int64_t>(waiting.size()));
  if (minimum != kNotKnown) out.member("minimum", minimum);
  out.member("haveRoom", static_cast<std::int64_t>(lacking ? lacking->pod : waiting.size()));
  if (lacking) {
    out.key("lacking").begin_object().member("pod", name).member("why", lacking->why).end_object();
  }
  out.member("summary", sentence(pod, members, minimum, waiting.size(), lacking, name));
  out.end_object();
}

}  // namespace tangram::cluster
