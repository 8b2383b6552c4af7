#include "cli/format.hpp"

#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

model::ContainerRequest request(int count, model::Share share) {
  return {.container = "main", .count = count, .share = share};
}

TEST(FormatTest, SharesReadAsTheirAnnotation) {
  EXPECT_EQ(share_text(MilliGpu(500)), "0.5");
  EXPECT_EQ(share_text(MilliGpu(333)), "0.333");
  EXPECT_EQ(share_text(MilliGpu(5)), "0.005");
  EXPECT_EQ(share_text(MilliGpu(1'000)), "1");
  EXPECT_EQ(share_text(MilliGpu(12'250)), "12.25");
  EXPECT_EQ(share_text(MilliGpu(0)), "0");
}

TEST(FormatTest, MemoryReadsAsItsAnnotation) {
  EXPECT_EQ(memory_text(Mebibytes(8'192)), "8Gi");
  EXPECT_EQ(memory_text(Mebibytes(81'559)), "81559Mi");
  EXPECT_EQ(memory_text(Mebibytes(0)), "0Mi");
}

TEST(FormatTest, RequestsSayHowManyCardsAndHowMuchOfEach) {
  model::Share half;
  half.form = model::ShareForm::kFraction;
  half.fraction = MilliGpu(500);
  model::Share memory;
  memory.form = model::ShareForm::kMemory;
  memory.memory = Mebibytes(8'192);
  EXPECT_EQ(request_text(request(1, half)), "0.5");
  EXPECT_EQ(request_text(request(2, half)), "2 × 0.5");
  EXPECT_EQ(request_text(request(1, memory)), "8Gi");
  EXPECT_EQ(request_text(request(1, {})), "1 card");
  EXPECT_EQ(request_text(request(2, {})), "2 cards");
  memory.compute = MilliGpu(300);
  EXPECT_EQ(request_text(request(1, memory)), "8Gi, 0.3");
  EXPECT_EQ(request_text(request(2, memory)), "2 × (8Gi, 0.3)");
  model::GpuRequest two;
  two.containers = {request(1, half), {.container = "side", .count = 1, .share = memory}};
  EXPECT_EQ(request_text(two), "main 0.5 + side 8Gi, 0.3");
  EXPECT_EQ(request_text(model::GpuRequest{}), "");
}

TEST(FormatTest, GrantsAddUpEqualCards) {
  const auto card = [](std::string uuid, std::int64_t mib, std::int64_t milli) {
    return model::GrantedCard{.uuid = std::move(uuid),
                              .memory = Mebibytes(mib),
                              .compute = MilliGpu(milli),
                              .memory_limit = Mebibytes(mib),
                              .compute_limit = MilliGpu(milli)};
  };
  EXPECT_EQ(grant_text({}), "");
  EXPECT_EQ(grant_text({{"main", {card("a", 40'960, 500)}}}), "40Gi, 0.5");
  EXPECT_EQ(grant_text({{"main", {card("a", 40'960, 500), card("b", 40'960, 500)}},
                        {"side", {card("a", 1'000, 100)}}}),
            "2 × (40Gi, 0.5) + 1000Mi, 0.1");
}

TEST(FormatTest, CountsAndLists) {
  EXPECT_EQ(counted(1, "pod"), "1 pod");
  EXPECT_EQ(counted(0, "pod"), "0 pods");
  EXPECT_EQ(joined({"a", "b"}), "a, b");
  EXPECT_EQ(joined({}), "");
}

}  // namespace
}  // namespace tangram::cli
