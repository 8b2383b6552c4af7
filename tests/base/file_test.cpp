#include "base/file.hpp"

#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
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

TEST(CreatePrivateFileTest, OnlyItsOwnerCanReadItAndNothingIsOverwritten) {
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/secret";
  ASSERT_TRUE(create_private_file(path, "one"));
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto again = create_private_file(path, "two");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::kConflict);
  EXPECT_EQ(*read_file(path), "one");
  const auto nowhere = create_private_file(folder.path() + "/no/folder", "x");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace tangram
