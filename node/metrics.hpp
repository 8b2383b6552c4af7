#pragma once

#include "node/readings.hpp"

#include <prometheus/collectable.h>

#include <functional>
#include <utility>
#include <vector>

namespace tangram::node {

/// GET /metrics of a node, read at every scrape. Some dozens of series, and some for each card and
/// each GPU pod of the node.
class NodeMetrics final : public prometheus::Collectable {
 public:
  explicit NodeMetrics(std::function<Readings()> read) : read_(std::move(read)) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::function<Readings()> read_;
};

}  // namespace tangram::node
