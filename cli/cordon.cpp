#include "cli/cordon.hpp"

#include "base/quote.hpp"
#include "base/split.hpp"
#include "cli/format.hpp"
#include "cli/found_card.hpp"
#include "node/publish/node_record.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tangram::cli {

namespace {

using enum CardSearch;

Result<void> check_reason(const std::string& reason) {
  const bool writable = std::none_of(reason.begin(), reason.end(), [](char c) {
    return c == ',' || static_cast<unsigned char>(c) < ' ';
  });
  if (writable && reason.size() <= kMaxReason) return {};
  return fail(Errc::kInvalidArgument, "--reason " + quote(reason) + ": write one line of at most " +
                                          std::to_string(kMaxReason) + " bytes without commas");
}

/// The node's annotation with the card and the reason.
/// @returns nothing if it says so already
std::optional<std::string> cordon_with(const FoundCard& found, const std::string& uuid,
                                       const std::string& reason) {
  std::string annotation = with_card(found.node.cordon, uuid, reason);
  const bool listed = node::parse_card_names(found.node.cordon).ids.contains(uuid);
  if (listed && (reason.empty() || annotation == found.node.cordon)) return std::nullopt;
  return annotation;
}

bool is_draining(const FoundCard& found, const std::string& uuid) {
  return node::parse_card_names(found.node.drain).ids.contains(uuid);
}

/// The annotation tangram.dev/drain without the card and its instances, if it names one of them.
std::optional<std::string> drain_without(const FoundCard& found) {
  std::string left = without_card(found.node.drain, found.card.id);
  bool named = is_draining(found, found.card.id);
  for (const model::Card& card : found.cards) {
    if (card.parent != found.card.id || !is_draining(found, card.id)) continue;
    left = without_card(left, card.id);
    named = true;
  }
  return named ? std::optional(left) : std::nullopt;
}

/// Why the card is cordoned though the annotation does not name it, and what to do; empty = it is
/// not cordoned.
std::string cordoned_otherwise(const FoundCard& found, const std::string& flags) {
  const node::CardNames named = node::parse_card_names(found.node.cordon);
  const std::string& node = found.node.name;
  if (named.all) {
    return "all cards of node " + node +
           " are cordoned, not this one by name; uncordon all: kubectl" + flags +
           " annotate node " + node + " tangram.dev/cordon- tangram.dev/drain-";
  }
  const std::string name = card_name(found);
  if (named.include(found.card)) {
    return name +
           " is cordoned with its physical card; uncordon that: kubectl tangram uncordon-card" +
           flags + " " + found.card.parent;
  }
  if (!found.card.cordoned) return "";
  return name + " is not cordoned by an operator: " + found.card.unavailable_reason;
}

/// The drain ends in any case: with another cordon it would go on.
Result<CordonStep> uncordon_step(const FoundCard& found, const std::string& flags) {
  const std::string& uuid = found.card.id;
  std::optional<std::string> drain = drain_without(found);
  std::optional<std::string> cordon;
  if (node::parse_card_names(found.node.cordon).ids.contains(uuid)) {
    cordon = without_card(found.node.cordon, uuid);
  }
  if (!found.listed) {
    return CordonStep{"node " + found.node.name + " lists no card " + uuid +
                          " any more; its annotations do not name it now",
                      std::move(cordon), std::move(drain)};
  }
  const std::string name = card_name(found);
  if (cordon && !node::parse_card_names(*cordon).include(found.card)) {
    return CordonStep{name + " uncordoned: within seconds it takes new pods", std::move(cordon),
                      std::move(drain)};
  }
  const std::string otherwise = cordoned_otherwise(found, flags);
  if (drain) {
    return CordonStep{
        name + " is not drained any more" + (otherwise.empty() ? "" : "; " + otherwise),
        std::move(cordon), std::move(drain)};
  }
  if (!otherwise.empty()) return fail(Errc::kConflict, otherwise);
  return CordonStep{name + " is not cordoned"};
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
                                const std::string& reason, const std::string& flags) {
  if (auto good = check_reason(reason); !good) return good.error();
  const NamedCard named = named_card(card);
  return change_cordon(api, named, kListed, [&](const FoundCard& found) -> Result<CordonStep> {
    const std::string name = card_name(found);
    if (!found.card.parent.empty() && is_draining(found, found.card.parent)) {
      return fail(Errc::kConflict, name + " is drained with its physical card; end that: kubectl " +
                                       "tangram uncordon-card" + flags + " " + found.card.parent);
    }
    auto annotation = cordon_with(found, named.uuid, reason);
    auto drain = drain_without(found);
    if (!annotation && !drain) return CordonStep{name + " is cordoned already"};
    return CordonStep{name + " cordoned" + (drain ? ", and not drained any more" : "") +
                          ": within seconds it takes no new pods; its pods keep running. Undo: "
                          "kubectl tangram uncordon-card" +
                          flags + " " + named.text,
                      std::move(annotation), std::move(drain)};
  });
}

Result<std::string> drain_card(kube::KubeApi& api, const std::string& card,
                               const std::string& reason, const std::string& flags) {
  if (auto good = check_reason(reason); !good) return good.error();
  const NamedCard named = named_card(card);
  return change_cordon(api, named, kListed, [&](const FoundCard& found) -> Result<CordonStep> {
    auto cordon = cordon_with(found, named.uuid, reason);
    const bool drains = is_draining(found, named.uuid);
    if (!cordon && drains) return CordonStep{card_name(found) + " is being drained already"};
    return CordonStep{
        .sentence = card_name(found) +
                    " cordoned and drained: it takes no new pods, and the extender evicts its pods "
                    "one after the other, within their disruption budgets, while other cards have "
                    "room for them. A pod that stays has an event CardBroken that says why. Undo: "
                    "kubectl tangram uncordon-card" +
                    flags + " " + named.text,
        .annotation = std::move(cordon),
        .drain =
            drains ? std::nullopt : std::optional(with_card(found.node.drain, named.uuid, ""))};
  });
}

Result<std::string> uncordon_card(kube::KubeApi& api, const std::string& card,
                                  const std::string& flags) {
  return change_cordon(api, named_card(card), kOrNamed,
                       [&](const FoundCard& found) { return uncordon_step(found, flags); });
}

}  // namespace tangram::cli
