#include "extender/scheduling/decision_log.hpp"

#include "base/quote.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <span>
#include <vector>

namespace tangram::extender {
namespace {

std::vector<std::string> cards_of(const model::Allocation& allocation) {
  std::vector<std::string> cards;
  for (const model::ContainerGrant& container : allocation.containers) {
    for (const model::GrantedCard& card : container.cards) {
      cards.push_back(quote_if_needed(card.uuid));
    }
  }
  return cards;
}

std::string list_cards(const model::Allocation* allocation) {
  const auto cards = allocation == nullptr ? std::vector<std::string>{} : cards_of(*allocation);
  if (cards.empty()) return "no card";
  const std::size_t shown = std::min(cards.size(), DecisionLog::kMostCards);
  std::string text = fmt::format("{}", fmt::join(std::span(cards).first(shown), ", "));
  if (cards.size() > shown) text += fmt::format(" and {} more", cards.size() - shown);
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
                     list_cards(decision.allocation.get()), by, ms);
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
