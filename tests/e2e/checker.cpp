#include "tests/e2e/checker.hpp"

#include <fnmatch.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <stdexcept>

namespace tangram::e2e {

namespace {

using rapidjson::Document;
using rapidjson::Value;
using Texts = std::map<std::string, std::string>;

constexpr const char* kPrefix = "tangram.dev/";

Document parse(const std::string& text) {
  Document made;
  if (made.Parse(text.c_str()).HasParseError()) throw std::runtime_error("no JSON: " + text);
  return made;
}

std::string text_of(const Value& object, const char* key) {
  const auto found = object.FindMember(key);
  return found == object.MemberEnd() ? "" : found->value.GetString();
}

/// Annotations under tangram.dev/, without the prefix.
Texts annotations_of(const Value& object) {
  Texts found;
  const Value& metadata = object["metadata"];
  const auto all = metadata.FindMember("annotations");
  if (all == metadata.MemberEnd()) return found;
  for (const auto& entry : all->value.GetObject()) {
    const std::string name = entry.name.GetString();
    if (name.starts_with(kPrefix)) {
      found[name.substr(std::string(kPrefix).size())] = entry.value.GetString();
    }
  }
  return found;
}

/// "0.25" -> 250; at most three decimals.
long thousandths(const std::string& text) {
  const auto point = text.find('.');
  const std::string whole = text.substr(0, point);
  std::string decimals = point == std::string::npos ? "" : text.substr(point + 1);
  decimals.resize(3, '0');
  return std::stol(whole) * 1000 + std::stol(decimals);
}

/// "8Gi", "512Mi" or bytes -> MiB, rounded up.
long mebibytes(const std::string& text) {
  std::size_t digits = 0;
  const long number = std::stol(text, &digits);
  const std::string unit = text.substr(digits);
  constexpr long kMib = 1L << 20;
  if (unit == "Gi") return number * 1024;
  if (unit == "Mi") return number;
  if (unit == "G") return (number * 1'000'000'000 + kMib - 1) / kMib;
  if (unit == "M") return (number * 1'000'000 + kMib - 1) / kMib;
  if (unit.empty()) return (number + kMib - 1) / kMib;
  throw std::runtime_error("the checker does not know the unit of " + text);
}

struct Amount {
  long mib = 0;
  long milli = 0;
  friend bool operator==(const Amount&, const Amount&) = default;
};

struct Asked {
  Texts annotations;

  [[nodiscard]] bool anything() const {
    return annotations.contains("gpu-fraction") || annotations.contains("gpu-mem") ||
           annotations.contains("gpu-count");
  }
  [[nodiscard]] std::string get(const char* name, const char* otherwise) const {
    const auto found = annotations.find(name);
    return found == annotations.end() ? otherwise : found->second;
  }
  [[nodiscard]] std::size_t cards() const { return std::stoul(get("gpu-count", "1")); }
  [[nodiscard]] bool whole_cards() const {
    return !annotations.contains("gpu-mem") && thousandths(get("gpu-fraction", "1")) == 1000;
  }
  [[nodiscard]] Amount on(const CardUse& card) const {
    if (!annotations.contains("gpu-mem")) {
      const long milli = thousandths(get("gpu-fraction", "1"));
      return {.mib = card.memory_mib * milli / 1000, .milli = milli};
    }
    const long mib = mebibytes(get("gpu-mem", ""));
    const bool says_compute = annotations.contains("gpu-compute");
    return {
        .mib = mib,
        .milli = says_compute ? thousandths(get("gpu-compute", "")) : 1000 * mib / card.memory_mib};
  }
  [[nodiscard]] bool takes_model(const std::string& model) const {
    bool included = true;
    bool any_including = false;
    bool matched = false;
    std::string rest = get("gpu-model", "");
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      std::string glob = rest.substr(0, comma);
      rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
      const bool excludes = glob.starts_with('!');
      if (excludes) glob = glob.substr(1);
      const bool hit = ::fnmatch(glob.c_str(), model.c_str(), 0) == 0;
      if (excludes && hit) included = false;
      if (!excludes) any_including = true;
      if (!excludes && hit) matched = true;
    }
    return included && (matched || !any_including);
  }
};

class Check {
 public:
  Verdict verdict;

  void node(const Value& node) {
    auto& cards = verdict.nodes[text_of(node["metadata"], "name")];
    const auto annotations = annotations_of(node);
    const auto found = annotations.find("cards");
    if (found == annotations.end()) return;
    const Document list = parse(found->second);
    for (const Value& card : list["cards"].GetArray()) cards[text_of(card, "id")] = read_card(card);
  }

  void pod(const Value& pod) {
    ++verdict.pods;
    const std::string node = text_of(pod["spec"], "nodeName");
    const std::string phase = pod.HasMember("status") ? text_of(pod["status"], "phase") : "";
    if (phase == "Succeeded" || phase == "Failed") return;
    const Asked asked{annotations_of(pod)};
    const auto grant = asked.annotations.find("gpu-grant");
    const bool granted = grant != asked.annotations.end();
    if (node.empty()) {
      if (granted) problem(pod, "waits, but has a grant");
      return;
    }
    ++verdict.bound;
    if (granted) {
      ++verdict.granted;
      take_grant(pod, asked, parse(grant->second));
    } else if (asked.anything()) {
      problem(pod, "is bound to " + node + " without a grant");
    }
  }

  void cards() {
    for (const auto& [node, cards] : verdict.nodes) {
      for (const auto& [id, card] : cards) judge(node + " " + id, card);
    }
  }

 private:
  static CardUse read_card(const Value& card) {
    CardUse use;
    use.model = text_of(card, "model");
    use.memory_mib = card["memMiB"].GetInt64();
    use.max_sharers = card.HasMember("maxSharers") ? card["maxSharers"].GetInt64() : 48;
    use.healthy = !card.HasMember("healthy") || card["healthy"].GetBool();
    use.modes = {"mps", "time-slice", "none"};
    return use;
  }

  void problem(const Value& pod, const std::string& what) {
    verdict.problems.push_back("pod " + text_of(pod["metadata"], "name") + " " + what);
  }

  void take_grant(const Value& pod, const Asked& asked, const Document& grant) {
    const std::string node = text_of(pod["spec"], "nodeName");
    if (text_of(grant, "podUID") != text_of(pod["metadata"], "uid")) {
      problem(pod, "has the grant of another pod");
    }
    if (text_of(grant, "node") != node) problem(pod, "has a grant for another node");
    const std::string isolation = text_of(grant, "isolation");
    const std::string wanted = asked.get("gpu-isolation", isolation.c_str());
    if (isolation != wanted) problem(pod, "asked for " + wanted + " and got " + isolation);
    for (const Value& container : grant["containers"].GetArray()) {
      take_container(pod, asked, container, isolation);
    }
  }

  void take_container(const Value& pod, const Asked& asked, const Value& container,
                      const std::string& isolation) {
    if (text_of(container, "name") != "main") problem(pod, "has a grant for another container");
    std::set<std::string> ids;
    auto& cards = verdict.nodes[text_of(pod["spec"], "nodeName")];
    for (const Value& part : container["cards"].GetArray()) {
      const std::string id = text_of(part, "uuid");
      if (!ids.insert(id).second) problem(pod, "was given card " + id + " twice");
      const auto card = cards.find(id);
      if (card == cards.end()) {
        problem(pod, "was given card " + id + ", which its node does not have");
        continue;
      }
      const Amount given{part["memMiB"].GetInt64(), part["milli"].GetInt64()};
      const Amount due = asked.on(card->second);
      if (given != due) {
        problem(pod, "was given " + std::to_string(given.mib) + " MiB and " +
                         std::to_string(given.milli) + " milli and asked for " +
                         std::to_string(due.mib) + " and " + std::to_string(due.milli));
      }
      if (!asked.takes_model(card->second.model)) problem(pod, "was given a " + card->second.model);
      card->second.granted_mib += given.mib;
      card->second.granted_milli += given.milli;
      card->second.sharers.push_back(text_of(pod["metadata"], "uid"));
      if (!asked.whole_cards()) card->second.isolations.insert(isolation);
    }
    if (ids.size() != asked.cards()) {
      problem(pod, "was given " + std::to_string(ids.size()) + " cards and asked for " +
                       std::to_string(asked.cards()));
    }
  }

  void judge(const std::string& name, const CardUse& card) {
    const auto over = [&](const char* what, long used, long has) {
      if (used <= has) return;
      verdict.problems.push_back("card " + name + ": " + what + " " + std::to_string(used) +
                                 " of " + std::to_string(has));
    };
    over("MiB", card.granted_mib, card.memory_mib);
    over("milli", card.granted_milli, 1000);
    over("sharers", static_cast<long>(card.sharers.size()), card.max_sharers);
    over("isolation modes", static_cast<long>(card.isolations.size()), 1);
    for (const auto& mode : card.isolations) {
      if (!card.modes.contains(mode)) verdict.problems.push_back("card " + name + " runs " + mode);
    }
  }
};

std::string list_all(kube::KubeApi& api, const std::string& path) {
  kube::Request request;
  request.path = path;
  request.timeout = std::chrono::seconds(60);
  const auto answer = api.call(request);
  if (!answer) throw std::runtime_error(path + ": " + answer.error().message);
  if (answer->status != 200) throw std::runtime_error(path + ": " + answer->body);
  return answer->body;
}

/// What both sides are made to say about one card.
struct CardLine {
  long free_mib = 0;
  long free_milli = 0;
  std::vector<std::string> pods;  ///< sorted
  friend bool operator==(const CardLine&, const CardLine&) = default;

  [[nodiscard]] std::string str() const {
    std::string text = std::to_string(free_mib) + " MiB and " + std::to_string(free_milli) +
                       " milli free, " + std::to_string(pods.size()) + " pods:";
    for (const auto& pod : pods) text += " " + pod;
    return text;
  }
};
using Lines = std::map<std::string, CardLine>;  ///< by "node card"

Lines lines_of(const Verdict& verdict) {
  Lines lines;
  for (const auto& [node, cards] : verdict.nodes) {
    for (const auto& [id, card] : cards) {
      CardLine line{card.memory_mib - card.granted_mib, 1000 - card.granted_milli, card.sharers};
      std::ranges::sort(line.pods);
      lines[node + " " + id] = std::move(line);
    }
  }
  return lines;
}

Lines lines_of(const std::string& cluster_json) {
  Lines lines;
  const Document cluster = parse(cluster_json);
  for (const Value& node : cluster["nodes"].GetArray()) {
    for (const Value& card : node["cards"].GetArray()) {
      CardLine line{card["freeMemMiB"].GetInt64(), card["freeMilli"].GetInt64(), {}};
      for (const Value& pod : card["pods"].GetArray()) line.pods.push_back(text_of(pod, "uid"));
      std::ranges::sort(line.pods);
      lines[text_of(node, "name") + " " + text_of(card, "uuid")] = std::move(line);
    }
  }
  return lines;
}

}  // namespace

std::string Verdict::summary() const {
  constexpr std::size_t kShown = 10;
  std::string text = std::to_string(problems.size()) + " problems";
  for (std::size_t i = 0; i < std::min(problems.size(), kShown); ++i) text += "\n  " + problems[i];
  return text;
}

Verdict check_lists(const std::string& nodes, const std::string& pods) {
  Check check;
  const Document node_list = parse(nodes);
  for (const Value& node : node_list["items"].GetArray()) check.node(node);
  const Document pod_list = parse(pods);
  for (const Value& pod : pod_list["items"].GetArray()) check.pod(pod);
  check.cards();
  return std::move(check.verdict);
}

Verdict check_cluster(kube::KubeApi& api) {
  const std::string nodes = list_all(api, "/api/v1/nodes");
  return check_lists(nodes, list_all(api, "/api/v1/pods"));
}

std::vector<std::string> differences(const Verdict& verdict, const std::string& cluster_json) {
  if (cluster_json.empty()) return {"the extender does not answer"};
  std::vector<std::string> found;
  const Lines ours = lines_of(verdict);
  const Lines theirs = lines_of(cluster_json);
  for (const auto& [card, line] : ours) {
    const auto other = theirs.find(card);
    if (other == theirs.end()) {
      found.push_back(card + ": the extender does not know it");
    } else if (other->second != line) {
      found.push_back(card + ": API server " + line.str() + "; extender " + other->second.str());
    }
  }
  for (const auto& [card, line] : theirs) {
    if (!ours.contains(card)) found.push_back(card + ": no node has it");
  }
  return found;
}

}  // namespace tangram::e2e
