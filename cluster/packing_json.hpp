#pragma once

#include "base/json.hpp"
#include "cluster/pod_table.hpp"
#include "kube/objects.hpp"
#include "model/snapshot.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How nodes, cards and pods look in the JSON that people and the page read. One form, wherever
/// they are told of: docs/protocol.md.
namespace tangram::cluster {

/// What a card is and how much of it is free.
void write_card_facts(json::Writer& out, const model::Card& card, const model::CardUse& use);

/// The mode that the card runs in; null while no pod shares it.
void write_mode(json::Writer& out, const model::CardUse& use);

/// Which cards of a node to write, by their place in its list; none = all of them.
using CardChoice = std::optional<std::function<bool(std::uint32_t card)>>;

/// A node with its cards and what each pod has of them.
/// @param node  without reservations: model::granted_only()
/// @param cards  where there is a choice, the node says `"partial": true`
void write_packed_node(json::Writer& out, const model::NodeState& node,
                       const CardChoice& cards = std::nullopt);

void write_waiting_pod(json::Writer& out, const kube::Pod& pod);

/// The packing as of an event: {"event", "nodes": [...], "pending": [...]}.
/// @param nodes  by name
[[nodiscard]] std::string packing_json(std::string_view event,
                                       const std::vector<model::NodePtr>& nodes,
                                       const std::vector<PodPtr>& waiting);

}  // namespace tangram::cluster
