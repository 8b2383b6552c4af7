#pragma once

#include "cluster/allocations.hpp"
#include "cluster/pending_pods.hpp"
#include "cluster/shared_ledger.hpp"
#include "kube/reflector.hpp"
#include "model/card.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace tangram::cluster {

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
  void listed(std::string object) override;
  void unlisted(std::string object) override;
  void end_list() override;
  void change(kube::EventType type, std::string object) override;

 private:
  [[nodiscard]] std::optional<model::NodeInventory> read(std::string object);

  SharedLedger& ledger_;
  FeedCounters& counters_;
  std::set<std::string, std::less<>> known_;  ///< nodes that the API server has
  /// Of the list that is being read; nothing = it exists, but cannot be read.
  std::map<std::string, std::optional<model::NodeInventory>> listed_;
};

/// Hears of the pods that the watch shows, on the reflector's thread.
struct PodObserver {
  /// A full list begins (true) or has ended (false).
  std::function<void(bool)> listing = [](bool) {};
  /// For the first time, in order.
  std::function<void(const kube::Pod&)> arrived = [](const kube::Pod&) {};
  /// Every time, also the first; with what a bound pod's own record says.
  std::function<void(const kube::Pod&, const Recorded&)> seen = [](const kube::Pod&,
                                                                   const Recorded&) {};
  /// Gone or finished.
  std::function<void(std::string_view uid)> ended = [](std::string_view) {};
};

/// Puts bound pods into the ledger and pending ones where bind finds them. A grant that counted
/// once counts until its pod ends: whoever breaks the annotation afterwards gives no card back, for
/// the container still has it. One reflector thread.
class PodFeed final : public kube::ObjectSink {
 public:
  /// @param check  of grants, as of model::read_grant(); empty = signatures are not looked at
  PodFeed(SharedLedger& ledger, PendingPods& pending, FeedCounters& counters, PodObserver observer,
          model::SignatureCheck check)
      : ledger_(ledger),
        pending_(pending),
        counters_(counters),
        observer_(std::move(observer)),
        check_(std::move(check)) {}
  void begin_list() override;
  void listed(std::string object) override;
  void unlisted(std::string object) override;
  void end_list() override;
  void change(kube::EventType type, std::string object) override;

 private:
  using Uids = std::set<std::string, std::less<>>;
  /// What a bound pod holds, by its own record; a waiting one holds nothing.
  struct Noted {
    model::AllocationPtr allocation;
    bool proven = false;  ///< it has a grant that counts by itself: not only Recorded::by_start
  };

  /// A pod of the list that is being read: bound or pending, or neither if it cannot be read.
  /// Small, because for a moment there is one for every pod of the cluster.
  struct ListedPod {
    std::optional<Noted> bound;
    std::unique_ptr<kube::Pod> pending;
  };

  void ended(const std::string& uid);
  Noted note(const kube::Pod& pod);
  void observe(model::Ledger& ledger, const Noted& noted) const;

  SharedLedger& ledger_;
  PendingPods& pending_;
  FeedCounters& counters_;
  PodObserver observer_;
  const model::SignatureCheck check_;
  Uids seen_;                                          ///< of the pods that exist
  std::unordered_map<std::string, ListedPod> listed_;  ///< by UID
};

}  // namespace tangram::cluster
