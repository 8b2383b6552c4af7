#pragma once

#include "tests/e2e/fixture.hpp"
#include "tests/e2e/load.hpp"

namespace tangram::e2e {

/// A small, partly filled cluster in which pods start and end while something fails.
class SurvivalTest : public E2eTest {
 protected:
  SurvivalTest() { cluster_.add_nodes(mixed_nodes(kNodes)); }

  /// The extender whose ledger is compared with the API server's.
  virtual ExtenderProcess& witness() = 0;

  /// Repeats `times` times: load, fault, pause. Then every pod must be bound and the ledger must
  /// be correct. Reports how long after the fault's end the last pod was bound.
  void survive(const std::string& name, int times, const std::function<void()>& fault);

  /// Waits while the load runs: no event reports that enough has failed.
  void go_on(std::chrono::milliseconds time) {
    watcher_.wait([](const SeenPods&) { return false; }, time);
  }

  /// Blocks until `pods` more pods are bound, which shows that all programs work.
  bool wait_progress(int pods, std::chrono::milliseconds limit);

  static constexpr int kNodes = 24;  // 192 cards
  static constexpr int kPods = 60;   // 12 kinds that take about 0.8 cards each

  PodWatcher watcher_{*api_};

 private:
  std::string waiting();
};

}  // namespace tangram::e2e
