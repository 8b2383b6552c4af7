#include "cli/completion/completion.hpp"

#include "cli/options.hpp"

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
      *[!-A-Za-z0-9_.:/=]*) ;;
      *) COMPREPLY+=("$word") ;;
    esac
  done < <(kubectl-tangram __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _kubectl_tangram kubectl-tangram
)";

constexpr std::string_view kZsh = R"(#compdef kubectl-tangram
# kubectl-tangram's completion for zsh, to be sourced, or as _kubectl-tangram in a folder of $fpath
_kubectl_tangram() {
  local -a found
  local word
  for word in "${(@f)$(kubectl-tangram __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $word in
      :0) _files ;;
      :*) ;;
      *[^-A-Za-z0-9_.:/=]*) ;;
      *) found+=("$word") ;;
    esac
  done
  compadd -a found
}
if [[ ${funcstack[1]} == _kubectl-tangram ]]; then
  _kubectl_tangram "$@"
else
  compdef _kubectl_tangram kubectl-tangram
fi
)";

constexpr std::string_view kFish = R"(# kubectl-tangram's completion for fish
function __kubectl_tangram
  set -l words (commandline -opc) (commandline -ct)
  for word in (kubectl-tangram __complete $words[2..-1] 2>/dev/null)
    switch $word
      case ':0'
        __fish_complete_path (commandline -ct)
      case ':*'
      case '*'
        string match --quiet --regex '^[-A-Za-z0-9_.:/=]+$' -- $word; and echo $word
    end
  end
end
complete -c kubectl-tangram -f -a '(__kubectl_tangram)'
)";

/// Fixed values of an option or a positional argument; none if they are not a closed set.
std::vector<std::string> values_of(std::string_view option) {
  if (option == "--output") return {"wide", "json", "yaml"};
  if (option == "--extender") return {kByProxy};
  if (option == "SHELL") return {"bash", "zsh", "fish"};
  if (option == "FOR") return autoscaler_kinds();
  return request_values(option.substr(std::min(option.size(), std::string_view("--").size())));
}

constexpr std::array<std::string_view, 3> kTakeFiles{"--kubeconfig", "--extender-ca", "--filename"};

/// Values of options and positional arguments that only a cluster knows.
Names names_for(std::string_view option) {
  if (option == "NODE" || option == "--from") return Names::kNodes;
  if (option == "POD") return Names::kPods;
  if (option == "UUID") return Names::kCards;
  if (option == "--namespace" || option == "--system-namespace") return Names::kNamespaces;
  return Names::kNone;
}

/// The position of the last word of a command line.
struct Place {
  const CLI::App* parser = nullptr;
  const CLI::App* command = nullptr;                            ///< null = none yet
  const CLI::Option* value_of = nullptr;                        ///< the option whose value it is
  std::size_t given = 0;                                        ///< positional arguments before it
  std::map<std::string, std::string, std::less<>> values = {};  ///< of options, by long name
  std::string head = {};   ///< the part of the word that stays: "--output="
  std::string typed = {};  ///< the rest of it
};

/// The option's long name.
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

/// "--output=json", "--output json" and bash's "--output = json" alike, all but the last word.
std::vector<std::string> plain(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const bool is_last = i + 1 == words.size();
    if (word == "=" && i > 0 && words[i - 1].starts_with("--")) {
      if (is_last) all.emplace_back();
    } else if (equals != std::string::npos && !is_last) {
      all.push_back(word.substr(0, equals));
      all.push_back(word.substr(equals + 1));
    } else {
      all.push_back(word);
    }
  }
  if (all.empty()) all.emplace_back();
  return all;
}

void advance(Place& place, const std::string& word) {
  if (place.value_of != nullptr) {
    place.values[name_of(*place.value_of)] = word;
    place.value_of = nullptr;
  } else if (word.starts_with('-')) {
    const CLI::Option* const option = option_of(place, word);
    if (option != nullptr && option->get_items_expected_max() > 0) place.value_of = option;
  } else if (place.command != nullptr) {
    ++place.given;
  } else {
    const auto named = place.parser->get_subcommands(
        [&](const CLI::App* command) { return command->get_name() == word; });
    if (!named.empty()) place.command = named.front();
  }
}

Place place_of(const CLI::App& parser, const std::vector<std::string>& typed) {
  Place place{.parser = &parser};
  const std::vector<std::string> words = plain(typed);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) advance(place, words[i]);
  place.typed = words.back();
  const std::size_t equals = place.typed.find('=');
  if (place.value_of == nullptr && place.typed.starts_with("--") && equals != std::string::npos) {
    place.value_of = option_of(place, place.typed.substr(0, equals));
    place.head = place.typed.substr(0, equals + 1);
    place.typed.erase(0, equals + 1);
  }
  return place;
}

/// The positional argument at the place; null = none.
const CLI::Option* wanted_at(const Place& place) {
  if (place.command == nullptr) return nullptr;
  for (const CLI::Option* option : place.command->get_options()) {
    const auto most = static_cast<std::size_t>(option->get_items_expected_max());
    if (option->get_positional() && place.given < most) return option;
  }
  return nullptr;
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

/// Names of commands, or fixed values of the positional argument.
std::vector<std::string> words_at(const Place& place) {
  if (place.command == nullptr) {
    std::vector<std::string> names;
    for (const CLI::App* command :
         place.parser->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
    return names;
  }
  const CLI::Option* const option = wanted_at(place);
  return option == nullptr ? std::vector<std::string>() : values_of(option->get_name());
}

std::vector<std::string> candidates_at(const Place& place) {
  if (place.value_of != nullptr) return values_of(name_of(*place.value_of));
  return place.typed.starts_with('-') ? options_at(place) : words_at(place);
}

/// No shell executes or expands such a word, and none is a directive. kubectl's completion hands
/// candidates to bash's `compgen -W`, which expands them, and bash inserts ours unquoted.
bool is_plain(std::string_view word) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/";
  return !word.empty() && word.front() != ':' &&
         word.find_first_not_of(kLetters) == std::string_view::npos;
}

/// The plain candidates with the typed prefix; flags only after a typed dash.
std::vector<std::string> matching(const Place& place, std::vector<std::string> found) {
  std::erase_if(found, [&](const std::string& word) {
    return !is_plain(word) || !word.starts_with(place.typed) ||
           (word.starts_with('-') && place.typed.empty());
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  for (std::string& word : found) word.insert(0, place.head);
  return found;
}

std::string value_at(const Place& place, std::string_view option) {
  const auto found = place.values.find(option);
  return found == place.values.end() ? "" : found->second;
}

/// The names to ask a cluster for, if any.
NamesQuery query_at(const Place& place) {
  NamesQuery query;
  if (place.value_of != nullptr) {
    query.names = names_for(name_of(*place.value_of));
  } else if (const CLI::Option* const wanted = wanted_at(place);
             wanted != nullptr && !place.typed.starts_with('-')) {
    query.names = names_for(wanted->get_name());
  }
  query.target = {.kubeconfig = value_at(place, "--kubeconfig"),
                  .context = value_at(place, "--context"),
                  .server = value_at(place, "--server")};
  query.ns = value_at(place, "--namespace");
  const std::size_t slash = place.typed.find('/');
  if (query.names == Names::kPods && slash != std::string::npos) {
    query.ns = place.typed.substr(0, slash);
    query.with_namespace = true;
  }
  return query;
}

}  // namespace

std::string completion_answer(const std::vector<std::string>& words, const NamesSource& source) {
  Options options;
  const auto parser = make_parser(options);
  const Place place = place_of(*parser, words);
  std::string text;
  for (const std::string& word : matching(place, candidates_at(place))) text += word + "\n";
  if (const NamesQuery query = query_at(place); source && query.names != Names::kNone) {
    for (const std::string& word : matching(place, source(query))) text += word + "\n";
  }
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
