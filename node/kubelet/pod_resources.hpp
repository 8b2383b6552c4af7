#pragma once

#include "base/result.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace v1 {
class ListPodResourcesResponse;
}  // namespace v1

namespace tangram::node {

/// A container that kubelet says holds slots. Ordinary init containers are never named.
struct ListedContainer {
  std::string ns;
  std::string pod;
  std::string container;
  std::vector<std::string> slots;  ///< sorted
  friend bool operator==(const ListedContainer&, const ListedContainer&) = default;
};
using PodList = std::vector<ListedContainer>;

/// Who holds slots of the resource, by kubelet's answer.
[[nodiscard]] PodList pod_list_of(const v1::ListPodResourcesResponse& response,
                                  const std::string& resource);

/// Kubelet's public list of who holds what.
class PodLister {
 public:
  virtual ~PodLister() = default;
  /// As it is at some moment after the call.
  /// @returns kUnavailable if kubelet does not answer
  virtual Result<PodList> list() = 0;
};

/// Asks kubelet's PodResources service (/var/lib/kubelet/pod-resources/kubelet.sock).
///
/// Kubelet answers 100 lists a second and refuses more, so callers who come while one is under way
/// share the next one; what is refused all the same is asked again, until the limit. Threads: safe.
class PodResources final : public PodLister {
 public:
  /// @param limit  of one call, tries included: below the 30 s that kubelet waits for
  /// PreStartContainer
  PodResources(const std::string& socket, std::string resource,
               std::chrono::milliseconds limit = std::chrono::seconds(5));
  ~PodResources() override;
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

  Result<PodList> list() override;

 private:
  struct Stub;
  Result<PodList> ask();

  const std::string resource_;
  const std::chrono::milliseconds limit_;
  std::unique_ptr<Stub> stub_;

  std::mutex mutex_;
  std::condition_variable done_;
  // Under mutex_.
  bool asking_ = false;
  std::uint64_t begun_ = 0;                        ///< lists asked for so far
  std::uint64_t finished_ = 0;                     ///< newest one that has its answer
  std::shared_ptr<const Result<PodList>> answer_;  ///< of that one
};

}  // namespace tangram::node
