#include "base/split.hpp"

#include <gtest/gtest.h>

namespace tangram {
namespace {

using Parts = std::vector<std::string>;

TEST(SplitTest, KeepsEmptyParts) {
  EXPECT_EQ(split("a,b", ','), (Parts{"a", "b"}));
  EXPECT_EQ(split(",a,,b,", ','), (Parts{"", "a", "", "b", ""}));
  EXPECT_EQ(split("a,b", ':'), Parts{"a,b"});
  EXPECT_EQ(split("", ','), Parts{""});
}

}  // namespace
}  // namespace tangram
