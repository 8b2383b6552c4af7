#include "cli/found_card.hpp"

#include "base/json.hpp"
#include "base/quote.hpp"
#include "cli/api_reading.hpp"
#include "cli/format.hpp"
#include "kube/url.hpp"
#include "model/annotations.hpp"
#include "model/cards.hpp"
#include "node/publish/node_record.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace tangram::cli {

namespace {

/// Others write to a Node too: kubelet every ten seconds, the agent when cards change.
constexpr int kMaxTries = 5;
constexpr std::chrono::milliseconds kPatience{10'000};
constexpr int kConflict = 409;

std::vector<model::Card> cards_of(const node::OwnNode& node) {
  if (!node.cards) return {};
  auto cards = model::decode_cards(*node.cards);
  return cards ? std::move(*cards) : std::vector<model::Card>();
}

Error unknown_card(const NamedCard& named, const std::vector<std::string>& near) {
  const std::string who = named.node.empty() ? "no node" : "no node " + quote_if_needed(named.node);
  const std::string what = who + " lists a card " + quote_if_needed(named.uuid);
  if (near.empty()) {
    return fail(Errc::kNotFound, what + "; `kubectl tangram top -o wide` shows the UUIDs");
  }
  return fail(Errc::kNotFound, what + "; write the whole UUID: " + joined(near));
}

/// Any agent can publish the UUID of another node's card.
/// @param how  what the nodes do with the card: "list"
Error ambiguous_card(const std::string& uuid, const std::vector<FoundCard>& found,
                     std::string_view how) {
  std::vector<std::string> nodes;
  std::vector<std::string> names;
  for (const FoundCard& each : found) {
    nodes.push_back(each.node.name);
    names.push_back(nodes.back() + "/" + uuid);
  }
  return fail(Errc::kConflict, counted(found.size(), "node") + " " + std::string(how) + " a card " +
                                   uuid + ": " + joined(nodes) +
                                   "; find out which has it, and write the node " +
                                   "too: " + joined(names, " or "));
}

/// The card of that UUID; or the physical card of such instances.
std::optional<model::Card> card_in(const std::vector<model::Card>& cards, const std::string& uuid) {
  const auto listed = std::ranges::find(cards, uuid, &model::Card::id);
  if (listed != cards.end()) return *listed;
  const auto part = std::ranges::find(cards, uuid, &model::Card::parent);
  if (part == cards.end() || uuid.empty()) return std::nullopt;
  model::Card whole = *part;
  whole.id = std::exchange(whole.parent, "");
  whole.kind = model::CardKind::kPhysical;
  whole.model = "in MIG mode";
  whole.cordoned = false;  // the instance may be cordoned by its own name
  return whole;
}

bool is_named_by(const node::OwnNode& node, const std::string& uuid) {
  return std::ranges::any_of(std::array{&node.cordon, &node.drain}, [&](const auto* annotation) {
    return node::parse_card_names(*annotation).ids.contains(uuid);
  });
}

FoundCard gone_card(node::OwnNode node, const std::string& uuid) {
  FoundCard gone{.node = std::move(node), .listed = false, .card = {}, .cards = {}};
  gone.card.id = uuid;
  return gone;
}

/// The nodes that may have the named card.
struct Candidates {
  std::vector<FoundCard> listed;
  std::vector<FoundCard> only_named;  ///< by annotations
  std::vector<std::string> near;      ///< cards whose UUIDs begin as it is written

  void add(node::OwnNode node, const NamedCard& named) {
    std::vector<model::Card> cards = cards_of(node);
    if (auto card = card_in(cards, named.uuid)) {
      listed.push_back(
          {.node = std::move(node), .card = std::move(*card), .cards = std::move(cards)});
      return;
    }
    for (const model::Card& each : cards) {
      if (each.id.starts_with(named.uuid)) near.push_back(each.id);
    }
    if (is_named_by(node, named.uuid)) only_named.push_back(gone_card(std::move(node), named.uuid));
  }
};

Result<FoundCard> find_card(kube::KubeApi& api, const NamedCard& named, CardSearch search) {
  Candidates all;
  auto listed = list(api, "/api/v1/nodes", {}, [&](std::string object) {
    auto node = node::decode_own_node(std::move(object));
    // An unreadable node lists no card.
    if (node && (named.node.empty() || node->name == named.node)) all.add(*std::move(node), named);
  });
  if (!listed) return listed.error();
  if (search == CardSearch::kListed) all.only_named.clear();
  const bool is_listed = !all.listed.empty();
  std::vector<FoundCard>& found = is_listed ? all.listed : all.only_named;
  if (found.empty()) return unknown_card(named, all.near);
  if (found.size() == 1) return std::move(found.front());
  return ambiguous_card(named.uuid, found, is_listed ? "list" : "have annotations with");
}

std::string patch_of(const node::OwnNode& node, const CordonStep& step) {
  std::string patch;
  json::Writer out(patch);
  out.begin_object().key("metadata").begin_object();
  // Rejected if the node has changed since: cordons that others set meanwhile must not be lost.
  out.member("resourceVersion", node.version).key("annotations").begin_object();
  const auto write = [&](std::string_view annotation, const std::optional<std::string>& value) {
    if (!value) return;
    out.key(annotation);
    value->empty() ? out.null() : out.string(*value);
  };
  write(model::kCordonAnnotation, step.annotation);
  write(model::kDrainAnnotation, step.drain);
  out.end_object().end_object().end_object();
  return patch;
}

}  // namespace

NamedCard named_card(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {text, "", text};
  return {text, text.substr(0, slash), text.substr(slash + 1)};
}

std::string card_name(const FoundCard& found) {
  return "card " + found.card.id + " (" + found.card.model + ") of node " + found.node.name;
}

Result<std::string> change_cordon(
    kube::KubeApi& api, const NamedCard& named, CardSearch search,
    const std::function<Result<CordonStep>(const FoundCard&)>& decide) {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const auto found = find_card(api, named, search);
    if (!found) return found.error();
    auto step = decide(*found);
    if (!step) return step.error();
    if (!step->annotation && !step->drain) return std::move(step->sentence);
    kube::Request request;
    request.method = kube::Method::kPatch;
    request.path = "/api/v1/nodes/" + kube::percent_encode(found->node.name);
    request.body = patch_of(found->node, *step);
    request.content_type = "application/merge-patch+json";
    request.timeout = kPatience;
    const auto response = api.call(request);
    if (!response) return response.error();
    if (response->status == 200) return std::move(step->sentence);
    if (response->status != kConflict) return refused(request, *response, kCordonRole);
  }
  return fail(Errc::kConflict, "others changed the node " + std::to_string(kMaxTries) +
                                   " times meanwhile; run the command again");
}

}  // namespace tangram::cli
