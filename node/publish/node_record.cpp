#include "node/publish/node_record.hpp"

#include "base/json.hpp"
#include "base/one_line.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"
#include "base/utf8.hpp"
#include "model/annotations.hpp"
#include "model/cards.hpp"

#include <boost/algorithm/string/trim.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

namespace tangram::node {

namespace {

constexpr std::string_view kMixed = "mixed";
/// Precedes the agent's reason, which follows the source's.
constexpr std::string_view kCordoned = "cordoned: ";
constexpr std::string_view kBetween = "; ";
constexpr std::size_t kMaxLabelValue = 63;  // Kubernetes' limit
constexpr std::size_t kMaxReason = 1024;    // what the cards annotation takes

void cordon(model::Card& card, std::string_view why) {
  card.cordoned = true;
  std::string& reason = card.unavailable_reason;
  if (!reason.empty()) reason += kBetween;
  reason.append(kCordoned).append(why);
  reason.resize(utf8_prefix(reason, kMaxReason).size());
}

/// Reverses cordon().
void uncordon(model::Card& card) {
  card.cordoned = false;
  std::string& reason = card.unavailable_reason;
  const std::size_t ours = reason.find(kCordoned);
  if (ours == std::string::npos) return;
  reason.resize(ours);
  if (reason.ends_with(kBetween)) reason.resize(reason.size() - kBetween.size());
}

/// Cordons the cards that an operator has named, with a notice about unknown names.
void apply_cordon(std::vector<model::Card>& cards, const OwnNode& node,
                  std::vector<Notice>& notices) {
  CardNames named = parse_card_names(node.cordon);
  for (model::Card& card : cards) {
    if (!named.include(card)) continue;
    std::string why = "by the node's annotation tangram.dev/cordon";
    if (const auto reason = named.reason_of(card); !reason.empty())
      why.append(": ").append(one_line(reason));
    cordon(card, why);
  }
  for (const model::Card& card : cards) {
    named.ids.erase(card.id);
    named.ids.erase(card.parent);
  }
  if (named.ids.empty()) return;
  notices.push_back(
      {"CordonUnknownCard", "annotation tangram.dev/cordon names " + quote(*named.ids.begin()) +
                                ", which is no card of this node; write the ids in annotation "
                                "tangram.dev/cards, separated by commas, or all"});
}

/// What shows that another device plugin allocates all cards of this node: its resources, or pods
/// that still use its cards after it is gone. "" = none does.
std::string other_plugin(const OwnNode& node, const std::set<std::string>& resources) {
  if (!node.foreign.empty()) return fmt::format("{}", fmt::join(node.foreign, ", "));
  return resources.empty() ? "" : fmt::format("pods with {}", fmt::join(resources, ", "));
}

void notice_plugin(const std::string& plugin, std::vector<Notice>& notices) {
  notices.push_back(
      {"CardsOwnedTwice", "the node also has " + plugin +
                              ", so its cards take no pods of Tangram's: each would be allocated "
                              "twice. Stop the other device plugin on this node and let its pods "
                              "end, or name Tangram's cards in the agent's --own-cards"});
}

void notice_driver(const std::string& driver, std::vector<Notice>& notices) {
  notices.push_back(
      {"CardsOwnedTwice", "the DRA driver " + driver +
                              " also publishes cards of this node, so these take no pods of "
                              "Tangram's: each would be allocated twice. Stop that driver on this "
                              "node, or name Tangram's cards in the agent's --own-cards"});
}

/// Cordons the cards that operators have not named as Tangram's.
void keep_named(std::vector<model::Card>& cards, const CardNames& own) {
  for (model::Card& card : cards) {
    if (!own.include(card)) cordon(card, "not named in the agent's --own-cards");
  }
}

/// Cordons the cards that DRA drivers publish, with a notice about each driver.
void leave_to_drivers(std::vector<model::Card>& cards, const DriverCards& published,
                      std::vector<Notice>& notices) {
  std::set<std::string> drivers;
  for (model::Card& card : cards) {
    const std::string driver(published.driver_of(card));
    if (driver.empty()) continue;
    cordon(card, "the DRA driver " + driver +
                     " also publishes this card; stop it on this node, or name Tangram's cards in "
                     "the agent's --own-cards");
    drivers.insert(driver);
  }
  for (const std::string& driver : drivers) notice_driver(driver, notices);
}

void apply_ownership(std::vector<model::Card>& cards, const OwnNode& node,
                     const OtherOwners& others, const std::optional<CardNames>& own,
                     std::vector<Notice>& notices) {
  if (own) return keep_named(cards, *own);
  const std::string plugin = other_plugin(node, others.resources);
  if (plugin.empty()) return leave_to_drivers(cards, others.drivers, notices);
  for (model::Card& card : cards) {
    cordon(card, "the node also has " + plugin +
                     ", so another device plugin may also allocate this card; stop that plugin on "
                     "this node, or name Tangram's cards in the agent's --own-cards");
  }
  if (!cards.empty()) notice_plugin(plugin, notices);
}

std::string model_label(const std::vector<model::Card>& cards) {
  if (cards.empty()) return "";
  const auto same = [&](const model::Card& card) { return card.model == cards.front().model; };
  return std::all_of(cards.begin(), cards.end(), same) ? label_value(cards.front().model)
                                                       : std::string(kMixed);
}

NodeRecord::Capacity capacity(const std::vector<model::Card>& cards, const NodePods& pods) {
  NodeRecord::Capacity sum{.milli = pods.released.milli, .memory = pods.released.memory};
  for (const model::Card& card : cards) {
    sum.milli += card.compute;
    sum.memory += card.memory;
  }
  return {std::max(sum.milli, pods.requested.milli), std::max(sum.memory, pods.requested.memory)};
}

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// The values of a map that differ, as members of a merge patch; nothing = to be removed.
using Changes = std::vector<std::pair<std::string_view, std::optional<std::string>>>;

void write(json::Writer& out, const Changes& changes) {
  for (const auto& [name, value] : changes) {
    out.key(name);
    value ? out.string(*value) : out.null();
  }
}

/// Compares decoded values: another version may order members otherwise.
bool lists(const std::optional<std::string>& annotation, const std::vector<model::Card>& cards) {
  if (!annotation) return false;
  const auto listed = model::decode_cards(*annotation);
  return listed && *listed == cards;
}

bool says(const std::optional<std::string>& annotation, const model::ResizeAnswers& resizes) {
  if (!annotation) return resizes.empty();
  const auto said = model::decode_resizes(*annotation);
  return !resizes.empty() && said && *said == resizes;
}

/// Compares values: the API server may return "4k" for "4000".
bool is_amount(const std::optional<KubeQuantity>& now, std::int64_t amount) {
  return now && *now == *KubeQuantity::parse(std::to_string(amount));
}

}  // namespace

bool CardNames::include(const model::Card& card) const {
  return all || ids.contains(card.id) || (!card.parent.empty() && ids.contains(card.parent));
}

std::string_view CardNames::reason_of(const model::Card& card) const {
  auto found = reasons.find(card.id);
  if (found == reasons.end()) found = reasons.find(card.parent);
  return found == reasons.end() ? std::string_view() : found->second;
}

CardNames parse_card_names(std::string_view text) {
  CardNames names;
  for (const std::string& item : split(text, ',')) {
    const std::size_t sign = std::min(item.find('='), item.size());
    const std::string name = boost::algorithm::trim_copy(item.substr(0, sign));
    const std::string reason =
        boost::algorithm::trim_copy(item.substr(std::min(item.size(), sign + 1)));
    if (name == "all") {
      names.all = true;
    } else if (!name.empty()) {
      names.ids.insert(name);
      if (!reason.empty()) names.reasons.insert_or_assign(name, reason);
    }
  }
  return names;
}

std::string label_value(std::string_view model) {
  std::string value(model.substr(0, std::min(model.size(), kMaxLabelValue)));
  std::replace_if(
      value.begin(), value.end(),
      [](char c) { return !is_alphanumeric(c) && c != '-' && c != '_' && c != '.'; }, '-');
  while (!value.empty() && !is_alphanumeric(value.back())) value.pop_back();
  const auto first = std::find_if(value.begin(), value.end(), is_alphanumeric);
  value.erase(value.begin(), first);
  return value;
}

std::vector<model::Card> previous_cards(const OwnNode& node) {
  if (!node.cards) return {};
  auto cards = model::decode_cards(*node.cards);
  if (!cards) return {};
  for (model::Card& card : *cards) uncordon(card);
  return std::move(*cards);
}

model::ResizeAnswers previous_resizes(const OwnNode& node) {
  auto resizes = model::decode_resizes(node.resizes.value_or(""));
  return resizes ? std::move(*resizes) : model::ResizeAnswers{};
}

Result<NodeRecord> record_of(const CardsNow& now, const OwnNode& node, const NodePods& pods,
                             const OtherOwners& others, const RecordSettings& settings) {
  std::vector<model::Card> cards;
  cards.reserve(now.inventory.cards.size());
  for (const InstalledCard& installed : now.inventory.cards) cards.push_back(installed.card);
  NodeRecord record;
  if (settings.sharing) {
    for (std::string& problem : settings.sharing->apply(node.sharing_choice, cards)) {
      record.notices.push_back({"SharingConfiguration", std::move(problem)});
    }
  }
  apply_ownership(cards, node, others, settings.own_cards, record.notices);
  apply_cordon(cards, node, record.notices);
  // As a reader decodes it. What no reader accepts must not be written: it would differ again, and
  // be written without end.
  auto listed = model::decode_cards(model::encode_cards(cards));
  if (!listed) {
    return fail(Errc::kInvalidArgument,
                "the cards of this machine cannot be published: " + listed.error().message);
  }
  record.cards = std::move(*listed);
  record.model_label = model_label(record.cards);
  if (settings.aggregates) record.capacity = capacity(record.cards, pods);
  record.resizes = pods.resizes;
  return record;
}

std::optional<std::string> metadata_patch(const OwnNode& node, const NodeRecord& record) {
  using Text = std::optional<std::string>;
  const bool any = !record.cards.empty();
  Changes labels;
  const auto set = [&](std::string_view name, const Text& now, const Text& wanted) {
    if (now != wanted) labels.emplace_back(name, wanted);
  };
  set(model::kGpuLabel, node.gpu_label, any ? Text("true") : std::nullopt);
  set(model::kModelLabel, node.model_label, any ? Text(record.model_label) : std::nullopt);
  Changes annotations;
  if (!lists(node.cards, record.cards)) {
    annotations.emplace_back(model::kCardsAnnotation, model::encode_cards(record.cards));
  }
  if (!says(node.resizes, record.resizes)) {
    annotations.emplace_back(model::kResizesAnnotation,
                             record.resizes.empty() ? Text() : encode_resizes(record.resizes));
  }
  if (annotations.empty() && labels.empty()) return std::nullopt;
  std::string patch;
  json::Writer out(patch);
  out.begin_object().key("metadata").begin_object().member("uid", node.uid);
  if (!annotations.empty()) {
    out.key("annotations").begin_object();
    write(out, annotations);
    out.end_object();
  }
  if (!labels.empty()) {
    out.key("labels").begin_object();
    write(out, labels);
    out.end_object();
  }
  out.end_object().end_object();
  return patch;
}

std::optional<std::string> capacity_patch(const OwnNode& node, const NodeRecord& record) {
  Changes amounts;
  const auto set = [&](std::string_view resource, const std::optional<KubeQuantity>& now,
                       std::int64_t wanted) {
    if (!record.capacity && now) amounts.emplace_back(resource, std::nullopt);
    if (record.capacity && !is_amount(now, wanted)) {
      amounts.emplace_back(resource, std::to_string(wanted));
    }
  };
  const NodeRecord::Capacity wanted = record.capacity.value_or(NodeRecord::Capacity{});
  set(kMilliResource, node.milli, wanted.milli.count());
  set(kMemoryResource, node.memory, wanted.memory.count());
  if (amounts.empty()) return std::nullopt;
  std::string patch;
  json::Writer out(patch);
  out.begin_object().key("metadata").begin_object().member("uid", node.uid).end_object();
  out.key("status").begin_object().key("capacity").begin_object();
  write(out, amounts);
  out.end_object().end_object().end_object();
  return patch;
}

}  // namespace tangram::node
