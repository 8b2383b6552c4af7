#include "node/vendor/nvidia/sharing/sharing_files.hpp"

#include "base/file.hpp"
#include "base/folder.hpp"
#include "base/quote.hpp"

#include <boost/algorithm/string/join.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace tangram::node::nvidia {
namespace {

std::string names_of(const SharingFiles& files) {
  std::vector<std::string> names;
  for (const auto& [name, file] : files) names.push_back(name);
  return boost::algorithm::join(names, ", ");
}

Result<std::string> name_of_default(const SharingFiles& files, const std::string& given) {
  if (files.contains(given)) return given;
  if (!given.empty()) {
    return fail(Errc::kInvalidArgument, "there is no sharing configuration " + quote(given) +
                                            "; there are: " + names_of(files));
  }
  if (files.contains("default")) return "default";
  if (files.size() == 1) return files.begin()->first;
  return fail(Errc::kInvalidArgument,
              "which sharing configuration applies to nodes without a label is not said; name one "
              "by --sharing-default, or call one default. There are: " +
                  names_of(files));
}

/// The rule of one folder; shared, because the function that uses it is copied.
struct Rule {
  SharingFiles files;
  std::string default_name;

  std::vector<std::string> apply(std::string_view choice, std::vector<model::Card>& cards) const {
    std::vector<std::string> problems;
    auto [file, problem] = chosen_file(files, default_name, choice);
    if (!problem.empty()) problems.push_back(std::move(problem));
    for (const std::string& what : file.ignored) {
      problems.push_back("the sharing configuration ignores " + what);
    }
    for (model::Card& card : cards) {
      card.replicas = replicas_of(file, card);
      if (card.replicas.count > card.max_sharers) {
        problems.push_back("card " + card.id + " takes " + std::to_string(card.max_sharers) +
                           " pods at most, and the sharing configuration wants " +
                           std::to_string(card.replicas.count) + " replicas of it");
      }
      if (card.replicas.count > 1 && !card.isolation.has(card.replicas.isolation)) {
        problems.push_back("card " + card.id + " does not offer " +
                           std::string(to_string(card.replicas.isolation)) +
                           ", by which the sharing configuration shares it");
      }
    }
    return problems;
  }
};

}  // namespace

Result<SharingFiles> read_sharing_files(const std::string& folder) {
  const auto names = config_map_files(folder);
  if (!names) return names.error();
  SharingFiles files;
  for (const std::string& name : *names) {
    const auto text = read_file(std::string(folder).append("/").append(name));
    if (!text) return text.error();
    files.emplace(name, parse_sharing_file(*text));
  }
  return files;
}

Result<std::string> default_file(const SharingFiles& files, const std::string& given) {
  auto name = name_of_default(files, given);
  if (!name) return name;
  if (const auto& file = files.at(*name); !file) {
    return fail(Errc::kInvalidArgument,
                "sharing configuration " + quote(*name) + ": " + file.error().message);
  }
  return name;
}

ChosenFile chosen_file(const SharingFiles& files, const std::string& default_name,
                       std::string_view choice) {
  const SharingFile& otherwise = *files.find(default_name)->second;
  if (choice.empty()) return {otherwise, ""};
  const auto file = files.find(choice);
  if (file != files.end() && file->second) return {*file->second, ""};
  return {otherwise, "label nvidia.com/device-plugin.config names " + quote(choice) +
                         (file == files.end()
                              ? ", which is no sharing configuration; there are " + names_of(files)
                              : ", which has a mistake: " + file->second.error().message) +
                         ". " + quote(default_name) + " applies"};
}

CardSharing sharing_by(SharingFiles files, std::string default_name) {
  CardSharing sharing;
  for (const auto& [name, file] : files) {
    if (!file) continue;
    for (const auto& [resource, replicas] : file->replicas) {
      sharing.most_replicas = std::max(sharing.most_replicas, replicas);
    }
  }
  const auto rule = std::make_shared<const Rule>(Rule{std::move(files), std::move(default_name)});
  sharing.apply = [rule](std::string_view choice, std::vector<model::Card>& cards) {
    return rule->apply(choice, cards);
  };
  return sharing;
}

}  // namespace tangram::node::nvidia
