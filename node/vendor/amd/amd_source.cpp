#include "node/vendor/amd/amd_source.hpp"

#include "base/quote.hpp"
#include "node/vendor/amd/activity.hpp"
#include "node/vendor/amd/memory_regions.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <utility>

namespace tangram::node::amd {

AmdSource::AmdSource(Machine machine) : machine_(std::move(machine)), files_(machine_.host_root) {}

Result<AmdSource::Cards> AmdSource::read() {
  auto cards = read_amd_cards(files_);
  const std::lock_guard lock(mutex_);
  if (!cards) {
    known_ = nullptr;
    return cards.error();
  }
  const bool has_hook = access(machine_.memory_hook.c_str(), R_OK) == 0;
  for (AmdCard& card : cards->cards) {
    if (has_hook && can_limit(machine_.cgroups, card)) {
      card.installed.memory_means.add(model::MemoryLimits::kDriver);
    }
  }
  report_left_out(*cards);
  known_ = std::make_shared<const AmdCards>(std::move(*cards));
  return known_;
}

/// Once, as long as it stays so.
void AmdSource::report_left_out(const AmdCards& cards) {
  std::set<std::string> now(cards.left_out.begin(), cards.left_out.end());
  for (const std::string& one : now) {
    if (!left_out_.contains(one)) spdlog::warn("{}", one);
  }
  left_out_ = std::move(now);
}

Result<AmdSource::Cards> AmdSource::known() {
  {
    const std::lock_guard lock(mutex_);
    if (known_) return known_;
  }
  return read();
}

Result<Inventory> AmdSource::inventory() {
  const auto cards = read();
  if (!cards) return cards.error();
  Inventory inventory;
  inventory.driver = (*cards)->driver;
  for (const AmdCard& card : (*cards)->cards) inventory.cards.push_back(card.installed);
  return inventory;
}

Result<std::vector<Fault>> AmdSource::wait_for_faults(std::chrono::milliseconds limit) {
  const std::lock_guard one(waiting_);
  const auto cards = known();
  if (!cards) return cards.error();
  auto faults = ras_.look(files_, (*cards)->cards);
  if (!faults.empty()) return faults;
  machine_.sleeper(limit, {});
  return ras_.look(files_, (*cards)->cards);
}

Result<CardActivity> AmdSource::activity(std::string_view card) {
  const auto cards = known();
  if (!cards) return cards.error();
  if (const AmdCard* const found = (*cards)->find(card)) return read_activity(files_, *found);
  return fail(Errc::kNotFound, "there is no card " + quote_if_needed(std::string(card)));
}

Result<void> AmdSource::set_exclusive_process(std::string_view card, bool /*exclusive*/) {
  return fail(Errc::kInvalidArgument, "card " + quote_if_needed(std::string(card)) +
                                          " of AMD has no exclusive mode; share it by time-slice");
}

}  // namespace tangram::node::amd
