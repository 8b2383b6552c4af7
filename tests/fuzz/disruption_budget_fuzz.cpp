#include "kube/disruption_budget.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused, or is a budget that covers no pod of another namespace, nor one that is
/// being evicted, nor any if it selects nothing.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  const auto budget = kube::decode_disruption_budget(std::string(fuzz::text_of(data, size)));
  if (!budget) return 0;
  kube::Labels labels{{"app", "train"}};
  for (const auto& term : budget->selector.terms) {
    labels[term.key] = term.values.empty() ? "" : term.values.front();
  }
  fuzz::require(!budget->covers(budget->ns + "x", "pod", labels));
  for (const std::string& pod : budget->disrupted) {
    fuzz::require(!budget->covers(budget->ns, pod, labels));
  }
  if (budget->covers(budget->ns, "pod", labels)) fuzz::require(!budget->selector.terms.empty());
  return 0;
}
