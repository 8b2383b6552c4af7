#pragma once

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/result.hpp"
#include "cli/cluster.hpp"
#include "cli/cluster_settings.hpp"
#include "cli/command_result.hpp"
#include "cli/defrag/defrag.hpp"
#include "cli/options.hpp"
#include "cli/pages.hpp"
#include "cli/screen.hpp"
#include "extender/admission/settings.hpp"
#include "kube/api.hpp"

#include <memory>
#include <optional>
#include <string>

namespace tangram::cli {

/// Runs a command, once or repeatedly. Threads: one at a time.
class Commands {
 public:
  /// @param clock  outlives the commands
  Commands(Options options, const Screen& screen, Environment environment, const Clock& clock);
  ~Commands();

  /// @returns an error that says what is wrong and what to do next
  Result<CommandResult> run();

 private:
  Result<CommandResult> top();
  Result<CommandResult> pods();
  Result<CommandResult> explain();
  Result<CommandResult> fit();
  Result<CommandResult> whatif();
  Result<CommandResult> defrag();
  Result<CommandResult> run_moves(kube::KubeApi& api, const Defrag& plan);
  Result<CommandResult> fill();
  Result<CommandResult> autoscaler();
  Result<CommandResult> cordon();
  Result<CommandResult> resize();
  Result<CommandResult> reset();
  Result<CommandResult> doctor();
  Result<CommandResult> completion();

  Result<kube::KubeApi*> api();
  Result<std::string> namespace_of_pods();
  struct PodAt {
    std::string ns;
    std::string name;
  };
  /// "NAME", or "NAMESPACE/NAME".
  Result<PodAt> named_pod();
  /// The page /api/v1/explain.
  /// @param settings  set unless an extender is asked
  Result<std::string> explain_text(const PodAt& pod, ClusterSettings& settings);
  [[nodiscard]] std::optional<ResizeProgress> explained_resize(const PodAt& pod);
  /// As the extender's, or the defaults with --offline.
  /// @param notes  gets what is assumed of them
  Result<extender::AdmissionSettings> webhook_settings(std::string& notes);
  /// Nothing without --extender.
  Result<std::optional<ExtenderAt>> running_extender();
  /// As the extender sees it, by its own settings.
  Result<std::unique_ptr<Cluster>> cluster(ClusterSettings& settings);

  const Options options_;
  const Screen screen_;
  const Environment environment_;
  const Clock& clock_;
  std::optional<Connection> connection_;     ///< created on first use
  std::unique_ptr<kube::KubeApi> extender_;  ///< created on first use
};

}  // namespace tangram::cli
