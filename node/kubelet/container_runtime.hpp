#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tangram::node {

/// A running container, with kubelet's names for it.
struct RuntimeContainer {
  std::string id;  ///< the runtime's
  std::string pod_uid;
  std::string ns;
  std::string pod;
  std::string container;
  std::int64_t created_at = 0;  ///< nanoseconds since 1970; 0 = the runtime does not say
  friend bool operator==(const RuntimeContainer&, const RuntimeContainer&) = default;
};

/// What the container runtime tells of its own configuration; CRI-O tells nothing of this.
struct RuntimeConfig {
  std::optional<bool> cdi;                     ///< whether containers get their CDI devices
  std::optional<std::string> default_program;  ///< of the default runtime: "runc"
  friend bool operator==(const RuntimeConfig&, const RuntimeConfig&) = default;
};

/// The container runtime's own record of what runs on the node.
class ContainerRuntime {
 public:
  virtual ~ContainerRuntime() = default;

  /// The running containers of pods, without sandboxes.
  /// @returns kUnavailable if the runtime does not answer, as the next three; kConflict if the list
  ///          is too large to be told: list_of() tells those of one pod
  virtual Result<std::vector<RuntimeContainer>> list() = 0;

  /// The running containers of a pod, by kubelet's UID.
  /// @returns kConflict if even these are too large to be told
  virtual Result<std::vector<RuntimeContainer>> list_of(const std::string& pod_uid) = 0;

  /// The environment with which a container was created, "NAME=value" each: its programs cannot
  /// change it.
  /// @returns kNotFound if there is no such container any more; kConflict if the runtime's record
  ///          of it is too large to be told, and kInvalidArgument if it is unreadable, for good
  virtual Result<std::vector<std::string>> environment(const std::string& id) = 0;

  /// Kills the container's processes. That it has ended already is no error.
  virtual Result<void> end(const std::string& id) = 0;
};

/// Calls the Container Runtime Interface (/run/containerd/containerd.sock). Threads: safe.
class CriRuntime final : public ContainerRuntime {
 public:
  /// @param limit  of one call: a runtime answers from memory, and ends a killed container within a
  ///               second, also on a busy node
  explicit CriRuntime(const std::string& socket,
                      std::chrono::milliseconds limit = std::chrono::seconds(5));
  ~CriRuntime() override;
  CriRuntime(const CriRuntime&) = delete;
  CriRuntime& operator=(const CriRuntime&) = delete;

  Result<std::vector<RuntimeContainer>> list() override;
  Result<std::vector<RuntimeContainer>> list_of(const std::string& pod_uid) override;
  Result<std::vector<std::string>> environment(const std::string& id) override;
  Result<void> end(const std::string& id) override;

  /// @returns kUnavailable if the runtime does not answer; kInvalidArgument if its text is
  ///          unreadable
  Result<RuntimeConfig> config();

 private:
  struct Stub;
  const std::chrono::milliseconds limit_;
  std::unique_ptr<Stub> stub_;
};

/// The environment in what containerd and CRI-O tell of a container when asked for everything:
///
///     {"runtimeSpec":{"process":{"env":["PATH=/bin",…],…},…},…}
///
/// @returns kInvalidArgument if it is anything else
Result<std::vector<std::string>> environment_in(std::string info);

/// The configuration in what containerd tells of itself when asked for everything:
///
///     {"containerd":{"defaultRuntimeName":"nvidia","runtimes":{"nvidia":{"options":
///      {"BinaryName":"/usr/bin/nvidia-container-runtime"},…},…},…},"enableCDI":true,…}
///
/// @returns kInvalidArgument if it is no JSON object, or these are of other types
Result<RuntimeConfig> runtime_config_in(std::string text);

}  // namespace tangram::node
