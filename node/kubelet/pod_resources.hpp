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

/// A container with slots in kubelet's list. Ordinary init containers are never listed.
struct ListedContainer {
  std::string ns;
  std::string pod;
  std::string container;
  std::vector<std::string> slots;  ///< sorted
  friend bool operator==(const ListedContainer&, const ListedContainer&) = default;
};
using PodList = std::vector<ListedContainer>;

/// The containers with slots of the resource in kubelet's response.
[[nodiscard]] PodList pod_list_of(const v1::ListPodResourcesResponse& response,
                                  const std::string& resource);

/// Kubelet's public list of containers and their devices.
class PodLister {
 public:
  virtual ~PodLister() = default;
  /// The list at some moment after the call.
  /// @returns kUnavailable if kubelet does not answer
  virtual Result<PodList> list() = 0;
};

/// Calls kubelet's PodResources service (/var/lib/kubelet/pod-resources/kubelet.sock).
///
/// Kubelet answers 100 lists a second and refuses more: callers that come during a call share the
/// next one, and a refused call is repeated until the limit. Threads: safe.
class PodResources final : public PodLister {
 public:
  /// @param limit  of one call with its retries: below the 30 s of PreStartContainer
  PodResources(const std::string& socket, std::string resource,
               std::chrono::milliseconds limit = std::chrono::seconds(5));
  ~PodResources() override;
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

  Result<PodList> list() override;

 private:
  struct Stub;
  Result<PodList> list_once();

  const std::string resource_;
  const std::chrono::milliseconds limit_;
  std::unique_ptr<Stub> stub_;

  std::mutex mutex_;
  std::condition_variable done_;
  // Under mutex_.
  bool listing_ = false;
  std::uint64_t started_ = 0;                      ///< calls so far
  std::uint64_t finished_ = 0;                     ///< the newest call that has its answer
  std::shared_ptr<const Result<PodList>> answer_;  ///< of that one
};

}  // namespace tangram::node
