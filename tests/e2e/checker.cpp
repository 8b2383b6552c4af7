#include "tests/e2e/checker.hpp"

#include "tests/e2e/raw_json.hpp"
#include "tests/e2e/requested_shares.hpp"

#include <algorithm>

namespace tangram::e2e {

namespace {

using rapidjson::Document;
using rapidjson::Value;

class Check {
 public:
  Verdict verdict;

  void node(const Value& node) {
    auto& cards = verdict.nodes[text_of(node["metadata"], "name")];
    const auto annotations = annotations_of(node);
    const auto found = annotations.find("cards");
    if (found == annotations.end()) return;
    const Document list = parse_json(found->second);
    for (const Value& card : list["cards"].GetArray()) cards[text_of(card, "id")] = read_card(card);
  }

  void pod(const Value& pod) {
    ++verdict.pods;
    const std::string node = text_of(pod["spec"], "nodeName");
    const std::string phase = pod.HasMember("status") ? text_of(pod["status"], "phase") : "";
    if (phase == "Succeeded" || phase == "Failed") return;
    const StringMap annotations = annotations_of(pod);
    const auto grant = annotations.find("gpu-grant");
    const bool granted = grant != annotations.end();
    if (node.empty()) {
      if (granted) problem(pod, "waits, but has a grant");
      return;
    }
    ++verdict.bound;
    if (granted) {
      ++verdict.granted;
      take_grant(pod, annotations, parse_json(grant->second));
    } else if (asks_for_gpu(annotations)) {
      problem(pod, "is bound to " + node + " without a grant");
    }
  }

  void cards() {
    for (const auto& [node, cards] : verdict.nodes) {
      for (const auto& [id, card] : cards) check_card(node + " " + id, card);
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

  void take_grant(const Value& pod, const StringMap& annotations, const Document& grant) {
    const std::string node = text_of(pod["spec"], "nodeName");
    if (text_of(grant, "podUID") != text_of(pod["metadata"], "uid")) {
      problem(pod, "has the grant of another pod");
    }
    if (text_of(grant, "node") != node) problem(pod, "has a grant for another node");
    const std::string isolation = text_of(grant, "isolation");
    std::set<std::string> given;
    for (const Value& container : grant["containers"].GetArray()) {
      const std::string name = text_of(container, "name");
      const RequestedShares requested(annotations, name);
      const std::string wanted = requested.isolation();
      if (!wanted.empty() && isolation != wanted) {
        problem(pod, "requested " + wanted + " and got " + isolation);
      }
      take_container(pod, requested, container, isolation);
      given.insert(name);
    }
    if (given != containers_with_slot(pod)) problem(pod, "has a grant for other containers");
  }

  void take_container(const Value& pod, const RequestedShares& requested, const Value& container,
                      const std::string& isolation) {
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
      if (!requested.takes_card(id)) problem(pod, "was given " + id + ", which it does not take");
      take_card(pod, requested, part, isolation, card->second);
    }
    if (ids.size() != requested.cards()) {
      problem(pod, "was given " + std::to_string(ids.size()) + " cards and requested " +
                       std::to_string(requested.cards()));
    }
  }

  void take_card(const Value& pod, const RequestedShares& requested, const Value& part,
                 const std::string& isolation, CardUse& card) {
    const Due given{
        .share = {.mib = part["memMiB"].GetInt64(), .milli = part["milli"].GetInt64()},
        .limit = {.mib = part["memLimitMiB"].GetInt64(), .milli = part["milliLimit"].GetInt64()}};
    const Due due = requested.on(card.memory_mib);
    if (given != due) {
      problem(pod, "was given " + to_string(given) + " and requested " + to_string(due));
    }
    if (!requested.takes_model(card.model)) problem(pod, "was given a " + card.model);
    card.granted_mib += given.share.mib;
    card.granted_milli += given.share.milli;
    card.sharers.push_back(text_of(pod["metadata"], "uid"));
    const bool whole = requested.whole_cards();
    // Not in grants of earlier releases.
    if (part.HasMember("whole") && part["whole"].GetBool() != whole) {
      problem(pod, std::string("was given a card ") + (whole ? "in part" : "whole"));
    }
    if (whole) {
      card.whole = true;
    } else {
      card.isolations.insert(isolation);
    }
  }

  void check_card(const std::string& name, const CardUse& card) {
    const auto over = [&](const char* what, long used, long has) {
      if (used <= has) return;
      verdict.problems.push_back("card " + name + ": " + what + " " + std::to_string(used) +
                                 " of " + std::to_string(has));
    };
    over("MiB", card.granted_mib, card.memory_mib);
    over("milli", card.granted_milli, 1000);
    over("sharers", static_cast<long>(card.sharers.size()), card.max_sharers);
    over("isolation modes", static_cast<long>(card.isolations.size()), 1);
    if (card.whole) over("sharers beside a whole", static_cast<long>(card.sharers.size()), 1);
    for (const auto& mode : card.isolations) {
      if (!card.modes.contains(mode)) verdict.problems.push_back("card " + name + " runs " + mode);
    }
  }
};

/// One card, in a form common to both sides.
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
  const Document cluster = parse_json(cluster_json);
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
  const Document node_list = parse_json(nodes);
  for (const Value& node : node_list["items"].GetArray()) check.node(node);
  const Document pod_list = parse_json(pods);
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
