#include "tests/e2e/node_checker.hpp"

#include "tests/e2e/raw_json.hpp"
#include "tests/e2e/requested_shares.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tangram::e2e {

namespace {

using rapidjson::Document;
using rapidjson::Value;

/// Variables that only the agent may set. A container without a card has none of them.
bool is_of_cards(const std::string& variable) {
  constexpr std::array<std::string_view, 4> kNames = {
      "NVIDIA_VISIBLE_DEVICES", "TANGRAM_CARD_UUIDS", "TANGRAM_MEMORY_LIMIT_BYTES",
      "TANGRAM_COMPUTE_LIMIT_MILLI"};
  return variable.starts_with("CUDA_MPS_") || std::ranges::find(kNames, variable) != kNames.end();
}

/// Set by the stand-in of NVIDIA's runtime: the cards that it would show the container.
constexpr const char* kShownCards = "E2E_VISIBLE_CARDS";

StringMap seen_of_cards(const Start& start) {
  StringMap found;
  for (const auto& [name, value] : start.environment) {
    if (is_of_cards(name)) found[name] = value;
  }
  // The agent must set a pipe folder, and may choose which.
  if (auto pipes = found.find("CUDA_MPS_PIPE_DIRECTORY"); pipes != found.end()) {
    pipes->second = pipes->second.starts_with('/') ? "a folder" : "no folder";
  }
  return found;
}

/// Its variables hide the cards, and nothing else shows one.
bool sees_no_card(const Start& start) {
  const auto shown = start.environment.find(kShownCards);
  return seen_of_cards(start) == StringMap{{"NVIDIA_VISIBLE_DEVICES", "void"}} &&
         (shown == start.environment.end() || shown->second.empty());
}

void append(std::string& list, const std::string& value) {
  list += (list.empty() ? "" : ",") + value;
}

std::string to_string(const StringMap& texts) {
  std::string text;
  for (const auto& [name, value] : texts) text += " " + name + "=" + value;
  return text.empty() ? " nothing" : text;
}

const Value* container_of(const Document& grant, const std::string& name) {
  for (const Value& container : grant["containers"].GetArray()) {
    if (text_of(container, "name") == name) return &container;
  }
  return nullptr;
}

}  // namespace

std::string StartVerdict::summary() const {
  constexpr std::size_t kShown = 10;
  std::string text =
      std::to_string(problems.size()) + " of " + std::to_string(starts) + " starts are wrong";
  for (std::size_t i = 0; i < std::min(problems.size(), kShown); ++i) text += "\n  " + problems[i];
  return text;
}

void NodeChecker::learn(kube::KubeApi& api) {
  const std::string nodes = list_all(api, "/api/v1/nodes");
  learn(nodes, list_all(api, "/api/v1/pods"));
}

void NodeChecker::learn(const std::string& nodes, const std::string& pods) {
  const Document node_list = parse_json(nodes);
  for (const Value& node : node_list["items"].GetArray()) {
    const StringMap annotations = annotations_of(node);
    const auto cards = annotations.find("cards");
    if (cards == annotations.end()) continue;
    const Document card_list = parse_json(cards->second);
    for (const Value& card : card_list["cards"].GetArray()) {
      card_mib_[text_of(card, "id")] = card["memMiB"].GetInt64();
    }
  }
  const Document pod_list = parse_json(pods);
  for (const Value& pod : pod_list["items"].GetArray()) {
    pods_[text_of(pod["metadata"], "uid")] = {.name = text_of(pod["metadata"], "name"),
                                              .node = text_of(pod["spec"], "nodeName"),
                                              .annotations = annotations_of(pod),
                                              .with_slot = containers_with_slot(pod)};
  }
}

StringMap NodeChecker::due(const Pod& pod, const std::string& name) const {
  const auto text = pod.annotations.find("gpu-grant");
  if (text == pod.annotations.end()) throw std::runtime_error("started without a grant");
  const Document grant = parse_json(text->second);
  const Value* container = container_of(grant, name);
  if (container == nullptr) throw std::runtime_error("started without a grant of its own");
  const RequestedShares requested(pod.annotations, name);
  std::string uuids;
  std::string bytes;
  std::string millis;
  long last_mib = 0;
  long last_milli = 0;
  for (const Value& part : (*container)["cards"].GetArray()) {
    const std::string uuid = text_of(part, "uuid");
    const auto mib = card_mib_.find(uuid);
    if (mib == card_mib_.end()) throw std::runtime_error("started with unknown card " + uuid);
    const Amount limit = requested.on(mib->second).limit;
    append(uuids, uuid);
    append(bytes, std::to_string(limit.mib << 20));
    append(millis, std::to_string(limit.milli));
    last_mib = limit.mib;
    last_milli = limit.milli;
  }
  StringMap due = {{"NVIDIA_VISIBLE_DEVICES", uuids},
                   {"TANGRAM_CARD_UUIDS", uuids},
                   {"TANGRAM_MEMORY_LIMIT_BYTES", bytes},
                   {"TANGRAM_COMPUTE_LIMIT_MILLI", millis}};
  // An MPS share is on one card.
  if (text_of(grant, "isolation") == "mps" && !requested.whole_cards()) {
    due["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = "0=" + std::to_string(last_mib) + "M";
    // Whole percents, at most the share, at least one.
    due["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = std::to_string(std::max(last_milli / 10, 1L));
    due["CUDA_MPS_PIPE_DIRECTORY"] = "a folder";
  }
  return due;
}

std::string NodeChecker::problem(const Pod& pod, const Start& start) const {
  if (!start.clean) return "has a variable twice";
  StringMap seen = seen_of_cards(start);
  if (!pod.with_slot.contains(start.container)) {
    return seen.empty() ? "" : "has no slot, and saw" + to_string(seen);
  }
  StringMap expected = due(pod, start.container);
  if (const auto shown = start.environment.find(kShownCards); shown != start.environment.end()) {
    expected[kShownCards] = expected["NVIDIA_VISIBLE_DEVICES"];
    seen[kShownCards] = shown->second;
  }
  return seen == expected ? "" : "saw" + to_string(seen) + ", and is due" + to_string(expected);
}

StartVerdict NodeChecker::check(const std::vector<Start>& starts,
                                const std::set<std::string>& forced) const {
  StartVerdict verdict;
  for (const auto& start : starts) {
    ++verdict.starts;
    const auto pod = pods_.find(start.uid);
    if (pod == pods_.end()) {
      verdict.problems.push_back("a container of unknown pod " + start.uid + " started");
      continue;
    }
    if (pod->second.with_slot.contains(start.container)) ++verdict.with_gpu;
    if (forced.contains(start.uid) && sees_no_card(start)) {
      ++verdict.without_device;
      continue;
    }
    std::string what;
    try {
      what = problem(pod->second, start);
    } catch (const std::runtime_error& error) {
      what = error.what();
    }
    if (what.empty()) continue;
    verdict.problems.push_back(pod->second.name + " " + start.container + " " + what);
  }
  return verdict;
}

}  // namespace tangram::e2e
