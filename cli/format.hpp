#pragma once

#include "base/units.hpp"
#include "model/grant.hpp"
#include "model/request.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Formats amounts, requests and lists for people.
namespace tangram::cli {

using model::share_text;
/// "8Gi", "81559Mi": as in the annotation gpu-mem.
[[nodiscard]] std::string memory_text(Mebibytes memory);

/// "0.5", "2 × 8Gi", "8Gi, 0.3", "2 cards": what a container requests.
[[nodiscard]] std::string request_text(const model::ContainerRequest& request);
/// All containers: "main 0.5 + side 8Gi"; a single one without its name.
[[nodiscard]] std::string request_text(const model::GpuRequest& request);

/// "40Gi, 0.5": a grant of one card.
[[nodiscard]] std::string grant_text(Mebibytes memory, MilliGpu compute);
/// All containers: "40Gi, 0.5"; "2 × (40Gi, 0.5) + 8Gi, 0.1"; "" for none.
[[nodiscard]] std::string grant_text(const std::vector<model::ContainerGrant>& containers);

/// By what memory limits are enforced: "mps", "nothing"; "whole card" where none are needed.
/// @param means  its name in model/memory_limits.hpp
[[nodiscard]] std::string limits_text(bool whole, std::string_view means);
/// Of all cards, each answer once: "mps"; "" for no cards.
[[nodiscard]] std::string limits_text(const std::vector<model::ContainerGrant>& containers);

/// "GPU-5f2a81c3…": enough to distinguish the cards of a node.
[[nodiscard]] std::string short_uuid(const std::string& uuid);

/// The UUIDs of all containers, in their order.
[[nodiscard]] std::vector<std::string> cards_of(
    const std::vector<model::ContainerGrant>& containers);
/// "GPU-5f2a81c3…,GPU-0b1e…": the UUIDs, short unless `wide`.
[[nodiscard]] std::string card_names(std::vector<std::string> uuids, bool wide);

/// "0.5", "2 × 0.5", "2 × (8Gi, 0.3)".
[[nodiscard]] std::string times(std::size_t count, const std::string& what);

/// "1 pod", "3 pods": the plural adds an s.
[[nodiscard]] std::string counted(std::size_t count, std::string_view what);

/// "a, b, c".
[[nodiscard]] std::string joined(const std::vector<std::string>& texts,
                                 std::string_view between = ", ");

/// A word of a command that is printed: quoted for a POSIX shell unless it is harmless.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace tangram::cli
