#include "cluster/in_tree.hpp"

namespace tangram::cluster {

std::string_view in_tree_misfit(const model::Footprint& needs, const model::NodeState& node) {
  if (needs.cpu > node.free_cpu()) return "node has too little free CPU";
  if (needs.memory > node.free_memory()) return "node has too little free memory";
  if (needs.slots == 0) return "";
  if (node.inventory->slots == 0) return kNoSlots;
  if (needs.slots > node.inventory->slots - node.requested.slots) {
    return "node has too few free tangram.dev/gpu-slot: other pods hold them";
  }
  return "";
}

}  // namespace tangram::cluster
