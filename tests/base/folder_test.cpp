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

TEST(ConfigMapFilesTest, ListsFilesAndLeavesOutKubernetesOwn) {
  const testing::TempFolder folder;
  fs::create_directories(folder.path() + "/..2026_01_31");
  fs::create_directories(folder.path() + "/folder");
  std::ofstream(folder.path() + "/..2026_01_31/t4") << "text";
  // As kubelet mounts it.
  fs::create_symlink("..2026_01_31", folder.path() + "/..data");
  fs::create_symlink("..data/t4", folder.path() + "/t4");
  EXPECT_EQ(config_map_files(folder.path()).value(), (std::set<std::string>{"t4"}));
  const auto missing = config_map_files(folder.path() + "/none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::kUnavailable);
  EXPECT_NE(missing.error().message.find(folder.path() + "/none: "), std::string::npos);
}

}  // namespace
}  // namespace tangram
