#include "tests/deploy/metrics_page.hpp"

#include "base/file.hpp"
#include "source_dir.hpp"

#include <gtest/gtest.h>

namespace tangram::testing {
namespace {

TEST(MetricsPageTest, IsWhatTheProgramsSayOfThemselves) {
  const auto page = read_file(TANGRAM_SOURCE_DIR "/docs/metrics.md");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(*page, metrics_page()) << "run scripts/generate/reference";
}

TEST(MetricsPageTest, ShowsLabelsWithTheValuesThatTangramGivesThem) {
  const std::string page = metrics_page();
  EXPECT_NE(page.find("| `tangram_card_pods` | gauge | node; uuid; model; card | "),
            std::string::npos);
  EXPECT_NE(page.find("| verb: bind, filter, preempt, prioritize |"), std::string::npos);
  EXPECT_NE(page.find("| namespace; pod; uuid; isolation: mps, none, time-slice, whole; limit: "
                      "compute, memory |"),
            std::string::npos);
}

}  // namespace
}  // namespace tangram::testing
