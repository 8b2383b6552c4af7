#pragma once

#include "cli/connection.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::cli {

/// What may stand in place of the last word of a command line: names of commands, options and
/// fixed values. Asks no cluster.
/// @param words  after the program's name; the last one is what has been typed so far, maybe ""
[[nodiscard]] std::vector<std::string> complete(const std::vector<std::string>& words);

/// Names that only a cluster knows.
enum class Names { kNone, kNodes, kPods, kNamespaces, kCards };

/// Which names would go on with a command line, and which cluster it is about.
struct AskedNames {
  Names names = Names::kNone;
  Target target = {};
  std::string ns = {};          ///< of pods; empty = the context's
  bool with_namespace = false;  ///< pods are written NAMESPACE/NAME
};
using NamesSource = std::function<std::vector<std::string>(const AskedNames&)>;

/// Pods that ask for a GPU, nodes with cards, cards by UUID, namespaces; the first 500 objects are
/// looked at, for nobody reads a longer list. None where the API server does not answer, or says
/// no.
/// @param clock  outlives the call
[[nodiscard]] std::vector<std::string> names_in_cluster(const AskedNames& asked,
                                                        const kube::Environment& environment,
                                                        const Clock& clock);
/// The same of an API server.
[[nodiscard]] std::vector<std::string> names_in_cluster(const AskedNames& asked, kube::KubeApi& api,
                                                        const std::string& ns);

/// complete() as kubectl and the scripts below want it: a word a line, then ":4" for "no file
/// names" or ":0" for "file names, too" (cobra's ShellCompDirective).
/// @param source  of names; nothing = none
[[nodiscard]] std::string completion_answer(const std::vector<std::string>& words,
                                            const NamesSource& source = {});

/// The script that makes a shell ask `kubectl-tangram __complete`.
/// @param shell  "bash", "zsh" or "fish"
[[nodiscard]] std::string_view completion_script(std::string_view shell);

/// The hidden command that answers them.
inline constexpr const char* kCompleteCommand = "__complete";

}  // namespace tangram::cli
