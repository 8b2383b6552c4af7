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

/// The annotation without the card, if it names it.
std::optional<std::string> drain_without(const FoundCard& found) {
  if (!is_draining(found, found.card.id)) return std::nullopt;
  return without_card(found.node.drain, found.card.id);
}

Result<CordonStep> uncordon_step(const FoundCard& found, const std::string& flags) {
  const node::CardNames named = node::parse_card_names(found.node.cordon);
  const std::string name = card_name(found);
  if (named.ids.contains(found.card.id)) {
    std::string left = without_card(found.node.cordon, found.card.id);
    if (!node::parse_card_names(left).include(found.card)) {
      return CordonStep{name + " uncordoned: within seconds it takes new pods", std::move(left),
                        drain_without(found)};
    }
  }
  if (named.all) {
    return fail(Errc::kConflict, "all cards of node " + found.node.name +
                                     " are cordoned, not this one by name; uncordon all: kubectl" +
                                     flags + " annotate node " + found.node.name +
                                     " tangram.dev/cordon-");
  }
  if (named.include(found.card)) {
    return fail(Errc::kConflict, name + " is cordoned with its physical card; uncordon that: " +
                                     "kubectl tangram uncordon-card" + flags + " " +
                                     found.card.parent);
  }
  if (found.card.cordoned) {
    return fail(Errc::kConflict,
                name + " is not cordoned by an operator: " + found.card.unavailable_reason);
  }
  if (auto left = drain_without(found)) {
    return CordonStep{name + " is not cordoned, and not drained any more", std::nullopt,
                      std::move(left)};
  }
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
  return change_cordon(api, named, [&](const FoundCard& found) -> Result<CordonStep> {
    auto annotation = cordon_with(found, named.uuid, reason);
    if (!annotation) return CordonStep{card_name(found) + " is cordoned already"};
    return CordonStep{
        card_name(found) +
            " cordoned: within seconds it takes no new pods; its pods keep running. Undo: "
            "kubectl tangram uncordon-card" +
            flags + " " + named.text,
        std::move(annotation)};
  });
}

Result<std::string> drain_card(kube::KubeApi& api, const std::string& card,
                               const std::string& reason, const std::string& flags) {
  if (auto good = check_reason(reason); !good) return good.error();
  const NamedCard named = named_card(card);
  return change_cordon(api, named, [&](const FoundCard& found) -> Result<CordonStep> {
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
  return change_cordon(api, named_card(card),
                       [&](const FoundCard& found) { return uncordon_step(found, flags); });
}

}  // namespace tangram::cli
