#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cli/cluster.hpp"
#include "cli/cluster_settings.hpp"
#include "cli/options.hpp"
#include "cli/pages.hpp"
#include "cli/screen.hpp"
#include "kube/api.hpp"
#include "kube/rest/rest_config.hpp"

#include <memory>
#include <optional>
#include <string>

namespace tangram::cli {

/// What a command prints and ends with.
struct Answer {
  std::string text;
  int exit = kDone;
};

/// Carries out commands, as often as asked. Threads: one at a time.
class Commands {
 public:
  /// @param clock  outlives the commands
  Commands(Options options, const Screen& screen, kube::Environment environment,
           const Clock& clock);
  ~Commands();

  /// @returns what is wrong, and what to do next
  Result<Answer> run();

 private:
  Result<Answer> top();
  Result<Answer> pods();
  Result<Answer> explain();
  Result<Answer> fit();
  Result<Answer> whatif();
  Result<Answer> cordon();
  Result<Answer> doctor();

  Result<kube::KubeApi*> api();
  Result<std::string> namespace_of_pods();
  /// Nothing if none is to be asked.
  Result<std::optional<ExtenderAt>> running_extender();
  /// For who only wants to see what there is.
  Result<std::unique_ptr<Cluster>> cluster();
  /// With the policy and isolation of its extender, for who decides.
  Result<std::unique_ptr<Cluster>> cluster_as_configured(ClusterSettings& settings);

  const Options options_;
  const Screen screen_;
  const kube::Environment environment_;
  const Clock& clock_;
  std::optional<Connection> connection_;     ///< once it is needed
  std::unique_ptr<kube::KubeApi> extender_;  ///< once it is needed
};

}  // namespace tangram::cli
