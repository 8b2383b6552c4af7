#pragma once

#include "base/units.hpp"
#include "model/grant.hpp"
#include "model/request.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Amounts and requests as people write them.
namespace tangram::cli {

/// "0.25", "1": as in the annotation gpu-fraction.
[[nodiscard]] std::string share_text(MilliGpu share);
/// "8Gi", "81559Mi": as in the annotation gpu-mem.
[[nodiscard]] std::string memory_text(Mebibytes memory);

/// "0.5", "2 × 8Gi", "8Gi, 0.3", "2 cards": what a container asks for.
[[nodiscard]] std::string request_text(const model::ContainerRequest& request);
/// Of all containers: "main 0.5 + side 8Gi"; of one without its name.
[[nodiscard]] std::string request_text(const model::GpuRequest& request);

/// "40Gi, 0.5": what a pod was granted on one card.
[[nodiscard]] std::string grant_text(Mebibytes memory, MilliGpu compute);
/// Of all containers: "40Gi, 0.5"; "2 × (40Gi, 0.5) + 8Gi, 0.1"; "" of nothing.
[[nodiscard]] std::string grant_text(const std::vector<model::ContainerGrant>& containers);

/// "GPU-5f2a81c3…": enough to tell the cards of a node apart by eye.
[[nodiscard]] std::string short_uuid(const std::string& uuid);

/// "1 pod", "3 pods": the second word is the first with an s.
[[nodiscard]] std::string counted(std::size_t count, std::string_view what);

/// "a, b, c".
[[nodiscard]] std::string joined(const std::vector<std::string>& texts,
                                 std::string_view between = ", ");

}  // namespace tangram::cli
