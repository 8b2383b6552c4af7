#pragma once

#include "base/result.hpp"
#include "kube/objects.hpp"

namespace tangram::cluster {

struct Note;
struct PodName;
struct PodPlan;
struct Recorded;

/// Is notified of the pods that the watch shows, on the watch's thread and without a lock; must not
/// block.
class PodObserver {
 public:
  PodObserver() = default;
  PodObserver(const PodObserver&) = delete;
  PodObserver& operator=(const PodObserver&) = delete;
  virtual ~PodObserver() = default;

  /// A full list begins (true) or has ended (false).
  virtual void listing(bool /*begins*/) {}
  /// The watch shows the pod for the first time; in order.
  /// @param plan  what its annotations request, or what is wrong with them
  virtual void arrived(const kube::Pod& /*pod*/, const Result<PodPlan>& /*plan*/) {}
  /// The watch shows the pod, for the first time or again.
  /// @param plan      as of arrived()
  /// @param recorded  of a bound pod: what its grant says
  virtual void seen(const kube::Pod& /*pod*/, const Result<PodPlan>& /*plan*/,
                    const Recorded& /*recorded*/) {}
  /// Something new is wrong with the pod. Also called by the thread that examines the cards.
  virtual void noted(const PodName& /*pod*/, const Note& /*note*/) {}
};

}  // namespace tangram::cluster
