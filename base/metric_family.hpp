#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

namespace tangram {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;
using MetricFamilies = std::vector<prometheus::MetricFamily>;

/// Of the time to answer a request, in seconds: from a cached filter of a small cluster to
/// kube-scheduler's own time-out of 5 s.
[[nodiscard]] inline std::vector<double> latency_buckets() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
          0.05,   0.1,     0.25,   0.5,   1,      2.5,   5};
}

/// One metric with its values at the moment of a scrape, for a prometheus::Collectable.
class MetricFamily {
 public:
  static MetricFamily gauge(const char* name, const char* help) {
    return {name, help, prometheus::MetricType::Gauge};
  }
  static MetricFamily counter(const char* name, const char* help) {
    return {name, help, prometheus::MetricType::Counter};
  }

  template <class Number>
  MetricFamily& add(MetricLabels labels, Number value) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    (family_.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) =
        static_cast<double>(value);
    family_.metric.push_back(std::move(metric));
    return *this;
  }
  /// A family without values is left out.
  void into(MetricFamilies& all) {
    if (!family_.metric.empty()) all.push_back(std::move(family_));
  }

 private:
  MetricFamily(const char* name, const char* help, prometheus::MetricType type)
      : family_{name, help, type, {}} {}

  prometheus::MetricFamily family_;
};

}  // namespace tangram
