#pragma once

#include "kube/local/object.hpp"
#include "kube/local/selector.hpp"

#include <boost/container/small_vector.hpp>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::kube {

/// One write. before = null: created; after = null: deleted.
struct StoreEvent {
  std::uint64_t version = 0;
  ObjectPtr before;
  ObjectPtr after;

  [[nodiscard]] const Fields& fields() const { return (after ? after : before)->fields(); }
};

/// What etcd and the watch cache are to a real API server: every object with its recent versions,
/// the writes in order, one version counter for all.
///
/// A read names the version to see, so a long list is read in small steps and is still
/// of one moment. Versions go with the history: what is older than it cannot be read.
/// Threads: safe; no call but wait() blocks for longer than a small step.
class LocalStore {
 public:
  /// @param history  writes kept per kind
  explicit LocalStore(std::size_t history) : history_(history) {}

  [[nodiscard]] std::uint64_t version() const;
  /// @returns null if there is none
  [[nodiscard]] ObjectPtr get(ResourceKind kind, const std::string& key) const;

  struct Creation {
    ResourceKind kind{};
    Content content;
  };
  /// Creates all or, if one of the names is taken, none.
  /// @returns the objects, or the index of the first one that exists (its pointers are null then)
  struct Created {
    std::vector<ObjectPtr> objects;
    std::optional<std::size_t> exists;
  };
  Created create(std::vector<Creation> creations);
  /// @returns the new object; null if `before` is no longer what is stored: decide again
  ObjectPtr replace(ResourceKind kind, const ObjectPtr& before, Content content);
  /// @returns the version of the deletion; 0 as above
  std::uint64_t remove(ResourceKind kind, const ObjectPtr& before);

  struct Range {
    ResourceKind kind{};
    std::string prefix;    ///< of the keys: "ns/", or empty = all
    std::uint64_t at = 0;  ///< version to read
    Selector selector;
  };
  struct Page {
    std::vector<ObjectPtr> objects;
    std::string last_key;  ///< continue after it
    bool more = false;
  };
  /// A part of a range, in the order of keys.
  /// @param limit  0 = none
  /// @returns nothing if the version is gone
  std::optional<Page> page(const Range& range, std::string after, std::size_t limit) const;

  struct Batch {
    std::vector<StoreEvent> events;
    std::uint64_t position = 0;  ///< everything up to it has been handed out
    bool drained = false;
    bool expired = false;  ///< the position is older than the history: start over
  };
  /// The next few writes of a kind after a position.
  /// @param epoch  of the reader's start
  Batch events_after(ResourceKind kind, std::uint64_t position, std::uint64_t epoch) const;
  /// Waits for something that events_after() would say. @returns false: deadline or stop came first
  bool wait(ResourceKind kind, std::uint64_t position, std::uint64_t epoch,
            std::chrono::steady_clock::time_point deadline, std::stop_token stop) const;

  /// Counts compactions.
  [[nodiscard]] std::uint64_t epoch() const;
  /// Forgets all history, which ends what reads it.
  void compact();

 private:
  struct Revision {
    std::uint64_t version = 0;
    ObjectPtr object;  ///< null: deleted
  };
  using Revisions = boost::container::small_vector<Revision, 1>;  // oldest first
  struct Collection {
    std::map<std::string, Revisions, std::less<>> objects;
    std::deque<StoreEvent> events;
    std::uint64_t forgotten = 0;  ///< version of the last event that is gone
  };

  Collection& of(ResourceKind kind) { return collections_.at(static_cast<std::size_t>(kind)); }
  const Collection& of(ResourceKind kind) const {
    return collections_.at(static_cast<std::size_t>(kind));
  }
  ObjectPtr store(ResourceKind kind, const ObjectPtr& before, Content content);
  void record(Collection& collection, StoreEvent event);
  static void forget_oldest(Collection& collection);
  static ObjectPtr latest(const Collection& collection, const std::string& key);
  static ObjectPtr seen_at(const Revisions& revisions, std::uint64_t version);
  /// @returns true when the page is complete
  bool scan(const Range& range, std::string& after, std::size_t limit, Page& page) const;

  const std::size_t history_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::array<Collection, kResourceKinds> collections_;
  std::uint64_t version_ = 1;  // 0 means "any version" to clients
  std::uint64_t epoch_ = 0;
};

}  // namespace tangram::kube
