#pragma once

#include "base/parallel_loops.hpp"
#include "cluster/allocations.hpp"
#include "cluster/policy_source.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::cluster {

/// What a pod's object says by itself, whatever other pods and nodes there are.
struct PodReading {
  kube::Pod pod;
  bool readable = true;                 ///< else `pod` is what kube::scan_pod() makes of it
  std::optional<Result<PodPlan>> plan;  ///< of one that can be read and has not finished
  Recorded recorded;                    ///< of one that has a node and has not finished
};

/// Reads pods. Threads: safe.
class PodReader {
 public:
  /// @param bad_objects  counts pods that cannot be read
  /// @param check        of grants, as of model::read_grant(); empty = signatures are not checked
  PodReader(const PolicySource& policies, std::atomic<std::uint64_t>& bad_objects,
            model::SignatureCheck check)
      : policies_(policies), bad_objects_(bad_objects), check_(std::move(check)) {}

  /// @returns nothing if not even its UID can be read
  [[nodiscard]] std::optional<PodReading> read(std::string_view object) const;

 private:
  const PolicySource& policies_;
  std::atomic<std::uint64_t>& bad_objects_;
  const model::SignatureCheck check_;
};

/// Reads pods of a list some at a time, because reading is most of the work and threads can share
/// it. One thread.
class PodBatch {
 public:
  /// @param helpers  threads beside the caller's
  PodBatch(const PodReader& reader, std::size_t helpers) : reader_(reader), threads_(helpers) {}

  void add(std::string_view object);
  /// There is enough for all threads.
  [[nodiscard]] bool is_full() const;
  [[nodiscard]] std::size_t bytes() const { return text_.size(); }
  /// Empties the batch. @returns what PodReader::read() does, in the order of the list
  [[nodiscard]] std::vector<std::optional<PodReading>> read();
  void clear();

 private:
  const PodReader& reader_;
  ParallelLoops threads_;
  std::string text_;               ///< one object behind the other
  std::vector<std::size_t> ends_;  ///< of each, in text_
};

}  // namespace tangram::cluster
