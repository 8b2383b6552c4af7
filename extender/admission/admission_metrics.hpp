#pragma once

#include "extender/admission/service.hpp"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <vector>

namespace tangram::extender {

/// What the admission webhook has answered, as metrics. Threads: safe.
class AdmissionMetrics final : public prometheus::Collectable {
 public:
  AdmissionMetrics();
  void count(const AdmissionService::Done& done);
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    return registry_.Collect();
  }

 private:
  struct OfCall {
    prometheus::Histogram* duration = nullptr;
    std::array<prometheus::Counter*, kAdmissionOutcomes> results{};
  };
  prometheus::Registry registry_;
  std::array<OfCall, kAdmissionCalls> calls_{};
};

}  // namespace tangram::extender
