#include "cli/completion.hpp"

#include "cli/options.hpp"
#include "policies/registry.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace tangram::cli {

namespace {

constexpr std::string_view kBash = R"(# kubectl-tangram's completion for bash
_kubectl_tangram() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    case $word in
      :0) compopt -o default ;;
      :*) ;;
      *) COMPREPLY+=("$word") ;;
    esac
  done < <(kubectl-tangram __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _kubectl_tangram kubectl-tangram
)";

constexpr std::string_view kZsh = R"(#compdef kubectl-tangram
# kubectl-tangram's completion for zsh
_kubectl_tangram() {
  local -a found
  local word
  for word in "${(@f)$(kubectl-tangram __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $word in
      :0) _files ;;
      :*) ;;
      *) found+=("$word") ;;
    esac
  done
  compadd -a found
}
compdef _kubectl_tangram kubectl-tangram
)";

constexpr std::string_view kFish = R"(# kubectl-tangram's completion for fish
function __kubectl_tangram
  set -l words (commandline -opc) (commandline -ct)
  kubectl-tangram __complete $words[2..-1] 2>/dev/null | string match -v ':*'
end
complete -c kubectl-tangram -a '(__kubectl_tangram)'
)";

/// Values of options, and of the words that commands want.
const std::map<std::string, std::vector<std::string>, std::less<>>& known_values() {
  static const std::map<std::string, std::vector<std::string>, std::less<>> kValues = [] {
    const auto& policies = policies::policy_names();
    return std::map<std::string, std::vector<std::string>, std::less<>>{
        {"--output", {"wide", "json", "yaml"}},
        {"--gpu-isolation", {"mps", "time-slice", "none"}},
        {"--gpu-policy", {policies.begin(), policies.end()}},
        {"--extender", {kByProxy}},
        {"SHELL", {"bash", "zsh", "fish"}}};
  }();
  return kValues;
}

constexpr std::array<std::string_view, 3> kTakeFiles{"--kubeconfig", "--extender-ca", "--filename"};

/// Where a command line stands before its last word.
struct Place {
  const CLI::App* parser = nullptr;
  const CLI::App* command = nullptr;      ///< null = none yet
  const CLI::Option* value_of = nullptr;  ///< an option that still wants its value
};

/// The name by which an option is known here: its long one.
std::string name_of(const CLI::Option& option) {
  const auto& longs = option.get_lnames();
  return longs.empty() ? option.get_name() : "--" + longs.front();
}

const CLI::Option* option_of(const Place& place, const std::string& word) {
  for (const CLI::App* app : {place.command, place.parser}) {
    if (app == nullptr) continue;
    if (const CLI::Option* const option = app->get_option_no_throw(word)) return option;
  }
  return nullptr;
}

Place place_of(const CLI::App& parser, const std::vector<std::string>& words) {
  Place place{&parser};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (place.value_of != nullptr) {
      place.value_of = nullptr;
    } else if (word.starts_with('-')) {
      const CLI::Option* const option = option_of(place, word);
      if (option != nullptr && option->get_items_expected_max() > 0) place.value_of = option;
    } else if (place.command == nullptr) {
      for (const CLI::App* command : parser.get_subcommands([](const CLI::App*) { return true; })) {
        if (command->get_name() == word) place.command = command;
      }
    }
  }
  return place;
}

std::vector<std::string> options_at(const Place& place) {
  std::vector<std::string> names;
  for (const CLI::App* app : {place.command, place.parser}) {
    if (app == nullptr) continue;
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

/// Names of commands, or the values of what the command wants.
std::vector<std::string> words_at(const Place& place) {
  std::vector<std::string> names;
  if (place.command == nullptr) {
    for (const CLI::App* command :
         place.parser->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
    return names;
  }
  for (const CLI::Option* option : place.command->get_options()) {
    if (!option->get_positional()) continue;
    const auto known = known_values().find(option->get_name());
    if (known != known_values().end())
      names.insert(names.end(), known->second.begin(), known->second.end());
  }
  return names;
}

std::vector<std::string> candidates_at(const Place& place, const std::string& typed) {
  if (place.value_of != nullptr) {
    const auto known = known_values().find(name_of(*place.value_of));
    return known == known_values().end() ? std::vector<std::string>() : known->second;
  }
  return typed.starts_with('-') ? options_at(place) : words_at(place);
}

}  // namespace

std::vector<std::string> complete(const std::vector<std::string>& words) {
  Options options;
  const auto parser = make_parser(options);
  const std::string typed = words.empty() ? "" : words.back();
  std::vector<std::string> found = candidates_at(place_of(*parser, words), typed);
  std::erase_if(found, [&](const std::string& word) { return !word.starts_with(typed); });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string completion_answer(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : complete(words)) text += word + "\n";
  Options options;
  const auto parser = make_parser(options);
  const Place place = place_of(*parser, words);
  const bool files =
      place.value_of != nullptr &&
      std::find(kTakeFiles.begin(), kTakeFiles.end(), name_of(*place.value_of)) != kTakeFiles.end();
  return text + (files ? ":0\n" : ":4\n");
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  return shell == "zsh" ? kZsh : kFish;
}

}  // namespace tangram::cli
