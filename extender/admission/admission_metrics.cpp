#include "extender/admission/admission_metrics.hpp"

#include "base/metric_family.hpp"

#include <chrono>
#include <string>

namespace tangram::extender {

/// All series are made here, so that they are there from the first scrape on.
AdmissionMetrics::AdmissionMetrics() {
  auto& results = prometheus::BuildCounter()
                      .Name("tangram_admission_requests_total")
                      .Help("Requests of the API server to the admission webhook, by result.")
                      .Register(registry_);
  auto& durations =
      prometheus::BuildHistogram()
          .Name("tangram_admission_request_duration_seconds")
          .Help("Time to answer a request of the API server to the admission webhook.")
          .Register(registry_);
  for (std::size_t call = 0; call < kAdmissionCalls; ++call) {
    const std::string operation(to_string(static_cast<AdmissionCall>(call)));
    calls_.at(call).duration = &durations.Add({{"operation", operation}}, latency_buckets());
    for (std::size_t outcome = 0; outcome < kAdmissionOutcomes; ++outcome) {
      const std::string result(to_string(static_cast<AdmissionOutcome>(outcome)));
      calls_.at(call).results.at(outcome) =
          &results.Add({{"operation", operation}, {"result", result}});
    }
  }
}

void AdmissionMetrics::count(const AdmissionService::Done& done) {
  const OfCall& call = calls_.at(static_cast<std::size_t>(done.call));
  call.results.at(static_cast<std::size_t>(done.outcome))->Increment();
  call.duration->Observe(std::chrono::duration<double>(done.took).count());
}

}  // namespace tangram::extender
