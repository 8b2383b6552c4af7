#pragma once

#include "model/card.hpp"
#include "model/node_state.hpp"
#include "model/request.hpp"
#include "tests/testing/random.hpp"

#include <array>
#include <cstdint>
#include <string>

/// Nodes, requests and grants by chance, of a cluster small enough to try everything in every way.
namespace tangram::model {

inline const std::array<std::string, 4> kNodeNames{"n0", "n1", "n2", "n3"};
inline const std::array<std::string, 2> kModels{"A100", "T4"};
inline constexpr std::array<std::int64_t, 6> kCardSizes{7, 997, 1000, 1024, 16'384, 81'559};  // MiB
inline constexpr int kMaxCards = 4;  // what brute force can try in every way

/// @param i  from 0, on the node
[[nodiscard]] std::string card_id(const std::string& node, std::int64_t i);

[[nodiscard]] Card random_card(testing::Random& random, const std::string& id);
[[nodiscard]] NodeInventory random_inventory(testing::Random& random, const std::string& name);
[[nodiscard]] GpuRequest random_request(testing::Random& random);

/// What another writer might have granted: any amount of any card, also of none that there is.
[[nodiscard]] Allocation random_grant(testing::Random& random, const std::string& uid);

}  // namespace tangram::model
