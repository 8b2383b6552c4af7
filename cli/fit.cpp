#include "cli/fit.hpp"

#include "base/json.hpp"
#include "base/quantity.hpp"
#include "base/quote.hpp"
#include "cli/table.hpp"
#include "cli/words.hpp"
#include "model/annotations.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tangram::cli {

namespace {

constexpr std::size_t kMostNodes = 20;

Result<KubeQuantity> amount_of(const std::string& text, const std::string& flag) {
  if (text.empty()) return KubeQuantity();
  auto amount = KubeQuantity::parse(text);
  if (!amount) return fail(Errc::kInvalidArgument, flag + ": " + amount.error().message);
  return amount;
}

/// How many of the pods have a part of each card, in the order of the first one that does.
std::vector<std::pair<std::string, std::size_t>> cards_of(const std::vector<Placed>& pods) {
  std::vector<std::pair<std::string, std::size_t>> cards;
  for (const Placed& pod : pods) {
    for (const model::ContainerGrant& container : pod.containers) {
      for (const model::GrantedCard& card : container.cards) {
        const auto known = std::find_if(cards.begin(), cards.end(), [&](const auto& entry) {
          return entry.first == card.uuid;
        });
        if (known != cards.end()) {
          ++known->second;
        } else {
          cards.emplace_back(card.uuid, 1);
        }
      }
    }
  }
  return cards;
}

std::string cards_text(const std::vector<Placed>& pods, bool wide) {
  std::vector<std::string> texts;
  for (const auto& [uuid, count] : cards_of(pods)) {
    texts.push_back((wide ? uuid : short_uuid(uuid)) +
                    (count == 1 ? "" : " ×" + std::to_string(count)));
  }
  return joined(texts);
}

/// Who takes the pods: of the counted ones, or of the asked ones.
std::vector<Simulation::Room> rooms_of(const FitAnswer& answer) {
  if (answer.asked == 0) return answer.capacity.rooms;
  std::vector<Simulation::Room> rooms;
  for (const Placed& place : answer.places) {
    const auto known = std::find_if(rooms.begin(), rooms.end(),
                                    [&](const auto& room) { return room.node == place.node; });
    if (known != rooms.end()) {
      known->pods.push_back(place);
    } else {
      rooms.push_back({place.node, {place}});
    }
  }
  return rooms;
}

std::string headline(const Screen& screen, const FitAnswer& answer) {
  const auto pods = [&](std::size_t count) {
    return counted(count, "more pod") + " of " + answer.request;
  };
  const std::string most =
      (answer.capacity.more ? "at least " : "") + std::to_string(answer.capacity.pods);
  if (answer.asked == 0) {
    const std::string number =
        (answer.capacity.more ? "at least " : "") + pods(answer.capacity.pods);
    return paint(screen.look, kBold, number + (answer.capacity.pods == 1 ? " fits" : " fit"));
  }
  if (answer.fits()) {
    return paint(screen.look, kGood, pods(answer.asked) + (answer.asked == 1 ? " fits" : " fit")) +
           ", and up to " + most + " would";
  }
  return paint(screen.look, kBad, pods(answer.asked) + " do not fit") + ", " + most + " would";
}

}  // namespace

bool FitAnswer::fits() const { return asked == 0 ? capacity.pods > 0 : places.size() >= asked; }

std::set<std::string> closed_nodes(const Cluster& cluster) {
  std::set<std::string> closed;
  for (const ListedNode& node : cluster.nodes()) {
    if (node.unschedulable) closed.insert(node.own.name);
  }
  return closed;
}

Result<kube::Pod> pod_of(const FitQuestion& question) {
  const bool asks = question.annotations.contains(model::kFractionKey) ||
                    question.annotations.contains(model::kMemoryKey) ||
                    question.annotations.contains(model::kCountKey);
  if (!asks) {
    return fail(Errc::kInvalidArgument,
                "nothing is asked for; write --gpu-fraction 0.5, --gpu-mem 8Gi or --gpu-count 2");
  }
  const auto cpu = amount_of(question.cpu, "--cpu");
  if (!cpu) return cpu.error();
  const auto memory = amount_of(question.memory, "--memory");
  if (!memory) return memory.error();
  kube::Pod pod;
  pod.uid = "fit";
  pod.name = "fit";
  for (const auto& [key, value] : question.annotations) pod.annotations[key] = value;
  pod.containers.push_back({.name = "main", .slots = 1});
  pod.footprint = {
      .cpu = MilliCpu(cpu->milli_ceil()), .memory = memory->mebibytes_ceil(), .slots = 1};
  return pod;
}

Result<FitAnswer> answer_fit(const Cluster& cluster, const FitQuestion& question) {
  const auto pod = pod_of(question);
  if (!pod) return pod.error();
  const auto plan = cluster.policies().plan(*pod);
  if (!plan) return plan.error();
  Simulation simulation(*cluster.snapshot(), closed_nodes(cluster));
  FitAnswer answer{.request = request_text(plan->demand.gpu),
                   .policy = std::string(plan->policy->name()),
                   .isolation = plan->demand.gpu.isolation,
                   .asked = question.count,
                   .capacity = simulation.capacity(*pod, *plan, kMostCounted)};
  while (answer.places.size() < question.count) {
    Outcome outcome = simulation.place(*pod, *plan);
    auto* const placed = std::get_if<Placed>(&outcome);
    if (placed == nullptr) break;
    answer.places.push_back(std::move(*placed));
  }
  return answer;
}

std::string draw_fit(const Screen& screen, const FitAnswer& answer, bool wide) {
  std::string text = headline(screen, answer) + " (isolation " +
                     std::string(to_string(answer.isolation)) + ", policy " + answer.policy + ")\n";
  const auto rooms = rooms_of(answer);
  Table table({{.name = "NODE", .may_shrink = true},
               {.name = "PODS", .right = true},
               {.name = "CARDS", .may_shrink = true, .prose = true}});
  const std::size_t shown = wide ? rooms.size() : std::min(rooms.size(), kMostNodes);
  for (std::size_t i = 0; i < shown; ++i) {
    table.add(
        {rooms[i].node, std::to_string(rooms[i].pods.size()), cards_text(rooms[i].pods, wide)});
  }
  if (!table.empty()) text += "\n" + table.text(screen);
  if (shown < rooms.size()) {
    text += "and " + counted(rooms.size() - shown, "more node") + "; all: -o wide\n";
  }
  if (!answer.capacity.none.reasons.empty()) {
    text += "\nnodes that take none:\n";
    for (const auto& [reason, count] : answer.capacity.none.reasons) {
      text += "  " + std::to_string(count) + " × " + reason + "\n";
    }
  }
  return text;
}

std::string fit_json(const FitAnswer& answer) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("request", answer.request).member("policy", answer.policy);
  out.member("isolation", to_string(answer.isolation)).member("fits", answer.fits());
  out.member("pods", static_cast<std::int64_t>(answer.capacity.pods));
  out.member("atLeast", answer.capacity.more).key("nodes").begin_array();
  for (const Simulation::Room& room : answer.capacity.rooms) {
    out.begin_object().member("node", room.node);
    out.member("pods", static_cast<std::int64_t>(room.pods.size())).key("cards").begin_array();
    for (const auto& [uuid, count] : cards_of(room.pods)) {
      out.begin_object().member("uuid", uuid).member("pods", static_cast<std::int64_t>(count));
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().key("reasons").begin_object();
  for (const auto& [reason, count] : answer.capacity.none.reasons) {
    out.member(reason, static_cast<std::int64_t>(count));
  }
  out.end_object().key("places").begin_array();
  for (const Placed& place : answer.places) {
    out.begin_object().member("node", place.node).key("cards").begin_array();
    for (const auto& [uuid, count] : cards_of({place})) out.string(uuid);
    out.end_array().end_object();
  }
  out.end_array().end_object();
  return text;
}

}  // namespace tangram::cli
