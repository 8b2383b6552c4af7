#include "extender/scheduling/decision_log.hpp"

#include "base/quote.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace tangram::extender {
namespace {

std::string cards_of(const model::Allocation* allocation) {
  std::string text;
  std::size_t cards = 0;
  if (allocation != nullptr) {
    for (const model::ContainerGrant& container : allocation->containers) {
      for (const model::GrantedCard& card : container.cards) {
        if (++cards > DecisionLog::kMostCards) continue;
        text += (text.empty() ? "" : ", ") + quote_if_needed(card.uuid);
      }
    }
  }
  if (cards == 0) return "no card";
  if (cards > DecisionLog::kMostCards) {
    text += fmt::format(" and {} more", cards - DecisionLog::kMostCards);
  }
  return text;
}

std::string describe(const Decision& decision) {
  const BindArgs& args = decision.args;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(decision.took).count();
  if (!decision.why.empty()) {
    return fmt::format("pod {}/{} not bound to node {}: {} ({}, {} ms)", args.ns, args.name,
                       args.node, decision.why, decision.outcome, ms);
  }
  const std::string by = decision.policy.empty() ? "" : decision.policy + ", ";
  return fmt::format("pod {}/{} bound to node {}: {} ({}{} ms)", args.ns, args.name, args.node,
                     cards_of(decision.allocation.get()), by, ms);
}

}  // namespace

void DecisionLog::write(const Decision& decision) {
  if (!limit_.reserve(std::chrono::nanoseconds{0})) {
    ++left_out_;
    return;
  }
  const std::uint64_t left_out = left_out_.exchange(0);
  if (left_out == 0) {
    spdlog::info("{}", describe(decision));
  } else {
    spdlog::info("{}; {} lines before it were left out", describe(decision), left_out);
  }
}

}  // namespace tangram::extender
