#pragma once

#include "cluster/label_sets.hpp"
#include "cluster/pod_reader.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/shared_ledger.hpp"
#include "kube/reflector.hpp"
#include "model/card.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace tangram::cluster {

/// What is left of a reservation once kube-scheduler says that the attempt it was made in has
/// failed. What it says may be late, about an attempt before: the bind of one that succeeds comes
/// within this time.
inline constexpr std::chrono::milliseconds kLeftAfterFailure{300};

/// What the API server showed that could not be taken as it stands. Counted for metrics; the
/// sentence goes to the log.
struct FeedCounters {
  std::atomic<std::uint64_t> bad_objects{0};  ///< not a Pod or Node that can be read
  std::atomic<std::uint64_t> bad_cards{0};    ///< a cards annotation that is not valid
  std::atomic<std::uint64_t> bad_grants{0};   ///< a grant that is not valid, or another pod's
};

/// Puts nodes and their cards into the ledger. One reflector thread.
class NodeFeed final : public kube::ObjectSink {
 public:
  NodeFeed(SharedLedger& ledger, FeedCounters& counters) : ledger_(ledger), counters_(counters) {}
  void begin_list() override;
  void listed(std::string_view object) override;
  void unlisted(std::string_view object) override;
  void end_list() override;
  void change(kube::EventType type, std::string_view object) override;
  [[nodiscard]] std::size_t kept_bytes() const override { return kept_; }

 private:
  using ListedNode = std::optional<model::NodeInventory>;  ///< nothing = it cannot be read

  [[nodiscard]] std::optional<model::NodeInventory> read(std::string_view object);
  [[nodiscard]] model::ResizeAnswers read_resizes(const kube::Node& node);
  void keep(std::string name, ListedNode node);
  void drop(const std::string& name);

  SharedLedger& ledger_;
  FeedCounters& counters_;
  std::set<std::string, std::less<>> known_;  ///< nodes that the API server has
  std::map<std::string, ListedNode> listed_;  ///< of the list that is being read
  std::size_t kept_ = 0;                      ///< weight of listed_
};

/// Puts pods into the table, and what bound ones hold into the ledger. A grant that counted once
/// counts until its pod ends, or until a later revision counts: another change of the annotation
/// releases no card, because the container still has it.
///
/// A pod that cannot be read counts by what its text shows (kube::scan_pod()). Its end releases
/// what it held. A bound one holds what its grant says, and requests of its node what it requested
/// when it could be read; a grant that counts only by a start of the pod (Allocation::by_start)
/// counts if it did before. All else of it stays as it was. A pending one that could never be read
/// is not known. One reflector thread.
///
/// The first list is read by several threads, because the program waits for it. Later ones come
/// while verbs are answered, and take no core from those.
class PodFeed final : public kube::ObjectSink {
 public:
  /// @param check    of grants, as of model::read_grant(); empty = signatures are not checked
  /// @param helpers  threads beside the reflector's that read the first list, and end with it. With
  ///                 helpers listed() only remembers the object: observers, the table and the log
  ///                 learn of it soon, at the latest as the list ends
  PodFeed(SharedLedger& ledger, PodTable& pods, const PolicySource& policies,
          FeedCounters& counters, model::SignatureCheck check, std::size_t helpers = 0);
  void begin_list() override;
  void listed(std::string_view object) override;
  void unlisted(std::string_view object) override;
  void end_list() override;
  void change(kube::EventType type, std::string_view object) override;
  [[nodiscard]] std::size_t kept_bytes() const override {
    return kept_ + (batch_ ? batch_->bytes() : 0);
  }

 private:
  /// What a bound pod holds, by its own record; a pending one holds nothing.
  struct Shown {
    model::AllocationPtr allocation;
    bool counts = false;  ///< it has a grant that counts by itself: not only Allocation::by_start
    bool is_signed = false;  ///< by a known key
    std::string issued_at = {};
  };
  /// A pod as an object shows it.
  struct ShownPod {
    bool readable = false;  ///< else all but `bound` is as it was shown before
    std::optional<Shown> bound;
    PodRecord record;  ///< of one that cannot be read: if there is none without a node
  };

  void take_batch();
  void take(std::optional<PodReading>&& reading);
  [[nodiscard]] static std::size_t weight(const std::string& uid, const ShownPod& pod);
  void keep(std::string uid, ShownPod pod);
  void drop(const std::string& uid);
  ShownPod seen(PodReading&& reading);
  ShownPod scanned(PodReading&& reading);
  [[nodiscard]] Shown shown(Recorded recorded);
  void count_problem(const kube::Pod& pod, const Recorded& recorded);
  [[nodiscard]] bool was_refused(const std::string& uid, const ShownPod& now) const;
  void put(const std::string& uid, ShownPod pod);
  void ended(const std::string& uid);
  void book_listed(model::Ledger& ledger);
  void book(model::Ledger& ledger, const ShownPod& pod) const;
  void observe(model::Ledger& ledger, const Shown& now) const;
  [[nodiscard]] static bool replaces(const Shown& now, const model::Ledger::Entry& held);

  SharedLedger& ledger_;
  PodTable& pods_;
  FeedCounters& counters_;
  const PodReader reader_;
  std::optional<PodBatch> batch_;                     ///< until the first list has ended
  LabelSets labels_;                                  ///< of all pods
  std::unordered_map<std::string, ShownPod> listed_;  ///< by UID, of the list that is being read
  std::size_t kept_ = 0;                              ///< weight of listed_
};

}  // namespace tangram::cluster
