#include "base/file.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace tangram {
namespace {

TEST(ReadFileTest, ReadsByteForByte) {
  const std::string path = ::testing::TempDir() + "tangram_read_file_test";
  const std::string bytes("a\r\n\0b", 5);
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(*read_file(path), bytes);
  std::ofstream(path, std::ios::trunc).close();
  EXPECT_EQ(*read_file(path), "");
}

TEST(ReadFileTest, SaysWhichFileCannotBeRead) {
  for (const std::string path : {"/nowhere/at/all", "/tmp"}) {
    const auto text = read_file(path);
    ASSERT_FALSE(text.has_value()) << path;
    EXPECT_EQ(text.error().code, Errc::kNotFound);
    EXPECT_EQ(text.error().message, path + ": cannot be read; check the path and its rights");
  }
}

}  // namespace
}  // namespace tangram
