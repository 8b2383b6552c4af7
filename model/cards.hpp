#pragma once

#include "base/result.hpp"
#include "model/card.hpp"

#include <string>
#include <vector>

namespace tangram::model {

/// The node annotation tangram.dev/cards, the only record of a node's inventory:
///
///     {"version":1,"cards":[{"id":"GPU-...","kind":"physical","model":"A100-SXM4-80GB",
///       "memMiB":81920,"milli":1000,"healthy":true,"cordoned":false,"reason":"","numa":0,
///       "pci":"0000:17:00.0","parent":"","links":[{"to":"GPU-...","type":"nvlink","count":12}],
///       "isolation":["mps","time-slice","none"],"maxSharers":48,"memoryLimits":"mps"}]}
///
/// Texts are those of card_names.hpp; links' types and reasons are free.
/// An agent that does not write memoryLimits is an older one, which enforces memory limits by MPS
/// wherever it offers mps, and by nothing else: that is what an absent one means.
/// A card on which MPS gives compute in chunks says in how many: "computeChunks":16.
/// Required: version, cards; of a card id, model, memMiB. Unknown members are ignored, so that
/// a newer agent can say more; a newer version is refused.
[[nodiscard]] std::string encode_cards(const std::vector<Card>& cards);

/// @returns kInvalidArgument if it is not JSON, a required member is missing or out of range,
///          two cards share an id, or the version is newer than this program knows.
Result<std::vector<Card>> decode_cards(std::string text);

/// Cards that one node may report; a bound on what a forged annotation can cost.
inline constexpr std::size_t kMaxCardsPerNode = 512;  // 64 physical cards in 7 MIG instances each

}  // namespace tangram::model
