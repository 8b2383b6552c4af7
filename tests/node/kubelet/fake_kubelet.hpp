#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tangram::testing {

/// The side of kubelet that a device plugin sees, over its real sockets: registration, allocation
/// of random free slots, the checkpoint file, the PodResources list. Threads: safe.
class FakeKubelet {
 public:
  struct Owner {
    std::string uid;
    std::string ns = "ml";
    std::string pod;
    std::string container = "main";
    bool init = false;  ///< ordinary init containers are not in the PodResources list
  };

  /// @param root  a folder for device-plugins/ and pod-resources/
  FakeKubelet(std::string root, std::uint64_t seed);
  ~FakeKubelet();
  FakeKubelet(const FakeKubelet&) = delete;
  FakeKubelet& operator=(const FakeKubelet&) = delete;

  [[nodiscard]] std::string plugin_folder() const;
  [[nodiscard]] std::string pod_resources_socket() const;
  [[nodiscard]] std::string checkpoint() const;  ///< the file's path

  /// As kubelet does: removes every socket in the folder, then makes its own.
  void start();
  void stop();
  /// Ends the stream of slots, as a kubelet does that mistakes the new client for the old one.
  void drop_stream();
  /// The next lists are refused by the rate limit.
  void refuse_lists(int count);

  [[nodiscard]] int slots()
      const;  ///< healthy ones that the plugin has published; 0 = not registered
  [[nodiscard]] int registrations() const;
  [[nodiscard]] std::uint64_t lists() const;

  /// Admits a container with that many random free slots, or the given ones.
  /// @returns the error; empty = admitted
  std::string admit(const Owner& owner, int count = 1, std::vector<std::string> slots = {});
  /// Calls PreStartContainer. @returns the status message; empty = go ahead
  std::string start_container(const Owner& owner);
  /// The CDI device that the runtime would look for.
  [[nodiscard]] std::string device_of(const Owner& owner) const;
  [[nodiscard]] std::vector<std::string> slots_of(const Owner& owner) const;
  /// Records devices of another resource, as if their own plugin had allocated them.
  void give(const std::string& uid, const std::string& resource,
            const std::vector<std::string>& devices);
  /// The pod has ended; the checkpoint goes on naming it until the next admission.
  void end(const std::string& uid);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::testing
