#pragma once

#include "cli/connection.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::cli {

/// Names that only a cluster knows.
enum class Names { kNone, kNodes, kPods, kNamespaces, kCards };

/// Which names complete a command line, and of which cluster.
struct NamesQuery {
  Names names = Names::kNone;
  Target target = {};
  std::string ns = {};          ///< of pods; empty = the context's
  bool with_namespace = false;  ///< pods are written NAMESPACE/NAME
};
using NamesSource = std::function<std::vector<std::string>(const NamesQuery&)>;

/// Pods that request a GPU, nodes with cards, cards by UUID, namespaces; of the first 500 objects.
/// None if the API server does not answer or refuses.
/// @param clock  outlives the call
[[nodiscard]] std::vector<std::string> names_in_cluster(const NamesQuery& query,
                                                        const Environment& environment,
                                                        const Clock& clock);
/// The same, from an API server.
[[nodiscard]] std::vector<std::string> names_in_cluster(const NamesQuery& query, kube::KubeApi& api,
                                                        const std::string& ns);

/// Candidates for the last word of a command line: names of commands, options and fixed values, and
/// names of a cluster. Words that a shell would interpret are left out. In the format of kubectl
/// and of the scripts below: one word per line, then
/// ":4" for "no file names" or ":0" for "also file names" (cobra's ShellCompDirective).
/// @param words   after the program's name; the last one as typed so far, maybe ""
/// @param source  of a cluster's names; empty = none
[[nodiscard]] std::string completion_answer(const std::vector<std::string>& words,
                                            const NamesSource& source = {});

/// The script with which a shell calls `kubectl-tangram __complete`.
/// @param shell  "bash", "zsh" or "fish"
[[nodiscard]] std::string_view completion_script(std::string_view shell);

/// The hidden command that the scripts call.
inline constexpr const char* kCompleteCommand = "__complete";

}  // namespace tangram::cli
