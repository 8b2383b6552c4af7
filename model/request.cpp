#include "model/request.hpp"

#include "base/quote.hpp"
#include "model/compute_chunks.hpp"

#include <algorithm>

namespace tangram::model {

namespace {

/// Classic wildcard match: on a mismatch, let the last '*' swallow one more character.
bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t swallowed = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      swallowed = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++swallowed;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

Slice whole_card(const CardTraits& card) {
  return {.memory = card.memory,
          .compute = card.compute,
          .memory_limit = card.memory,
          .compute_limit = card.compute,
          .whole = true};
}

MilliGpu proportional_compute(Mebibytes memory, const CardTraits& card) {
  if (card.memory <= Mebibytes{}) return card.compute;
  return MilliGpu(kWholeGpu.count() * memory.count() / card.memory.count());
}

/// A limit below the share means the share; one above the card means the card.
template <class Unit>
Unit limit_of(const std::optional<Unit>& limit, Unit share, Unit card) {
  return std::max(share, std::min(limit.value_or(share), card));
}

template <class Unit>
Unit within_burst(Unit limit, Unit share, int max_burst) {
  if (max_burst == 0) return limit;
  return std::min(limit, std::max(Unit(1), Unit(max_burst * share.count())));
}

}  // namespace

Result<GpuRequest> parse_running_request(const Annotations& annotations,
                                         const std::vector<ContainerInfo>& containers,
                                         const RequestRules& rules) {
  RequestRules any_burst = rules;
  any_burst.max_burst = 0;
  auto request = parse_request(annotations, containers, any_burst);
  if (!request) return request;
  return with_max_burst(std::move(*request), rules.max_burst);
}

int max_burst_of(const GpuRequest& request) {
  return request.containers.empty() ? 0 : request.containers.front().share.max_burst;
}

GpuRequest with_max_burst(GpuRequest request, int max_burst) {
  for (ContainerRequest& container : request.containers) container.share.max_burst = max_burst;
  return request;
}

std::string node_name_mistake(std::string_view node) {
  return "spec.nodeName " + quote(node) +
         ": a pod that requests a GPU cannot choose its node this way, past the scheduler that "
         "allocates its card; remove it, and write nodeSelector: {kubernetes.io/hostname: " +
         quote_if_needed(node) + "}";
}

std::size_t default_container(const std::vector<ContainerInfo>& containers) {
  const auto first = [&](const auto& wanted) {
    return std::find_if(containers.begin(), containers.end(), wanted);
  };
  const auto with_slot =
      first([](const ContainerInfo& info) { return info.slots > 0 && !info.ordinary_init; });
  const auto chosen = with_slot != containers.end()
                          ? with_slot
                          : first([](const ContainerInfo& info) { return !info.ordinary_init; });
  return static_cast<std::size_t>(chosen - containers.begin());
}

bool globs_match(const std::vector<std::string>& globs, std::string_view text) {
  bool wanted = true;
  bool any_include = false;
  bool included = false;
  for (const std::string_view glob : globs) {
    if (!glob.empty() && glob.front() == '!') {
      wanted = wanted && !glob_matches(glob.substr(1), text);
    } else {
      any_include = true;
      included = included || glob_matches(glob, text);
    }
  }
  return wanted && (included || !any_include);
}

std::string share_text(MilliGpu share) {
  const std::int64_t milli = share.count();
  std::string text = std::to_string(milli / 1000);
  if (milli % 1000 == 0) return text;
  std::string decimals = std::to_string(1000 + milli % 1000).substr(1);
  decimals.resize(decimals.find_last_not_of('0') + 1);
  return text + "." + decimals;
}

Slice slice_of(const Share& share, const CardTraits& card) {
  const bool replica = share.form == ShareForm::kReplica;
  if (share.form == ShareForm::kWhole || (replica && card.replicas.count == 1)) {
    return whole_card(card);
  }
  Slice slice;
  if (replica) {
    slice.memory = Mebibytes(card.memory.count() / card.replicas.count);
    slice.compute = MilliGpu(card.compute.count() / card.replicas.count);
  } else if (share.form == ShareForm::kFraction) {
    slice.memory = Mebibytes(share.fraction.count() * card.memory.count() / kWholeGpu.count());
    slice.compute = share.fraction;
    slice.whole = share.fraction == kWholeGpu;
  } else {
    slice.memory = share.memory;
    slice.compute = share.compute.value_or(proportional_compute(share.memory, card));
  }
  slice.memory_limit = limit_of(share.memory_limit, slice.memory, card.memory);
  // Best effort (a share of 0) may use whatever is left over.
  const bool best_effort = slice.compute == MilliGpu{} && !share.compute_limit;
  slice.compute_limit =
      best_effort ? card.compute : limit_of(share.compute_limit, slice.compute, card.compute);
  slice.memory_limit = within_burst(slice.memory_limit, slice.memory, share.max_burst);
  slice.compute_limit = within_burst(slice.compute_limit, slice.compute, share.max_burst);
  const bool by_mps = replica ? card.replicas.isolation == Isolation::kMps : share.by_mps;
  if (card.compute_chunks > 0 && by_mps && !slice.whole) {
    const std::int64_t chunks = replica ? card.compute_chunks / card.replicas.count
                                        : chunks_within(slice.compute, card.compute_chunks);
    slice.compute = booked_for(chunks, card.compute_chunks);
    slice.compute_limit = slice.compute;
  }
  return slice;
}

}  // namespace tangram::model
