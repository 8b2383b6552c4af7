#include "node/container/host_files.hpp"

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

namespace tangram::node {
namespace {

class HostFilesTest : public ::testing::Test {
 protected:
  void put(const std::string& one, const std::string& two) {
    std::filesystem::create_directories(image_);
    ASSERT_TRUE(replace_file(from_[0], one));
    ASSERT_TRUE(replace_file(from_[1], two));
  }
  [[nodiscard]] Result<std::string> install() const { return install_on_host(from_, host_); }
  static std::string text(const std::string& folder, const std::string& name) {
    const auto read = read_file(folder + "/" + name);
    return read ? *read : "none";
  }

  testing::TempFolder folder_;
  const std::string image_ = folder_.path() + "/image";
  const std::string host_ = folder_.path() + "/host/lib";
  const std::vector<std::string> from_{image_ + "/one.so", image_ + "/two.so"};
};

TEST_F(HostFilesTest, CopiesAllToAFolderOfTheirContent) {
  put("one 1", "two 1");
  const auto first = install();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(text(*first, "one.so"), "one 1");
  EXPECT_EQ(text(*first, "two.so"), "two 1");
  EXPECT_EQ(*install(), *first);
}

TEST_F(HostFilesTest, AnUpgradeLeavesWhatContainersHaveMounted) {
  put("one 1", "two 1");
  const auto first = install();
  put("one 2", "two 1");
  const auto second = install();
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(text(*first, "one.so"), "one 1");
  EXPECT_EQ(text(*second, "one.so"), "one 2");
  EXPECT_EQ(text(*second, "two.so"), "two 1");
}

TEST_F(HostFilesTest, WhatIsInWhichFileCounts) {
  put("ab", "c");
  const auto first = install();
  put("a", "bc");
  EXPECT_NE(*install(), *first);
}

TEST_F(HostFilesTest, ACopyThatWasCutShortIsCompleted) {
  put("one 1", "two 1");
  const auto first = install();
  ASSERT_TRUE(replace_file(*first + "/one.so", "on"));
  ASSERT_TRUE(install());
  EXPECT_EQ(text(*first, "one.so"), "one 1");
}

TEST_F(HostFilesTest, AnybodyMayReadAndExecuteThemAndNobodyWrite) {
  put("one 1", "two 1");
  struct stat status {};
  ASSERT_EQ(stat((*install() + "/one.so").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0555U);
}

TEST_F(HostFilesTest, AnImageThatLacksOneSaysSo) {
  EXPECT_EQ(install().error().code, Errc::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(host_));
}

TEST_F(HostFilesTest, AFolderThatCannotBeMadeSaysSo) {
  put("one 1", "two 1");
  ASSERT_TRUE(replace_file(folder_.path() + "/file", ""));
  EXPECT_EQ(install_on_host(from_, folder_.path() + "/file/lib").error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace tangram::node
