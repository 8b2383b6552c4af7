#include "node/vendor/nvidia/cdi.hpp"

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node::nvidia {
namespace {

// The form that `nvidia-ctk cdi generate` writes, shortened.
constexpr const char* kGenerated = R"(---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: GPU-1
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
      hostPath: /dev/nvidia0
- name: GPU-2
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia1
- name: all
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/nvidia1
containerEdits:
  env:
  - NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64
  deviceNodes:
  - path: /dev/nvidiactl
  hooks:
  - hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
    args: [nvidia-cdi-hook, update-ldcache]
)";

class NvidiaCdiTest : public ::testing::Test {
 protected:
  NvidiaCdiTest() {
    for (const auto& path : folders) std::filesystem::create_directories(path);
  }
  void write(std::size_t which, const std::string& name, const std::string& text) {
    ASSERT_TRUE(replace_file(folders.at(which) + "/" + name, text));
  }
  testing::TempFolder folder;
  std::vector<std::string> folders{folder.path() + "/etc", folder.path() + "/run"};
};

TEST_F(NvidiaCdiTest, DrawsWhatTheCardsAndAllOfThemNeed) {
  write(0, "nvidia.yaml", kGenerated);
  const auto one = cdi_edits(folders, {"GPU-2"});
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->cdi_version, "0.5.0");
  EXPECT_EQ(one->lists.at("deviceNodes"), (std::vector<std::string>{R"({"path":"/dev/nvidiactl"})",
                                                                    R"({"path":"/dev/nvidia1"})"}));
  EXPECT_EQ(one->lists.at("env"),
            std::vector<std::string>{R"("NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64")"});
  EXPECT_EQ(one->lists.at("hooks").size(), 1U);
  const auto two = cdi_edits(folders, {"GPU-1", "GPU-2"});
  EXPECT_EQ(two->lists.at("deviceNodes").size(), 3U) << "what is common stands there once";
}

TEST_F(NvidiaCdiTest, EachCardHasTheSameByItself) {
  write(0, "nvidia.yaml", kGenerated);
  const auto each = cdi_edits_of_each(folders, {"GPU-1", "GPU-2", "GPU-9"});
  ASSERT_TRUE(each) << each.error().message;
  EXPECT_EQ(each->at("GPU-1").lists, cdi_edits(folders, {"GPU-1"})->lists);
  EXPECT_EQ(each->at("GPU-2").lists, cdi_edits(folders, {"GPU-2"})->lists);
  EXPECT_TRUE(each->at("GPU-9").lists.empty());
}

TEST_F(NvidiaCdiTest, WithoutASpecForEveryCardThereIsNothing) {
  EXPECT_EQ(*cdi_edits(folders, {"GPU-1"}), CdiEdits{});
  write(0, "nvidia.yaml", kGenerated);
  EXPECT_EQ(*cdi_edits(folders, {"GPU-1", "GPU-9"}), CdiEdits{});
}

TEST_F(NvidiaCdiTest, TheLaterFolderWins) {
  write(0, "nvidia.yaml", kGenerated);
  write(1, "nvidia.json",
        R"({"cdiVersion":"0.3.0","kind":"nvidia.com/gpu","devices":[{"name":"GPU-1",)"
        R"("containerEdits":{"env":["FROM=run"]}}]})");
  EXPECT_EQ(cdi_edits(folders, {"GPU-1"})->lists.at("env"),
            std::vector<std::string>{R"("FROM=run")"});
}

TEST_F(NvidiaCdiTest, OtherVendorsAndOtherFilesDoNotMatter) {
  write(0, "other.json",
        R"({"kind":"example.com/gpu","note":"not nvidia.com/gpu",)"
        R"("devices":[{"name":"GPU-1","containerEdits":{}}]})");
  write(0, "broken.json", "{");
  write(0, "notes.txt", "nvidia.com/gpu");
  const auto drawn = cdi_edits(folders, {"GPU-1"});
  ASSERT_TRUE(drawn) << drawn.error().message;
  EXPECT_EQ(*drawn, CdiEdits{});
}

TEST_F(NvidiaCdiTest, ABrokenSpecOfNvidiasIsNamed) {
  write(0, "nvidia.json", R"({"kind":"nvidia.com/gpu")");
  const auto drawn = cdi_edits(folders, {"GPU-1"});
  ASSERT_FALSE(drawn);
  EXPECT_NE(drawn.error().message.find("/etc/nvidia.json: "), std::string::npos);
}

}  // namespace
}  // namespace tangram::node::nvidia
