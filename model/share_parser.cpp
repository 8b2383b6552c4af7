#include "model/share_parser.hpp"

#include "base/quote.hpp"
#include "model/request_values.hpp"

namespace tangram::model {

namespace {

constexpr std::string_view kMoreCards = "write 1, and tangram.dev/gpu-count for several cards";
constexpr std::string_view kWholeCompute = "write 1, which is all of the card";

/// What one container asks, rule by rule.
class ShareParser {
 public:
  ShareParser(const WrittenByKey& texts, const RequestRules& rules, Mistakes& mistakes)
      : texts_(texts), rules_(rules), mistakes_(mistakes) {}

  ContainerRequest parse(std::string_view container) {
    ContainerRequest request;
    request.container = container;
    request.count = read(kCountKey, values::parse_count).value_or(1);
    request.share = parse_share();
    return request;
  }

 private:
  template <class Parse>
  auto read(std::string_view key, const Parse& parse)
      -> std::optional<typename decltype(parse(std::string_view()))::value_type> {
    const Written* written = find(texts_, key);
    if (written == nullptr) return std::nullopt;
    return value_of(parse(written->value), *written, mistakes_);
  }

  std::optional<MilliGpu> read_ratio(std::string_view key, MilliGpu least, std::string_view over) {
    return read(key, [&](std::string_view text) { return values::parse_ratio(text, least, over); });
  }

  [[nodiscard]] bool has(std::string_view key) const { return find(texts_, key) != nullptr; }

  void refuse(std::string_view key, std::string_view why) {
    const Written* written = find(texts_, key);
    mistakes_.add(written->name + ": " + quote(written->value) + " " + std::string(why));
  }

  Share parse_share() {
    Share share;
    share.max_burst = rules_.max_burst;
    one_form_only();
    replicas_have_no_amounts();
    compute_needs_memory();
    limits_need_a_share();
    if (has(kFractionKey)) {
      share.form = ShareForm::kFraction;
      share.fraction = read_ratio(kFractionKey, MilliGpu(1), kMoreCards).value_or(MilliGpu{});
    }
    if (has(kMemoryKey)) {
      share.form = ShareForm::kMemory;
      share.memory = read(kMemoryKey, values::parse_memory).value_or(Mebibytes{});
    }
    if (has(kReplicaKey)) {
      share.form = ShareForm::kReplica;
      share.resource = read(kReplicaKey, values::parse_resource).value_or(CardResource::kGpu);
    }
    share.compute = read_ratio(kComputeKey, MilliGpu(0), kWholeCompute);
    share.memory_limit = read(kMemoryLimitKey, values::parse_memory);
    // A container held to nothing could not run at all.
    share.compute_limit = read_ratio(kComputeLimitKey, MilliGpu(1), kWholeCompute);
    limits_reach_the_share(share);
    if (rules_.max_burst > 0) limits_keep_to_the_burst(share);
    return share;
  }

  void one_form_only() {
    if (!has(kFractionKey) || !has(kMemoryKey)) return;
    refuse(kFractionKey, "and " + find(texts_, kMemoryKey)->name + " " +
                             quote(find(texts_, kMemoryKey)->value) +
                             " both say how much memory; write only one of them");
  }

  void replicas_have_no_amounts() {
    if (!has(kReplicaKey)) return;
    for (const std::string_view key :
         {kFractionKey, kMemoryKey, kComputeKey, kMemoryLimitKey, kComputeLimitKey}) {
      if (!has(key)) continue;
      refuse(key,
             "and " + find(texts_, kReplicaKey)->name +
                 ", whose amount the node's sharing configuration says, cannot stand together; "
                 "write only one of them");
    }
  }

  void compute_needs_memory() {
    if (!has(kComputeKey) || has(kMemoryKey) || has(kReplicaKey)) return;
    refuse(kComputeKey,
           has(kFractionKey)
               ? "has no meaning beside tangram.dev/gpu-fraction, which is a share of compute too; "
                 "remove it, or write tangram.dev/gpu-mem instead of the fraction"
               : "needs a tangram.dev/gpu-mem beside it; write that too, or "
                 "tangram.dev/gpu-fraction instead");
  }

  void limits_need_a_share() {
    if (has(kFractionKey) || has(kMemoryKey) || has(kReplicaKey)) return;
    for (const std::string_view key : {kMemoryLimitKey, kComputeLimitKey}) {
      if (!has(key)) continue;
      refuse(key, has(kCountKey) ? "has no meaning for whole cards; remove it, or write "
                                   "tangram.dev/gpu-fraction or tangram.dev/gpu-mem too"
                                 : "limits a share that is not there; write "
                                   "tangram.dev/gpu-fraction or tangram.dev/gpu-mem too");
    }
  }

  void limits_reach_the_share(const Share& share) {
    if (share.memory_limit && *share.memory_limit < share.memory) {
      refuse(kMemoryLimitKey, "is less than the request; write at least the same as " +
                                  find(texts_, kMemoryKey)->name);
    }
    const bool by_fraction = share.form == ShareForm::kFraction;
    const MilliGpu compute = by_fraction ? share.fraction : share.compute.value_or(MilliGpu{});
    if (share.compute_limit && *share.compute_limit < compute) {
      refuse(kComputeLimitKey, "is less than the request; write at least the same as " +
                                   find(texts_, by_fraction ? kFractionKey : kComputeKey)->name);
    }
  }

  /// What depends on the card is not known here: slice_of() holds that to the same rule.
  void limits_keep_to_the_burst(const Share& share) {
    const std::string burst = std::to_string(rules_.max_burst) + " times the request";
    const auto refuse_above = [&](std::string_view key, const std::string& most) {
      refuse(key, "is more than " + burst + ", the most that this cluster allows; write at most " +
                      most);
    };
    const Mebibytes most_memory(rules_.max_burst * share.memory.count());
    if (share.form == ShareForm::kMemory && share.memory > Mebibytes{} &&
        share.memory_limit > most_memory) {
      refuse_above(kMemoryLimitKey, std::to_string(most_memory.count()) + "Mi");
    }
    const auto compute = share.form == ShareForm::kFraction ? share.fraction : share.compute;
    if (!compute) return;
    const MilliGpu most_compute(rules_.max_burst * compute->count());
    if (share.form == ShareForm::kMemory && *compute == MilliGpu{}) {
      refuse(kComputeKey, "uses all that others leave, and this cluster allows at most " + burst +
                              "; write a number above 0, such as \"0.1\"");
    } else if (*compute > MilliGpu{} && share.compute_limit > most_compute) {
      refuse_above(kComputeLimitKey, share_text(most_compute));
    }
  }

  const WrittenByKey& texts_;
  const RequestRules& rules_;
  Mistakes& mistakes_;
};

}  // namespace

ContainerRequest parse_share(std::string_view container, const WrittenByKey& texts,
                             const RequestRules& rules, Mistakes& mistakes) {
  return ShareParser(texts, rules, mistakes).parse(container);
}

}  // namespace tangram::model
