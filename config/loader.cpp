#include "base/quote.hpp"
#include "base/spelling.hpp"
#include "config/settings.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace tangram::config {
namespace {

constexpr std::string_view kOverridePlace = "--set ";

/// A misspelt name has at most one letter in three wrong.
std::size_t most_edits(std::string_view name) { return name.size() / 3; }

/// Notes where a document starts and passes over all that is in it.
class StartFinder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { start_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  [[nodiscard]] const YAML::Mark& start() const { return start_; }

 private:
  YAML::Mark start_;
};

/// Where the text goes on after its first document. Not YAML::LoadAll: on a stray comma, which it
/// takes for one more empty document and does not pass over, it never ends.
std::optional<YAML::Mark> start_of_rest(const std::string& text) {
  std::istringstream in(text);
  YAML::Parser parser(in);
  StartFinder finder;
  if (!parser.HandleNextDocument(finder) || !parser.HandleNextDocument(finder)) return std::nullopt;
  return finder.start();
}

/// Reads the file and the overrides into one Config and collects every mistake on the way.
class Loader {
 public:
  explicit Loader(std::string file_name) : file_name_(std::move(file_name)) {}

  void read_file(const std::string& text) {
    try {
      const YAML::Node document = YAML::Load(text);
      if (const auto rest = start_of_rest(text)) {
        report(place(*rest),
               "something follows that is no part of the document before it; write one document, "
               "without --- and without stray commas or brackets");
      }
      if (document.IsDefined()) read_document(document);
    } catch (const YAML::Exception& error) {
      report(place(error.mark), "not YAML: " + error.msg +
                                    "; write a section's name and a colon on a line, and its "
                                    "settings below, indented, as key: value");
    }
  }

  void read_override(const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    const std::string name = assignment.substr(0, equals);
    const std::string where = std::string(kOverridePlace) + quote_if_needed(name);
    const std::size_t dot = name.find('.');
    if (equals == std::string::npos || dot == std::string::npos) {
      return report(where, "is not an assignment; write section.key=value, as in log.level=debug");
    }
    const Section* const section = find_section(name.substr(0, dot), where);
    if (section == nullptr) return;
    const Setting* const setting = find_setting(*section, name.substr(dot + 1), where);
    if (setting != nullptr) take(*section, *setting, where, assignment.substr(equals + 1));
  }

  Result<Config> finish() {
    for (const Section& section : sections()) {
      for (const Setting& setting : section.settings) check_required(section, setting);
    }
    for (const Relation& relation : relations()) check(relation);
    if (problems_.empty()) return config_;
    std::string all;
    for (const std::string& problem : problems_) all += (all.empty() ? "" : "\n") + problem;
    return fail(Errc::kInvalidArgument, std::move(all));
  }

 private:
  // YAML counts from 0, people and editors from 1. No mark: the file as a whole.
  [[nodiscard]] std::string place(const YAML::Mark& mark) const {
    return fmt::format("{}:{}:{}", file_name_, std::max(mark.line, 0) + 1,
                       std::max(mark.column, 0) + 1);
  }

  void report(const std::string& where, const std::string& what) {
    problems_.push_back(where + ": " + what);
  }

  void read_document(const YAML::Node& document) {
    if (document.IsNull()) return;
    if (!document.IsMap()) {
      return report(place(document.Mark()),
                    "the file is not a mapping; write sections such as \"server:\"");
    }
    std::set<std::string> seen;
    for (const auto& member : document) {
      const std::string where = place(member.first.Mark());
      const std::string name = key_text(member.first);
      if (!is_first(seen, name, where)) continue;
      const Section* const section = find_section(name, where);
      if (section != nullptr) read_section(*section, member.second, where);
    }
  }

  void read_section(const Section& section, const YAML::Node& body, const std::string& where) {
    section_places_[section.name] = where;
    if (body.IsNull()) return;  // all of it commented out
    if (!body.IsMap()) {
      return report(place(body.Mark()),
                    "section " + std::string(section.name) +
                        " is not a mapping; write its settings below it, indented, as key: value");
    }
    std::set<std::string> seen;
    for (const auto& member : body) {
      const std::string key_place = place(member.first.Mark());
      const std::string key = key_text(member.first);
      if (!is_first(seen, key, key_place)) continue;
      const Setting* const setting = find_setting(section, key, key_place);
      if (setting != nullptr) read_value(section, *setting, member.second, key_place);
    }
  }

  void read_value(const Section& section, const Setting& setting, const YAML::Node& value,
                  const std::string& key_place) {
    const std::string name = full_name(section, setting);
    // Nothing has no place of its own.
    const std::string where = value.IsNull() ? key_place : place(value.Mark());
    if (!value.IsScalar()) {
      wrong_.insert(name);
      const std::string what = value.IsNull() ? " has no value" : " is not a single value";
      return report(where, name + what + "; write " + remedy(setting) +
                               ", or remove the line for the default");
    }
    // Quotes make a text of a number, in YAML as in JSON; a plain value has the tag "?".
    if (setting.rule.bounds && value.Tag() != "?") {
      wrong_.insert(name);
      return report(where, name + ": " + quote(value.Scalar()) +
                               " is a text; write the number without quotes or tags");
    }
    take(section, setting, where, value.Scalar());
  }

  void take(const Section& section, const Setting& setting, const std::string& where,
            const std::string& text) {
    const std::string name = full_name(section, setting);
    places_[name] = where;
    // The override's place already says which setting it is.
    const bool is_override = where.starts_with(kOverridePlace);
    if (auto problem = assign(setting, text, config_)) {
      wrong_.insert(name);
      return report(where, (is_override ? "" : name + ": ") + *problem);
    }
    wrong_.erase(name);
  }

  static std::string key_text(const YAML::Node& key) {
    return key.IsScalar() ? key.Scalar() : std::string("?");
  }

  bool is_first(std::set<std::string>& seen, const std::string& key, const std::string& where) {
    if (seen.insert(key).second) return true;
    report(where, "key " + quote(key) + " stands twice; write it once");
    return false;
  }

  const Section* find_section(std::string_view name, const std::string& where) {
    std::vector<std::string_view> names;
    for (const Section& section : sections()) {
      if (section.name == name) return &section;
      names.push_back(section.name);
    }
    const auto near = nearest(name, names, most_edits(name));
    report(where, "there is no section " + quote(name) + "; " +
                      (near.empty() ? "write " + alternatives(names)
                                    : "did you mean " + std::string(near) + "?"));
    return nullptr;
  }

  const Setting* find_setting(const Section& section, std::string_view key,
                              const std::string& where) {
    std::vector<std::string_view> keys;
    for (const Setting& setting : section.settings) {
      if (setting.key == key) return &setting;
      keys.push_back(setting.key);
    }
    report(where, "section " + std::string(section.name) + " has no key " + quote(key) + "; " +
                      advice_for(key, keys));
    return nullptr;
  }

  /// The same key elsewhere is the likelier mistake: a line under the wrong section.
  static std::string advice_for(std::string_view key, const std::vector<std::string_view>& keys) {
    for (const Section& section : sections()) {
      for (const Setting& setting : section.settings) {
        if (setting.key == key) return "did you mean " + full_name(section, setting) + "?";
      }
    }
    const auto near = nearest(key, keys, most_edits(key));
    return near.empty() ? "write " + alternatives(keys) : "did you mean " + std::string(near) + "?";
  }

  void check_required(const Section& section, const Setting& setting) {
    const std::string name = full_name(section, setting);
    if (!setting.required || places_.contains(name) || wrong_.contains(name)) return;
    wrong_.insert(name);
    const auto found = section_places_.find(section.name);
    report(found != section_places_.end() ? found->second : place(YAML::Mark()),
           name + " is missing; write " + remedy(setting));
  }

  void check(const Relation& relation) {
    // A value that was refused already stands at its default, and proves nothing.
    const std::string first(relation.first);
    const std::string second(relation.second);
    if (wrong_.contains(first) || wrong_.contains(second)) return;
    if (relation.holds(config_)) return;
    const std::string detail = relation.detail != nullptr ? relation.detail(config_) : "";
    auto found = places_.find(first);
    if (found == places_.end()) found = places_.find(second);
    report(found != places_.end() ? found->second : place(YAML::Mark()),
           first + " " + fmt::format(fmt::runtime(relation.problem), detail));
  }

  std::string file_name_;
  Config config_;
  std::vector<std::string> problems_;
  std::map<std::string, std::string> places_;  ///< of every value taken, by full name
  std::map<std::string_view, std::string> section_places_;
  std::set<std::string> wrong_;  ///< full names whose value was refused
};

}  // namespace

Result<Config> load_config(const std::string& text, const std::string& file_name,
                           const std::vector<std::string>& overrides) {
  Loader loader(file_name);
  loader.read_file(text);
  for (const std::string& assignment : overrides) loader.read_override(assignment);
  return loader.finish();
}

}  // namespace tangram::config
