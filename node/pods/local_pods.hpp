#pragma once

#include "base/bounded_items.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/api.hpp"
#include "kube/rate_limiter.hpp"
#include "kube/reflector.hpp"
#include "node/pods/local_pod.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// Where a container's start looks for its pod.
class PodSource {
 public:
  virtual ~PodSource() = default;
  /// As last seen, by either UID; nothing if unknown, finished or gone. Makes no request.
  [[nodiscard]] virtual LocalPodPtr find(std::string_view uid) const = 0;
  /// All that find() finds.
  [[nodiscard]] virtual std::vector<LocalPodPtr> all() const = 0;
  /// All pods of the node are known: whatever find() does not find is gone.
  [[nodiscard]] virtual bool synced() const = 0;
  /// From the API server.
  /// @returns kNotFound     there is no such pod, or not on this node
  ///          kUnavailable  the API server does not answer
  virtual Result<LocalPodPtr> fetch(std::string_view ns, std::string_view name) = 0;
};

/// The pods of this node, kept by a watch. A pod that cannot be read stays as it was until it ends;
/// one that could never be read is not known, so none of its containers gets a card.
///
/// Pods that take too much memory are left out, as BoundedItems says, until they change or are
/// listed again: any user may name a node, and kubelet does not end all pods that it does not run.
/// Threads: safe.
class LocalPods final : public PodSource, public kube::ObjectSink {
 public:
  /// @param changed  called on the watch's thread after every change
  LocalPods(kube::KubeApi& api, PodRules rules, const Clock& clock, std::function<void()> changed);

  /// The options of its Reflector.
  [[nodiscard]] static kube::ReflectorOptions to_watch(std::string_view node);

  [[nodiscard]] LocalPodPtr find(std::string_view uid) const override;
  [[nodiscard]] std::vector<LocalPodPtr> all() const override;
  [[nodiscard]] bool synced() const override;
  Result<LocalPodPtr> fetch(std::string_view ns, std::string_view name) override;
  /// Of all pods together; nothing until all are known.
  [[nodiscard]] std::optional<CardRequests> requested() const;

  /// All pods of the node are known, and none was left out: whatever no grant names is not granted.
  [[nodiscard]] bool knows_all_grants() const;
  /// Some were left out, and there is room by now: a new list shows them.
  [[nodiscard]] bool has_room_again() const;
  /// How often a pod was left out.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  void begin_list() override;
  void listed(std::string_view object) override;
  void unlisted(std::string_view object) override;
  void end_list() override;
  [[nodiscard]] std::size_t kept_bytes() const override { return listed_.weight(); }
  void change(kube::EventType type, std::string_view object) override;

 private:
  using Pods = BoundedItems<LocalPod>;  ///< by UID

  /// A pod as an object shows it.
  struct Shown {
    std::string uid;
    bool ended = false;
    LocalPodPtr pod;  ///< null = it cannot be read, and was not known
  };

  [[nodiscard]] Shown read(std::string_view object) const;
  /// What find() has of it. @returns null if that is nothing
  [[nodiscard]] LocalPodPtr former(const std::string& uid) const;
  /// Under mutex_.
  [[nodiscard]] bool knows_all() const { return synced_ && pods_.has_outlines(); }
  void note_left_out(const std::vector<LocalPodPtr>& pods);

  kube::KubeApi& api_;
  const PodRules rules_;
  const std::function<void()> changed_;
  kube::RateLimiter log_limit_;
  std::atomic<std::uint64_t> left_out_ = 0;
  // Of the reflector's thread.
  Pods listed_;  ///< of the list that is being read
  mutable std::mutex mutex_;
  // Under mutex_.
  Pods pods_;
  bool synced_ = false;
};

}  // namespace tangram::node
