#pragma once

#include "base/clock.hpp"
#include "kube/objects.hpp"

#include <prometheus/collectable.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

/// What a group needs to run, and has.
struct GroupNeeds {
  int min_count = 0;                 ///< so many members run, or none; 0 = each for itself
  std::size_t bound = 0;             ///< members that have a node
  std::vector<std::string> waiting;  ///< UIDs of those that kube-scheduler may place
};

/// The attempts of kube-scheduler to place PodGroups, so far: one for each group, the last.
///
/// In one attempt kube-scheduler asks about all members, one after the other, each beside those
/// before it, and about no other pod meanwhile (schedule_one_podgroup.go). Then the binds of all
/// come at once, or none, and no extender hears that it is none. The next attempt may begin within
/// milliseconds, or come before the last bind. With placements kube-scheduler asks about all
/// members several times, each time on other nodes, and takes one of the answers.
///
/// An attempt has succeeded once a bind of a member comes: what the others were offered is theirs
/// from then on. It has failed
///  * when so many members were refused that the group cannot reach its minimum. Then all others
///    are refused too, whatever room there is, so that this is certain and no room is kept in vain;
///  * when a member is asked about again without any bind: another attempt, or other nodes, so the
///    offers before count no more. Why it failed is not known here: for lack of CPU, perhaps. From
///    then on the group is in doubt until a bind comes: it may lack that for ever, and be tried
///    again and again;
///  * when the PodGroup says so (PodGroups).
///
/// Threads: safe.
class GroupAttempts final : public prometheus::Collectable {
 public:
  /// A failed attempt is over after so long without a question. Between the questions of one lie
  /// milliseconds.
  static constexpr std::chrono::milliseconds kGap{500};
  /// Groups at once; the one asked about longest ago goes first.
  static constexpr std::size_t kMost = 1'024;

  explicit GroupAttempts(const Clock& clock) : clock_(clock) {}

  struct Turn {
    std::vector<std::string> withdrawn;  ///< UIDs of members whose offers count no more
    bool failed = false;                 ///< the attempt has failed already
    bool in_doubt = false;               ///< the last one failed for a reason not known here
  };
  /// kube-scheduler asks about a member.
  /// @param nominated_node_alone  about the node that the member is nominated to; about all nodes
  ///                              next, if that one does not take it
  Turn begin(const kube::Pod& member, bool nominated_node_alone = false);
  /// The member gets a node. @returns UIDs of the members that have one in this attempt
  std::vector<std::string> offered(const kube::Pod& member);
  /// No node takes the member.
  /// @returns UIDs of the members whose offers count no more, if the attempt has failed by that
  std::vector<std::string> refused(const kube::Pod& member, const GroupNeeds& needs);
  /// The bind of a member comes. @returns UIDs of the members that have a node in this attempt
  std::vector<std::string> bind_came(const kube::Pod& member);
  /// @param key  as of cluster::group_key()
  /// @returns UIDs of the members that have a node in the last attempt, unless it has succeeded
  [[nodiscard]] std::vector<std::string> offered_in(std::string_view key) const;

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  enum class Answer { kNone, kOffered, kRefused };
  struct Attempt {
    std::map<std::string, Answer, std::less<>> members;  ///< asked about, by UID
    std::string last;                                    ///< asked about
    bool last_was_alone = false;                         ///< as of begin()
    TimePoint at{};                                      ///< of the last question
    bool failed = false;                                 ///< the minimum is out of reach
    bool succeeded = false;                              ///< a bind came
    bool in_doubt = false;
  };
  [[nodiscard]] bool is_over(const Attempt& attempt, const std::string& asked_now) const;
  /// @returns UIDs of the members whose offers count no more
  std::vector<std::string> end(Attempt& attempt);
  static std::vector<std::string> offers_of(const Attempt& attempt);

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Attempt, std::less<>> by_group_;  ///< by group_key()
  // Attempts by how they ended.
  std::atomic<std::uint64_t> succeeded_{0};
  std::atomic<std::uint64_t> without_room_{0};
  std::atomic<std::uint64_t> without_bind_{0};
};

}  // namespace tangram::extender
