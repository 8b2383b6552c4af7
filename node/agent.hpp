#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/api.hpp"
#include "kube/events.hpp"
#include "node/settings.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace tangram::node {

/// The node agent: watches the cards and the pods of one node, publishes the cards in the Node, and
/// prepares the start of containers.
///
///     cards ──► publisher ──► Node object          kubelet ──► device plugin ──► starter ──► CDI
///       ▲                        │ watch                                           │ reads   spec
///     driver, faults             ▼                            API server ──► pods ─┘
///
/// Threads: start() and stop() on one.
class Agent {
 public:
  struct Parts {
    kube::KubeApi& api;
    kube::KubeApi& reviews;  ///< of tokens; its calls should not use up what api may send
    const Clock& clock;
    kube::EventReporter reporter;
    std::function<std::uint64_t()> random;
    /// Takes the Node's label kPoolLabel at each of the Node's changes; must not block.
    std::function<void(const std::string& label)> pool_seen = [](const std::string&) {};
  };

  /// Reads the journal and the Node, and starts.
  /// @returns kUnavailable     the API server does not answer, or a folder cannot be used: try
  /// again
  ///          kInvalidArgument  this node lacks what the agent needs, with what to enable
  static Result<std::unique_ptr<Agent>> create(Settings settings, Parts parts);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Ends the agent's work; containers continue. The destructor does the same.
  void stop();

  /// Of GET /metrics and /healthz.
  [[nodiscard]] std::uint16_t port() const;

 private:
  struct Impl;
  explicit Agent(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::node
