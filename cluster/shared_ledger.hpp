#pragma once

#include "model/ledger.hpp"
#include "model/snapshot.hpp"

#include <concepts>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace tangram::cluster {

/// Holds the latest version of an immutable value. Readers copy a pointer; no code of ours runs
/// while the mutex is held. (std::atomic<std::shared_ptr> of libstdc++ 12 is a race to TSan.)
template <class T>
class Published {
 public:
  using Pointer = std::shared_ptr<const T>;
  explicit Published(Pointer first) : pointer_(std::move(first)) {}

  [[nodiscard]] Pointer load() const {
    const std::scoped_lock lock(mutex_);
    return pointer_;
  }
  void store(Pointer next) {
    const std::scoped_lock lock(mutex_);
    pointer_.swap(next);  // `next` now holds the old value, and dies after the lock is gone
  }

 private:
  mutable std::mutex mutex_;
  Pointer pointer_;
};

using ClusterPtr = std::shared_ptr<const model::ClusterSnapshot>;

/// The one owner of the Ledger. Readers take a snapshot and never wait for a writer; writers
/// hand in a change. Changes run one at a time, take microseconds, and are published before
/// apply() returns, so a caller always sees its own. A change must not block or do I/O.
class SharedLedger {
 public:
  explicit SharedLedger(const Clock& clock)
      : ledger_(clock), published_(std::make_shared<const model::ClusterSnapshot>()) {}

  [[nodiscard]] ClusterPtr snapshot() const { return published_.load(); }

  /// Runs `change(ledger)` alone and publishes the outcome. From any thread.
  template <std::invocable<model::Ledger&> Change>
  auto apply(Change&& change) -> std::invoke_result_t<Change, model::Ledger&> {
    const std::scoped_lock lock(writer_);
    const PublishAtExit publish{*this};
    return std::forward<Change>(change)(ledger_);
  }

 private:
  struct PublishAtExit {
    SharedLedger& ledger;
    ~PublishAtExit() { ledger.published_.store(ledger.ledger_.snapshot()); }
  };

  std::mutex writer_;
  model::Ledger ledger_;  ///< touched under writer_ only
  Published<model::ClusterSnapshot> published_;
};

}  // namespace tangram::cluster
