#include "cluster/explain_summary.hpp"

#include "cluster/in_tree.hpp"

#include <algorithm>
#include <vector>

namespace tangram::cluster {

namespace {

using model::Misfit;
using model::NodeState;

/// The least memory and compute that a container's part takes of a card that lacks nothing, or
/// nothing but room.
/// @param count  by card: set for those
/// @returns nothing if there is no such card
std::optional<model::Slice> least_part(const model::GpuRequest& request,
                                       const model::ContainerRequest& container,
                                       const NodeState& node, std::vector<bool>& count) {
  std::optional<model::Slice> least;
  for (std::uint32_t i = 0; i < node.cards().size(); ++i) {
    const model::Slice part = slice_of(container.share, node.cards()[i]);
    if (card_misfit(request, part, node, i).value_or(Misfit::kRoom) != Misfit::kRoom) {
      continue;
    }
    count[i] = true;
    if (!least) least = part;
    least->memory = std::min(least->memory, part.memory);
    least->compute = std::min(least->compute, part.compute);
  }
  return least;
}

/// Would the request fit if the free parts of the cards that it may use were one card each time it
/// asks for one? Then the node is not full but fragmented.
bool fits_in_sum(const model::GpuRequest& request, const NodeState& node) {
  std::vector<bool> count(node.cards().size());
  Mebibytes memory;
  MilliGpu compute;
  for (const model::ContainerRequest& container : request.containers) {
    const auto part = least_part(request, container, node, count);
    if (!part) return false;
    memory += Mebibytes(container.count * part->memory.count());
    compute += MilliGpu(container.count * part->compute.count());
  }
  for (std::uint32_t i = 0; i < node.cards().size(); ++i) {
    if (!count[i]) continue;
    memory -= model::free_memory(node.cards()[i], node.use[i]);
    compute -= model::free_compute(node.cards()[i], node.use[i]);
  }
  return memory <= Mebibytes{} && compute <= MilliGpu{};
}

/// "2 x sentence; 1 x other sentence".
template <class Counts, class Sentence>
std::string counted(const Counts& counts, const Sentence& sentence) {
  std::string text;
  for (const auto& [what, count] : counts) {
    if (!text.empty()) text += "; ";
    text += std::to_string(count) + " x " + std::string(sentence(what));
  }
  return text;
}

/// [{"why": "...", "nodes": 2}]
template <class Counts, class Sentence>
void write_counts(json::Writer& out, const Counts& counts, const Sentence& sentence) {
  out.begin_array();
  for (const auto& [what, count] : counts) {
    out.begin_object().member("why", sentence(what));
    out.member("nodes", static_cast<std::int64_t>(count)).end_object();
  }
  out.end_array();
}

std::string_view itself(std::string_view text) { return text; }

}  // namespace

NodeFit fit_on(const NodeState& node, const model::PodDemand& demand,
               const policies::Policy& policy, model::SearchBudget& budget) {
  const std::int64_t skipped = budget.skipped();
  NodeFit fit{.node = node, .choice = policy.choose(demand, node, budget)};
  const bool tried = budget.skipped() == skipped;
  if (fit.choice) {
    fit.blocked = in_tree_misfit(demand.footprint, node);
  } else {
    fit.misfit = tried ? why_not(demand.gpu, node) : Misfit::kNotTried;
    fit.fragmented = fit.misfit == Misfit::kRoom && fits_in_sum(demand.gpu, node);
  }
  return fit;
}

void ExplainSummary::add(const NodeFit& fit) {
  ++nodes_;
  if (fit.choice) {
    ++fitting_;
    if (!fit.blocked.empty()) ++blocked_[fit.blocked];
    return;
  }
  ++reasons_[fit.misfit];
  if (fit.fragmented) ++fragmented_;
}

void ExplainSummary::write(json::Writer& out) const {
  out.member("fittingNodes", static_cast<std::int64_t>(fitting_));
  write_counts(out.key("blocked"), blocked_, itself);
  write_counts(out.key("reasons"), reasons_, model::reason);
  out.member("summary", sentence());
}

std::string ExplainSummary::sentence() const {
  const bool alone = lead_.empty();
  if (nodes_ == 0) {
    return alone ? "there is no node with GPU cards" : lead_ + ". There is no node with GPU cards";
  }
  const std::string text = fitting_ > 0 ? fits_some() : fits_none();
  return alone ? text : lead_ + ". It " + text;
}

std::string ExplainSummary::fits_some() const {
  std::string text = "fits " + std::to_string(fitting_) + " of " + std::to_string(nodes_) +
                     " nodes by their cards";
  std::size_t usable = fitting_;
  for (const auto& [why, count] : blocked_) usable -= count;
  if (!blocked_.empty()) text += ", but " + counted(blocked_, itself);
  if (usable == 0) {
    return blocked_.contains(kNoSlots) ? text + ". " + std::string(kSeeAgents) : text;
  }
  if (!lead_.empty()) return text;
  if (blocked_.empty()) {
    return text +
           "; if it still waits, `kubectl describe pod` names what else kube-scheduler lacks";
  }
  return text + ". If it still waits, `kubectl describe pod` names what kube-scheduler lacks on " +
         "the other " + std::to_string(usable);
}

std::string ExplainSummary::fits_none() const {
  std::string text =
      "fits none of " + std::to_string(nodes_) + " nodes: " + counted(reasons_, model::reason);
  if (reasons_.contains(Misfit::kIsolationUnsupported) ||
      reasons_.contains(Misfit::kIsolationBusy)) {
    text += isolation_ ? ". The pod asks for isolation " + std::string(to_string(*isolation_)) +
                             "; to ask for another, write annotation " +
                             model::full_name(model::kIsolationKey)
                       : ". The sharing configurations of nodes say how replicas are isolated";
  }
  if (reasons_.contains(Misfit::kMemoryLimits)) {
    text += ". The pod requires memory limits by " + std::string(to_string(memory_limits_)) +
            " at least, in annotation " + model::full_name(model::kMemoryLimitsKey) +
            (isolation_ ? "; under isolation " + std::string(to_string(*isolation_)) + " these"
                        : "; under the nodes' isolation of replicas these") +
            " cards have weaker ones";
  }
  if (fragmented_ == 0) return text;
  return text + ". On " + std::to_string(fragmented_) +
         " of them the free parts of cards would do together, but too few cards have the room; "
         "kube-scheduler evicts no pod for that, whatever the priority: end or move a pod there, "
         "or ask for smaller parts";
}

}  // namespace tangram::cluster
