#include "node/metrics.hpp"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <string>

namespace tangram::node {
namespace {

std::string text_of(const Readings& readings) {
  return prometheus::TextSerializer().Serialize(NodeMetrics([&] { return readings; }).Collect());
}

bool has_line(const std::string& text, const std::string& line) {
  return ('\n' + text).find('\n' + line + '\n') != std::string::npos;
}

TEST(NodeMetricsTest, NameTheMeansOfMemoryLimitsOfEachCard) {
  Readings now;
  for (const model::MemoryLimits means : model::kAllMemoryLimits) {
    CardReading reading;
    reading.card.id = "GPU-" + std::string(to_string(means));
    reading.card.memory_limits = means;
    now.cards.push_back(reading);
  }
  const std::string text = text_of(now);
  for (const std::string means : {"none", "mps", "library", "driver"}) {
    EXPECT_TRUE(has_line(text, "tangram_node_card_memory_limits{uuid=\"GPU-" + means +
                                   "\",means=\"" + means + "\"} 1"))
        << text;
  }
}

TEST(NodeMetricsTest, ADaemonThatLimitsComputeAloneIsUpAndEnforcesNoMemory) {
  Readings now;
  now.pods = {{.ns = "ml",
               .pod = "p",
               .card = "GPU-a",
               .isolation = "mps",
               .memory_held_by = Holder::kNobody,
               .compute_held_by = Holder::kServer}};
  const std::string text = text_of(now);
  EXPECT_TRUE(has_line(text, R"(tangram_node_card_daemon_up{uuid="GPU-a"} 1)")) << text;
  const std::string enforced =
      R"(tangram_node_pod_limit_enforced{namespace="ml",pod="p",uuid="GPU-a",isolation="mps",)";
  EXPECT_TRUE(has_line(text, enforced + R"(limit="memory"} 0)")) << text;
  EXPECT_TRUE(has_line(text, enforced + R"(limit="compute"} 1)")) << text;
}

}  // namespace
}  // namespace tangram::node
