#include "node/cards/memory_means.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>

namespace tangram::node {
namespace {

using Means = model::MemoryLimits;

struct Row {
  std::string name;
  MemoryMeans available;
  std::optional<Means> most;  ///< the setting; nothing = auto
  Means expected;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class StrongestTest : public ::testing::TestWithParam<Row> {};

TEST_P(StrongestTest, IsAvailableAndNotAboveTheSetting) {
  EXPECT_EQ(strongest(GetParam().available, GetParam().most), GetParam().expected);
}

const MemoryMeans kNothing{};
const MemoryMeans kMpsAlone{Means::kMps};
const MemoryMeans kAll{Means::kMps, Means::kLibrary, Means::kDriver};
const MemoryMeans kNoLibrary{Means::kMps, Means::kDriver};

INSTANTIATE_TEST_SUITE_P(
    Rows, StrongestTest,
    ::testing::Values(Row{"AutoOfNothing", kNothing, {}, Means::kNone},
                      Row{"AutoOfMps", kMpsAlone, {}, Means::kMps},
                      Row{"AutoOfAll", kAll, {}, Means::kDriver},
                      Row{"NoneOfAll", kAll, Means::kNone, Means::kNone},
                      Row{"MpsOfAll", kAll, Means::kMps, Means::kMps},
                      Row{"LibraryOfAll", kAll, Means::kLibrary, Means::kLibrary},
                      Row{"DriverOfAll", kAll, Means::kDriver, Means::kDriver},
                      Row{"MpsOfNothing", kNothing, Means::kMps, Means::kNone},
                      Row{"LibraryThatIsNotThere", kNoLibrary, Means::kLibrary, Means::kMps},
                      Row{"DriverThatIsNotThere", kMpsAlone, Means::kDriver, Means::kMps}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tangram::node
