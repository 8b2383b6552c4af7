#include "extender/scheduling/grant_on_pod.hpp"

#include "model/grant_reading.hpp"

namespace tangram::extender {

bool is_ours(const cluster::Recorded& recorded, const model::Ledger::Entry& entry) {
  const bool is_vouched = !recorded.allocation.by_start &&
                          (!entry.is_signed || model::is_known_key(recorded.grant_key));
  return is_vouched && recorded.issued_at == entry.issued_at &&
         cluster::same_cards(recorded.allocation, *entry.allocation);
}

}  // namespace tangram::extender
