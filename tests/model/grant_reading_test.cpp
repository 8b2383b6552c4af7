#include "model/grant_reading.hpp"

#include <gtest/gtest.h>

namespace tangram::model {
namespace {

class GrantReadingTest : public ::testing::Test {
 protected:
  static Grant grant() {
    return {.pod_uid = "uid-p",
            .node = "n1",
            .issued_at = "2026-01-01T00:00:00Z",
            .isolation = Isolation::kMps,
            .containers = {{"main",
                            {{"GPU-1", Mebibytes(10), MilliGpu(20), Mebibytes(10), MilliGpu(20)}}}},
            .signature = {}};
  }
};

TEST_F(GrantReadingTest, AGrantOfItsOwnCounts) {
  const auto reading = read_grant(encode(grant()), "uid-p", "n1", signatures_not_checked());
  EXPECT_EQ(reading.grant, grant());
  EXPECT_EQ(reading.problem, "");
}

TEST_F(GrantReadingTest, SaysWhyAnotherDoesNot) {
  const auto of = [](const GrantReading& reading) {
    EXPECT_FALSE(reading.grant);
    return reading.problem;
  };
  EXPECT_EQ(of(read_grant(encode(grant()), "uid-q", "n1", signatures_not_checked())),
            R"(was issued to another pod, of UID "uid-p")");
  EXPECT_EQ(of(read_grant(encode(grant()), "uid-p", "n2", signatures_not_checked())),
            R"(was issued for another node, "n1")");
  EXPECT_EQ(of(read_grant("{", "uid-p", "n1", signatures_not_checked())).find("is not valid: "),
            0U);
  EXPECT_EQ(of(read_grant("", "uid-p", "n1", signatures_not_checked())).find("is not valid: "), 0U);
}

}  // namespace
}  // namespace tangram::model
