#include "cli/cordon.hpp"

#include "base/json.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"
#include "cli/api_reading.hpp"
#include "cli/format.hpp"
#include "kube/url.hpp"
#include "model/annotations.hpp"
#include "model/cards.hpp"
#include "node/publish/node_record.hpp"
#include "node/publish/own_node.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace tangram::cli {

namespace {

/// Others write to a Node too: kubelet every ten seconds, the agent when cards change.
constexpr int kMaxTries = 5;
constexpr std::chrono::milliseconds kPatience{10'000};
constexpr int kConflict = 409;

/// The card as it was written: its UUID, or the node and the UUID.
struct Named {
  std::string text;
  std::string node;  ///< "" = the one that lists it
  std::string uuid;
};

/// No name of a node and no UUID has a slash.
Named named_card(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {text, "", text};
  return {text, text.substr(0, slash), text.substr(slash + 1)};
}

/// A node and one of its cards.
struct Found {
  node::OwnNode node;
  model::Card card;
};

std::vector<model::Card> cards_of(const node::OwnNode& node) {
  if (!node.cards) return {};
  auto cards = model::decode_cards(*node.cards);
  return cards ? std::move(*cards) : std::vector<model::Card>();
}

Error unknown_card(const Named& named, const std::vector<std::string>& near) {
  const std::string who = named.node.empty() ? "no node" : "no node " + quote_if_needed(named.node);
  const std::string what = who + " lists a card " + quote_if_needed(named.uuid);
  if (near.empty()) {
    return fail(Errc::kNotFound, what + "; `kubectl tangram top -o wide` shows the UUIDs");
  }
  return fail(Errc::kNotFound, what + "; write the whole UUID: " + joined(near));
}

/// Any agent can publish the UUID of another node's card.
Error ambiguous_card(const std::string& uuid, const std::vector<Found>& found) {
  std::vector<std::string> nodes;
  std::vector<std::string> names;
  for (const Found& each : found) {
    nodes.push_back(each.node.name);
    names.push_back(nodes.back() + "/" + uuid);
  }
  return fail(Errc::kConflict, counted(found.size(), "node") + " list a card " + uuid + ": " +
                                   joined(nodes) + "; find out which has it, and write the node " +
                                   "too: " + joined(names, " or "));
}

Result<Found> find_card(kube::KubeApi& api, const Named& named) {
  std::vector<Found> found;
  std::vector<std::string> near;
  auto listed = list(api, "/api/v1/nodes", {}, [&](std::string object) {
    auto node = node::decode_own_node(std::move(object));
    if (!node) return;  // an unreadable node lists no card
    if (!named.node.empty() && node->name != named.node) return;
    for (model::Card& card : cards_of(*node)) {
      if (card.id == named.uuid) {
        found.push_back({*node, std::move(card)});
      } else if (card.id.starts_with(named.uuid)) {
        near.push_back(card.id);
      }
    }
  });
  if (!listed) return listed.error();
  if (found.size() == 1) return std::move(found.front());
  return found.empty() ? unknown_card(named, near) : ambiguous_card(named.uuid, found);
}

std::string patch_of(const node::OwnNode& node, const std::string& cordon) {
  std::string patch;
  json::Writer out(patch);
  out.begin_object().key("metadata").begin_object();
  // Rejected if the node has changed since: cordons that others set meanwhile must not be lost.
  out.member("resourceVersion", node.version).key("annotations").begin_object();
  out.key(model::kCordonAnnotation);
  cordon.empty() ? out.null() : out.string(cordon);
  out.end_object().end_object().end_object();
  return patch;
}

/// What to do with the card: an annotation to write, if any, and the sentence to print then.
struct Step {
  std::string sentence;
  std::optional<std::string> annotation = std::nullopt;
};

/// Reads and writes until no other write comes between.
Result<std::string> change(kube::KubeApi& api, const Named& named,
                           const std::function<Result<Step>(const Found&)>& decide) {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const auto found = find_card(api, named);
    if (!found) return found.error();
    auto step = decide(*found);
    if (!step) return step.error();
    if (!step->annotation) return std::move(step->sentence);
    kube::Request request;
    request.method = kube::Method::kPatch;
    request.path = "/api/v1/nodes/" + kube::percent_encode(found->node.name);
    request.body = patch_of(found->node, *step->annotation);
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

std::string card_name(const Found& found) {
  return "card " + found.card.id + " (" + found.card.model + ") of node " + found.node.name;
}

Result<void> check_reason(const std::string& reason) {
  const bool writable = std::none_of(reason.begin(), reason.end(), [](char c) {
    return c == ',' || static_cast<unsigned char>(c) < ' ';
  });
  if (writable && reason.size() <= kMaxReason) return {};
  return fail(Errc::kInvalidArgument, "--reason " + quote(reason) + ": write one line of at most " +
                                          std::to_string(kMaxReason) + " bytes without commas");
}

Result<Step> uncordon_step(const Found& found) {
  const node::CardNames named = node::parse_card_names(found.node.cordon);
  const std::string name = card_name(found);
  if (named.ids.contains(found.card.id)) {
    std::string left = without_card(found.node.cordon, found.card.id);
    if (!node::parse_card_names(left).include(found.card)) {
      return Step{name + " uncordoned: within seconds it takes new pods", std::move(left)};
    }
  }
  if (named.all) {
    return fail(Errc::kConflict,
                "all cards of node " + found.node.name +
                    " are cordoned, not this one by name; uncordon all: kubectl annotate node " +
                    found.node.name + " tangram.dev/cordon-");
  }
  if (named.include(found.card)) {
    return fail(Errc::kConflict, name + " is cordoned with its physical card; uncordon that: " +
                                     "kubectl tangram uncordon-card " + found.card.parent);
  }
  if (found.card.cordoned) {
    return fail(Errc::kConflict,
                name + " is not cordoned by an operator: " + found.card.unavailable_reason);
  }
  return Step{name + " is not cordoned"};
}

}  // namespace

std::string with_card(std::string_view annotation, std::string_view uuid, std::string_view reason) {
  std::string text = without_card(annotation, uuid);
  if (!text.empty()) text += ',';
  text += uuid;
  if (!reason.empty()) text.append("=").append(reason);
  return text;
}

std::string without_card(std::string_view annotation, std::string_view uuid) {
  std::vector<std::string> items = split(annotation, ',');
  std::erase_if(items, [&](const std::string& item) {
    return node::parse_card_names(item).ids.contains(std::string(uuid)) ||
           item.find_first_not_of(" \t\r\n") == std::string::npos;
  });
  return joined(items, ",");
}

Result<std::string> cordon_card(kube::KubeApi& api, const std::string& card,
                                const std::string& reason) {
  if (auto good = check_reason(reason); !good) return good.error();
  const Named named = named_card(card);
  return change(api, named, [&](const Found& found) -> Result<Step> {
    std::string annotation = with_card(found.node.cordon, named.uuid, reason);
    const bool listed = node::parse_card_names(found.node.cordon).ids.contains(named.uuid);
    if (listed && (reason.empty() || annotation == found.node.cordon)) {
      return Step{card_name(found) + " is cordoned already"};
    }
    return Step{card_name(found) +
                    " cordoned: within seconds it takes no new pods; its pods keep running. Undo: "
                    "kubectl tangram uncordon-card " +
                    named.text,
                std::move(annotation)};
  });
}

Result<std::string> uncordon_card(kube::KubeApi& api, const std::string& card) {
  return change(api, named_card(card), uncordon_step);
}

}  // namespace tangram::cli
