#include "base/folder.hpp"

#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tangram {
namespace {

namespace fs = std::filesystem;

TEST(RemoveAllButTest, RemovesFilesAndFoldersOfOtherNames) {
  const testing::TempFolder folder;
  for (const char* name : {"/a", "/b/c"}) {
    fs::create_directories(folder.path() + name);
    std::ofstream(folder.path() + name + "/file") << "text";
  }
  std::ofstream(folder.path() + "/d") << "text";
  remove_all_but(folder.path(), {"a", "e"});
  EXPECT_TRUE(fs::exists(folder.path() + "/a/file"));
  EXPECT_FALSE(fs::exists(folder.path() + "/b"));
  EXPECT_FALSE(fs::exists(folder.path() + "/d"));
  remove_all_but(folder.path() + "/none", {});
  EXPECT_FALSE(fs::exists(folder.path() + "/none"));
}

}  // namespace
}  // namespace tangram
