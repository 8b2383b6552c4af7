#include "extender/verbs.hpp"

#include <spdlog/spdlog.h>

namespace tangram::extender {

namespace {

constexpr std::string_view kNotSynced =
    "tangram is still reading the cluster from the API server; try again";

/// Refusals are remembered for short-lists only: a list of every node says nothing about any.
constexpr std::size_t kMaxOffersRemembered = Offers::kMaxRefusedPerPod;

/// The plan's policy with what it remembers of unchanged nodes. Refers to the pass.
Choose chooser(policies::ChoiceCache::Pass& pass) {
  return [&pass](model::NodeIndex index,
                 const model::NodeState& node) -> const std::optional<policies::Choice>& {
    return pass.choose(index, node);
  };
}

}  // namespace

std::string Verbs::filter(std::string text) {
  if (!parts_.synced()) return encode_filter_error(kNotSynced);
  Body body(std::move(text));
  const auto args = decode_filter_args(body);
  if (!args) return encode_filter_error("filter request: " + args.error().message);
  const auto plan = parts_.policies.plan(args->pod);
  if (!plan) return encode_filter_error(plan.error().message);
  const NodeSet refused = parts_.offers.begin_filter(args->pod.uid);
  const ClusterPtr cluster = parts_.books.snapshot();  // one: all nodes judged at one moment
  auto pass = plan->policies->cache.open(*plan->policy, plan->demand);
  const FilterResult result = extender::filter(args->node_names, plan->demand, *cluster,
                                               chooser(pass), refused, short_list_);
  if (short_list_ != 0 && result.kept.size() <= kMaxOffersRemembered) {
    std::vector<std::string> offered;
    for (const std::uint32_t kept : result.kept) offered.emplace_back(args->node_names[kept]);
    parts_.offers.offered(args->pod.uid, std::move(offered));
  }
  return encode(*args, result);
}

std::string Verbs::prioritize(std::string text) const {
  Body body(std::move(text));
  const auto args = decode_filter_args(body);
  if (!args) {
    spdlog::warn("prioritize request: {}", args.error().message);
    return encode(std::vector<HostScore>{});
  }
  const auto plan = parts_.policies.plan(args->pod);
  if (!plan) return encode(std::vector<HostScore>{});
  auto pass = plan->policies->cache.open(*plan->policy, plan->demand);
  return encode(extender::prioritize(args->node_names, *parts_.books.snapshot(), chooser(pass),
                                     parts_.offers.refused(args->pod.uid)));
}

std::string Verbs::preempt(std::string text) const {
  if (!parts_.synced()) return encode_preempt_result({});
  Body body(std::move(text));
  const auto args = decode_preempt_args(body);
  if (!args) {
    spdlog::warn("preempt request: {}", args.error().message);
    return encode_preempt_result({});
  }
  const auto plan = parts_.policies.plan(args->pod);
  if (!plan) return encode_preempt_result({});
  return encode_preempt_result(
      extender::preempt(args->nodes, plan->demand, *parts_.books.snapshot(), *plan->policy));
}

Verbs::BindReply Verbs::bind(std::string text) {
  if (!parts_.synced()) {
    return {encode_bind_result(kNotSynced), BindOutcome::kUnavailable};
  }
  Body body(std::move(text));
  const auto args = decode_bind_args(body);
  if (!args) {
    return {encode_bind_result("bind request: " + args.error().message), BindOutcome::kInvalid};
  }
  Binder::Answer answer = parts_.binder.bind(*args);
  return {encode_bind_result(answer.error), answer.outcome};
}

}  // namespace tangram::extender
