#pragma once

#include "node/pods/local_pod.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// Pods of the node, in a bounded amount of memory.
///
/// If they take more, the heaviest are left out, of equal ones the first by UID: pods that their
/// authors made large go before others. Of such a pod an outline stays, so that it does not look
/// gone; an outline that is itself the heaviest goes, too. Which pods are left out of those that
/// were put in does not depend on their order.
/// Threads: one at a time.
class KeptPods {
 public:
  using Pods = std::map<std::string, LocalPodPtr, std::less<>>;  ///< by UID

  /// @param most  of weight()
  explicit KeptPods(std::size_t most) : most_(most) {}
  KeptPods(KeptPods&&) noexcept = default;
  KeptPods& operator=(KeptPods&&) noexcept = default;
  KeptPods(const KeptPods&) = delete;
  KeptPods& operator=(const KeptPods&) = delete;
  ~KeptPods() = default;

  /// Instead of the one of its UID, if there is one.
  /// @returns the pods that are left out for it, as they were; `pod` itself may be among them
  [[nodiscard]] std::vector<LocalPodPtr> put(LocalPodPtr pod);
  void erase(std::string_view uid);
  void clear();

  /// @returns null if there is none of that UID
  [[nodiscard]] LocalPodPtr find(std::string_view uid) const;
  [[nodiscard]] const Pods& all() const { return pods_; }
  /// Of all, as of weight_of().
  [[nodiscard]] std::size_t weight() const { return weight_; }
  /// None was left out since clear().
  [[nodiscard]] bool complete() const { return complete_; }
  /// Of each there has been an outline at least, since clear().
  [[nodiscard]] bool has_outlines() const { return has_outlines_; }

 private:
  struct Ranked {
    std::size_t weight = 0;
    const LocalPod* pod = nullptr;  ///< of pods_
    bool operator<(const Ranked& other) const;
  };
  void insert(LocalPodPtr pod);

  std::size_t most_;
  Pods pods_;
  std::set<Ranked> heaviest_first_;
  std::size_t weight_ = 0;
  bool complete_ = true;
  bool has_outlines_ = true;
};

}  // namespace tangram::node
