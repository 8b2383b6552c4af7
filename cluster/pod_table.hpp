#pragma once

#include "base/string_map.hpp"
#include "cluster/findings.hpp"
#include "cluster/pod_observer.hpp"
#include "cluster/resize.hpp"
#include "cluster/unstarted_pods.hpp"
#include "cluster/wait.hpp"
#include "kube/objects.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::cluster {

using PodPtr = std::shared_ptr<const kube::Pod>;

/// A pod without a node, as programs keep it: without labels. It may have as many as fit into etcd,
/// and nothing reads them of a pod that waits.
[[nodiscard]] PodPtr waiting_pod(kube::Pod pod);

/// What is remembered of a pod, beside its allocation, which is in the ledger. Small, because there
/// is one for every pod of the cluster: most pods are bound, run, and have nothing wrong with them.
struct PodRecord {
  PodPtr pending;                                 ///< null = it has a node
  std::shared_ptr<const NotedPod> noted;          ///< null = nothing is wrong with what it says
  std::shared_ptr<const UnstartedPod> unstarted;  ///< null = as of unstarted()
  ResizablePodPtr resizable;                      ///< null = as of resizable()
  std::string grant_key;                          ///< Recorded::grant_key
  std::optional<Wait> wait;                       ///< nothing = it has a node, or requests no GPU
  std::shared_ptr<const std::string> group;       ///< group_key(); null = it has none
  bool put = false;                               ///< PodTable::put() has set all this
};

/// The members of a group that exist and have not finished.
struct GroupMembers {
  std::vector<PodPtr> pending;  ///< those without a node, by UID
  std::size_t bound = 0;
};
/// Pure.
/// @param plan      what its annotations request, or what is wrong with them
/// @param recorded  of a bound pod: what its grant says
/// @param node      the pod's, or null if it has none or it is not known
[[nodiscard]] PodRecord record_of(kube::Pod pod, const Result<PodPlan>& plan,
                                  const Recorded& recorded, const model::NodeState* node);

/// The pods that exist and have not finished, by UID: as the watch shows them, with the last answer
/// that kube-scheduler got about each. Counts are kept up to date, so that reading them does not
/// take longer in a large cluster. Threads: safe; observers are notified without the lock.
class PodTable {
 public:
  /// @param observers  outlive the table
  explicit PodTable(std::vector<PodObserver*> observers = {}) : observers_(std::move(observers)) {}

  /// @param call  called with every observer, in order
  template <class Call>
  void notify(const Call& call) const {
    for (PodObserver* observer : observers_) call(*observer);
  }

  // By the watch.

  /// The pod exists. @returns whether that is new
  bool add(std::string_view uid);
  /// Replaces the pod's record, but for an answer about it that still counts; notifies of new
  /// notes.
  void put(std::string_view uid, PodRecord record);
  void erase(std::string_view uid);
  using Keep = std::function<bool(const std::string& uid)>;
  /// Erases the pods that are not to be kept. Other calls may come in between.
  /// @param keep  may be asked about a pod again
  /// @returns their UIDs, in order
  std::vector<std::string> retain(const Keep& keep);
  [[nodiscard]] bool contains(std::string_view uid) const;

  /// The extender cannot write what the pod's resize needs, and this is why, of static storage; ""
  /// = it can. Counts until the pod is gone.
  void set_refused_resize(std::string_view uid, std::string_view why);

  /// The pod turned out to have what it requests. Nothing happens if it has changed since.
  void forget_resizable(const ResizablePodPtr& pod);

  // By the verbs, which may be asked about a pod before the watch shows it, or after its end.

  /// kube-scheduler got this answer.
  void answered(std::string_view uid, Wait wait);
  /// The answer that kube-scheduler got last. @returns nothing if the pod is not known or has a
  /// node
  [[nodiscard]] std::optional<Wait> last_answer(std::string_view uid) const;
  /// Forgets answers about pods that the watch has not shown.
  void forget_unseen();

  /// Replaces what examine_cards() found; notifies of what is new.
  void set_card_notes(NotedPods pods);
  /// Notifies of all notes once more: this replica has become the one that reports.
  void notify_again() const;

  /// Pods without a node. @returns null if there is none
  [[nodiscard]] PodPtr find(std::string_view uid) const;
  [[nodiscard]] PodPtr find(std::string_view ns, std::string_view name) const;
  [[nodiscard]] std::vector<PodPtr> pending() const;  ///< by UID
  [[nodiscard]] std::size_t pending_count() const;
  /// Those that preempted others and wait for room on the node they were nominated to.
  [[nodiscard]] std::vector<PodPtr> nominated() const;
  /// @param key  as of group_key(); empty for one that has no members
  [[nodiscard]] GroupMembers group(std::string_view key) const;
  /// The keys of the groups that have a pending member.
  [[nodiscard]] std::vector<std::string> waiting_groups() const;
  [[nodiscard]] std::vector<UnstartedPod> unstarted() const;     ///< by UID
  [[nodiscard]] std::vector<ResizablePodPtr> resizable() const;  ///< by UID
  /// @returns null if it is not one of resizable()
  [[nodiscard]] ResizablePodPtr find_resizable(std::string_view uid) const;
  /// As of set_refused_resize(); "" = nothing is known to hinder it.
  [[nodiscard]] std::string_view refused_resize(std::string_view uid) const;
  /// kube-scheduler has had an answer about it from this replica, and it has no node yet.
  [[nodiscard]] bool was_asked(std::string_view uid) const;
  /// The pod is one of unstarted().
  [[nodiscard]] bool is_unstarted(std::string_view uid) const;
  [[nodiscard]] std::vector<Note> notes(std::string_view uid) const;
  /// As Recorded::grant_key; empty if there is no such pod.
  [[nodiscard]] std::string grant_key(std::string_view uid) const;

  // Pods by finding, by answer and by the key that signed their grant. Findings and answers that no
  // pod has are 0; keys of no pod are left out.
  [[nodiscard]] std::map<Finding, std::int64_t> findings() const;
  [[nodiscard]] std::map<Wait, std::int64_t> waits() const;
  [[nodiscard]] std::map<std::string, std::int64_t> grant_keys() const;

 private:
  using Records = StringMap<PodRecord>;
  using Entry = Records::value_type;
  struct ByUid {
    bool operator()(const Entry* a, const Entry* b) const { return a->first < b->first; }
  };
  using Index = std::set<const Entry*, ByUid>;  ///< of entries of records_
  struct Group {
    Index pending;
    std::size_t bound = 0;
  };

  void notify_of(const NotedPod& noted) const;
  static void place(Index& index, const Entry& entry, bool was_member, bool is_member);
  struct Found {
    Entry& entry;
    bool is_new;  ///< the pod was not known
  };
  Found entry_of(std::string_view uid);
  void replace(Entry& entry, PodRecord record);
  void forget_name(const Entry& entry);
  void count(const PodRecord& record, int step);
  void leave_group(const Entry& entry);
  void join_group(const Entry& entry);
  void erase(Records::iterator entry);
  void retain_in(std::size_t bucket, const Keep& keep, std::vector<std::string>& gone);

  const std::vector<PodObserver*> observers_;
  mutable std::mutex mutex_;
  // Under mutex_.
  Records records_;
  Index pending_;
  Index nominated_;  ///< nearly always none
  Index noted_;
  Index unstarted_;
  Index resizable_;
  Index unseen_;  ///< known by an answer only: the watch has not shown them
  std::map<std::string, Group, std::less<>> groups_;  ///< those that have members, by group_key()
  std::map<std::string, const Entry*, std::less<>> by_name_;  ///< pending, by "ns/name"
  NotedPods card_notes_;                                      ///< found by examine_cards()
  std::map<std::string, std::string_view, std::less<>> refused_resizes_;  ///< of records_
  std::map<Wait, std::int64_t> waits_;
  std::map<std::string, std::int64_t> grant_keys_;
};

}  // namespace tangram::cluster
