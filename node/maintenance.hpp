#pragma once

#include "base/required.hpp"
#include "kube/grant_keys.hpp"
#include "kube/reflector.hpp"
#include "node/cards/card_watcher.hpp"
#include "node/container/journal.hpp"
#include "node/container/memory_limiters.hpp"
#include "node/container/starter.hpp"
#include "node/isolation/enforcers.hpp"
#include "node/pods/local_pods.hpp"
#include "node/publish/other_plugins.hpp"

#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

namespace tangram::node {

/// What the agent looks after every 5 s, because nothing tells of it: what cards need that are
/// shared, limits of memory, cards that are lost and no longer granted, files of grant keys, and
/// kubelet's checkpoint.
///
/// Threads: run() on one.
class Maintenance {
 public:
  struct Parts {
    const ContainerStarter& starter;
    Enforcers& enforcers;
    MemoryLimiters& memory_limiters;
    Journal& journal;
    LocalPods& pods;
    kube::Reflector& pod_reflector;
    CardWatcher& watcher;
    OtherPlugins& other_plugins;
    kube::GrantKeys* grant_keys;                     ///< null = signatures are not checked
    Required<std::function<void()>> owners_changed;  ///< of cards that other plugins give out
  };
  explicit Maintenance(Parts parts) : parts_(std::move(parts)) {}

  void run(const std::stop_token& stop);

 private:
  void keep_limits();
  void await_pods(const std::stop_token& stop) const;
  void relist_pods();
  void look_at_other_owners();

  const Parts parts_;
  std::optional<std::set<std::string>> other_owners_;  ///< as last seen
};

}  // namespace tangram::node
