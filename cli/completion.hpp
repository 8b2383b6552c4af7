#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tangram::cli {

/// What may stand in place of the last word of a command line: names of commands, options and
/// fixed values. Asks no cluster.
/// @param words  after the program's name; the last one is what has been typed so far, maybe ""
[[nodiscard]] std::vector<std::string> complete(const std::vector<std::string>& words);

/// complete() as kubectl and the scripts below want it: a word a line, then ":4" for "no file
/// names" or ":0" for "file names, too" (cobra's ShellCompDirective).
[[nodiscard]] std::string completion_answer(const std::vector<std::string>& words);

/// The script that makes a shell ask `kubectl-tangram __complete`.
/// @param shell  "bash", "zsh" or "fish"
[[nodiscard]] std::string_view completion_script(std::string_view shell);

/// The hidden command that answers them.
inline constexpr const char* kCompleteCommand = "__complete";

}  // namespace tangram::cli
