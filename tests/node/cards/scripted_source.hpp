#pragma once

#include "node/cards/card_source.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tangram::node {

/// A source that answers what the test says. Waiting for faults takes no time.
class ScriptedSource final : public CardSource {
 public:
  Result<Inventory> inventory() override {
    const std::lock_guard lock(mutex_);
    ++asked_;
    if (silent_) return fail(Errc::kUnavailable, "no driver");
    return inventory_;
  }
  Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds limit) override {
    const std::lock_guard lock(mutex_);
    last_limit_ = limit;
    if (silent_) return fail(Errc::kUnavailable, "no driver");
    return std::exchange(faults_, {});
  }
  Result<CardActivity> activity(std::string_view) override { return CardActivity{}; }
  Result<void> set_exclusive_process(std::string_view card, bool exclusive) override {
    const std::lock_guard lock(mutex_);
    if (mode_error_) return *mode_error_;
    exclusive_[std::string(card)] = exclusive;
    return {};
  }

  void list(const std::vector<std::string>& ids) {
    const std::lock_guard lock(mutex_);
    inventory_.cards.clear();
    for (const std::string& id : ids) {
      InstalledCard card;
      card.card.id = id;
      card.card.memory = Mebibytes(1000);
      inventory_.cards.push_back(card);
    }
  }
  void limit_modes(model::IsolationSet modes) {
    const std::lock_guard lock(mutex_);
    for (InstalledCard& card : inventory_.cards) card.card.isolation = modes;
  }
  void offer_means(MemoryMeans means) {
    const std::lock_guard lock(mutex_);
    for (InstalledCard& card : inventory_.cards) card.memory_means = means;
  }
  void be_silent(bool silent) {
    const std::lock_guard lock(mutex_);
    silent_ = silent;
  }
  void add_fault(Fault fault) {
    const std::lock_guard lock(mutex_);
    faults_.push_back(std::move(fault));
  }
  void refuse_modes(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    mode_error_ = std::move(error);
  }

  [[nodiscard]] int asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  [[nodiscard]] std::chrono::milliseconds last_limit() const {
    const std::lock_guard lock(mutex_);
    return last_limit_;
  }
  [[nodiscard]] std::map<std::string, bool> exclusive() const {
    const std::lock_guard lock(mutex_);
    return exclusive_;
  }

 private:
  mutable std::mutex mutex_;
  Inventory inventory_;
  std::vector<Fault> faults_;
  std::map<std::string, bool> exclusive_;
  std::optional<Error> mode_error_;
  bool silent_ = false;
  int asked_ = 0;
  std::chrono::milliseconds last_limit_{};
};

}  // namespace tangram::node
