#include "extender/scheduling/group_reservations.hpp"

#include "cluster/cluster_feed.hpp"

#include <algorithm>

namespace tangram::extender {

namespace {

using std::chrono::milliseconds;

/// Without reservations members would be offered the same room, so there are some in any case.
constexpr milliseconds kLeastHold{3'000};

/// kube-scheduler tries this one alone, before all others.
bool asks_for_nominated_node(const FilterArgs& args) {
  return args.node_names.size() == 1 && args.node_names.front() == args.pod.nominated_node;
}

void release(cluster::SharedLedger& shared, const std::vector<std::string>& members) {
  if (members.empty()) return;
  shared.apply([&](model::Ledger& ledger) {
    for (const std::string& member : members) ledger.release_reservation(member);
  });
}

}  // namespace

GroupAttempts::Turn GroupReservations::begin(const FilterArgs& args) {
  GroupAttempts::Turn turn = parts_.attempts.begin(args.pod, asks_for_nominated_node(args));
  release(parts_.ledger, turn.withdrawn);
  return turn;
}

void GroupReservations::leave_out_own(const kube::Pod& member,
                                      std::vector<model::AllocationPtr>& unconfirmed) const {
  const auto own = parts_.attempts.offered_in(cluster::group_key(member));
  std::erase_if(unconfirmed, [&](const model::AllocationPtr& one) {
    return std::ranges::find(own, one->pod_uid) != own.end();
  });
}

bool GroupReservations::reserve(model::Allocation allocation, const kube::Pod& member,
                                bool in_doubt, const model::Ledger::Uids& displaced) {
  allocation.priority = in_doubt ? kPriorityInDoubt : model::kNoPriority;
  const bool reserved = parts_.ledger.apply([&](model::Ledger& ledger) {
    return ledger.reserve(std::move(allocation), hold_for(member, in_doubt), displaced).has_value();
  });
  if (reserved) renew(parts_.attempts.offered(member), in_doubt);
  return reserved;
}

milliseconds GroupReservations::hold_for(const kube::Pod& member, bool in_doubt) const {
  const milliseconds hold = std::max(settings_.hold, kLeastHold);
  return member.binds_late && !in_doubt ? std::max(hold, settings_.long_hold) : hold;
}

void GroupReservations::renew(const std::vector<std::string>& members, bool in_doubt) {
  std::vector<milliseconds> holds;
  for (const std::string& uid : members) {
    const cluster::PodPtr pod = parts_.pods.find(uid);
    holds.push_back(hold_for(pod ? *pod : kube::Pod(), in_doubt));
  }
  parts_.ledger.apply([&](model::Ledger& ledger) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      ledger.renew_reservation(members[i], holds[i]);
    }
  });
}

void GroupReservations::refused(const FilterArgs& args) {
  parts_.denials.forget(args.pod.uid);
  if (asks_for_nominated_node(args)) return;
  const std::string key = cluster::group_key(args.pod);
  GroupNeeds needs{
      .min_count = parts_.groups.min_count(key).value_or(0), .bound = 0, .waiting = {}};
  if (needs.min_count > 0) {
    const cluster::GroupMembers members = parts_.pods.group(key);
    needs.bound = members.bound;
    for (const cluster::PodPtr& pod : members.pending) {
      const bool invalid = parts_.pods.last_answer(pod->uid) == cluster::Wait::kInvalid;
      if (!invalid && !pod->gated && !pod->deleting) needs.waiting.push_back(pod->uid);
    }
  }
  const auto withdrawn = parts_.attempts.refused(args.pod, needs);
  release(parts_.ledger, withdrawn);
  for (const std::string& member : withdrawn) parts_.pods.answered(member, cluster::Wait::kGroup);
}

void GroupReservations::bind_comes(const std::string& pod_uid) {
  const cluster::PodPtr pod = parts_.pods.find(pod_uid);
  if (!pod || !cluster::is_in_pod_group(*pod)) return;
  renew(parts_.attempts.bind_came(*pod), false);
}

void GroupReservations::attempt_failed(const std::string& key) {
  const auto offered = parts_.attempts.offered_in(key);
  if (offered.empty()) return;
  parts_.ledger.apply([&](model::Ledger& ledger) {
    for (const std::string& member : offered) {
      ledger.renew_reservation(member, cluster::kLeftAfterFailure);
    }
  });
}

}  // namespace tangram::extender
