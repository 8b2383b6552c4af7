#include "base/quantity.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace tangram {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct ReadCase {
  std::string name;
  std::string text;
  std::int64_t milli;  ///< rounded up
  std::int64_t units;  ///< rounded up
  bool whole_milli = true;
};

class QuantityReadTest : public ::testing::TestWithParam<ReadCase> {};

TEST_P(QuantityReadTest, ReadsAsKubernetesDoes) {
  const auto quantity = KubeQuantity::parse(GetParam().text);
  ASSERT_TRUE(quantity) << quantity.error().message;
  EXPECT_EQ(quantity->milli_ceil(), GetParam().milli);
  EXPECT_EQ(quantity->units_ceil(), GetParam().units);
  EXPECT_EQ(quantity->is_whole_milli(), GetParam().whole_milli);
}

INSTANTIATE_TEST_SUITE_P(
    All, QuantityReadTest,
    ::testing::Values(ReadCase{"Zero", "0", 0, 0}, ReadCase{"MinusZero", "-0", 0, 0},
                      ReadCase{"Whole", "2", 2000, 2}, ReadCase{"Plus", "+2", 2000, 2},
                      ReadCase{"Milli", "500m", 500, 1}, ReadCase{"Decimal", "0.5", 500, 1},
                      ReadCase{"NoWholePart", ".5", 500, 1}, ReadCase{"NoDecimals", "5.", 5000, 5},
                      ReadCase{"LeadingZeros", "0002", 2000, 2},
                      ReadCase{"Nano", "1n", 1, 1, false},
                      ReadCase{"Micro", "1500u", 2, 1, false},  // 1.5 thousandths
                      ReadCase{"FinerThanNano", "0.0000000001", 1, 1, false},
                      ReadCase{"FinerButZero", "1.0000000000", 1000, 1},
                      ReadCase{"Kilo", "1k", 1'000'000, 1000},
                      ReadCase{"Kibi", "1Ki", 1'024'000, 1024},
                      ReadCase{"DecimalMega", "1.5M", 1'500'000'000, 1'500'000},
                      ReadCase{"Exponent", "1e3", 1'000'000, 1000},
                      ReadCase{"BigExponent", "2E3", 2'000'000, 2000},
                      ReadCase{"PlusExponent", "1e+3", 1'000'000, 1000},
                      ReadCase{"MinusExponent", "5e-1", 500, 1},
                      ReadCase{"DecimalExponent", "1.25e1", 12'500, 13},
                      ReadCase{"Exa", "1E", kMost, 1'000'000'000'000'000'000},  // milli is capped
                      ReadCase{"Exbi", "7Ei", kMost, 7 * (std::int64_t{1} << 60)},
                      ReadCase{"Most", "9223372036854775807", kMost, kMost},
                      ReadCase{"ManyZeros", std::string(500, '0') + "7", 7000, 7}),
    [](const auto& row) { return row.param.name; });

struct MemoryCase {
  std::string name;
  std::string text;
  std::int64_t ceil;
  std::int64_t floor;
};

class QuantityMemoryTest : public ::testing::TestWithParam<MemoryCase> {};

TEST_P(QuantityMemoryTest, RoundsTheWayTheCallSays) {
  const auto quantity = KubeQuantity::parse(GetParam().text);
  ASSERT_TRUE(quantity) << quantity.error().message;
  EXPECT_EQ(quantity->mebibytes_ceil(), Mebibytes(GetParam().ceil));
  EXPECT_EQ(quantity->mebibytes_floor(), Mebibytes(GetParam().floor));
}

INSTANTIATE_TEST_SUITE_P(
    All, QuantityMemoryTest,
    ::testing::Values(MemoryCase{"Exact", "8Gi", 8192, 8192},
                      MemoryCase{"OneByteMore", "8589934593", 8193, 8192},
                      MemoryCase{"OneByteLess", "8589934591", 8192, 8191},
                      MemoryCase{"OneByte", "1", 1, 0},
                      MemoryCase{"OneNanoMore", "1048576.000000001", 2, 1},
                      MemoryCase{"DecimalUnit", "8G", 7630, 7629},  // 8e9 / 2^20 = 7629.39
                      MemoryCase{"HalfGibi", "0.5Gi", 512, 512},
                      MemoryCase{"Most", "9223372036854775807", std::int64_t{1} << 43,
                                 (std::int64_t{1} << 43) - 1}),
    [](const auto& row) { return row.param.name; });

struct RefusedCase {
  std::string name;
  std::string text;
  std::string says;
};

class QuantityRefusedTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(QuantityRefusedTest, SaysWhatToWrite) {
  const auto quantity = KubeQuantity::parse(GetParam().text);
  ASSERT_FALSE(quantity);
  EXPECT_EQ(quantity.error().code, Errc::kInvalidArgument);
  EXPECT_NE(quantity.error().message.find(GetParam().says), std::string::npos)
      << quantity.error().message;
  EXPECT_LE(quantity.error().message.size(), 200U);
}

INSTANTIATE_TEST_SUITE_P(
    All, QuantityRefusedTest,
    ::testing::Values(RefusedCase{"Empty", "", "is not a quantity; write a number"},
                      RefusedCase{"Point", ".", "is not a quantity"},
                      RefusedCase{"Sign", "-", "is not a quantity"},
                      RefusedCase{"TwoSigns", "--1", "is not a quantity"},
                      RefusedCase{"UnitAlone", "Gi", "is not a quantity"},
                      RefusedCase{"UnknownUnit", "8GB", "\"8GB\" is not a quantity"},
                      RefusedCase{"LowerGibi", "8gi", "is not a quantity"},
                      RefusedCase{"UpperKilo", "8K", "is not a quantity"},
                      RefusedCase{"Space", "8 Gi", "is not a quantity"},
                      RefusedCase{"SpaceBefore", " 8", "is not a quantity"},
                      RefusedCase{"TwoPoints", "1.2.3", "is not a quantity"},
                      RefusedCase{"Hex", "0x10", "is not a quantity"},
                      RefusedCase{"Nan", "nan", "is not a quantity"},
                      RefusedCase{"Infinity", "inf", "is not a quantity"},
                      RefusedCase{"UnfinishedExponent", "1e", "is not a quantity"},
                      RefusedCase{"SignedEmptyExponent", "1e-", "is not a quantity"},
                      RefusedCase{"HugeExponent", "1e99", "is not a quantity"},
                      RefusedCase{"ExponentAndUnit", "1e3Gi", "is not a quantity"},
                      RefusedCase{"ZeroByte", std::string("8\0", 2), R"("8\x00" is not)"},
                      RefusedCase{"Negative", "-1Gi", "is negative; write 0 or more"},
                      RefusedCase{"NegativeNano", "-1n", "is negative"},
                      RefusedCase{"OneTooMany", "9223372036854775808", "is too large"},
                      RefusedCase{"EightExbi", "8Ei", "is too large"},
                      RefusedCase{"TenExa", "10E", "is too large"},
                      RefusedCase{"ManyDigits", std::string(10'000, '9'), "9...\" is too large"}),
    [](const auto& row) { return row.param.name; });

TEST(QuantityTest, OrdersByAmountNotByText) {
  EXPECT_EQ(*KubeQuantity::parse("1000m"), *KubeQuantity::parse("1"));
  EXPECT_LT(*KubeQuantity::parse("1G"), *KubeQuantity::parse("1Gi"));
  EXPECT_TRUE(KubeQuantity().is_zero());
  EXPECT_FALSE(KubeQuantity::parse("1n")->is_zero());
}

TEST(QuantityTest, RandomMilliRoundTripsAndRoundingBracketsIt) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 5000; ++i) {
    const std::int64_t nanos = static_cast<std::int64_t>(random() >> (1 + random() % 60));
    const auto quantity = KubeQuantity::parse(std::to_string(nanos) + "n");
    ASSERT_TRUE(quantity) << nanos;
    EXPECT_EQ(*quantity, KubeQuantity(nanos));
    EXPECT_EQ(quantity->milli_floor(), nanos / 1'000'000) << nanos;
    EXPECT_EQ(quantity->milli_ceil(), nanos / 1'000'000 + (nanos % 1'000'000 == 0 ? 0 : 1))
        << nanos;
  }
}

}  // namespace
}  // namespace tangram
