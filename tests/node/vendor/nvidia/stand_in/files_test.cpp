#include "node/vendor/nvidia/stand_in/files.hpp"

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node::nvidia {
namespace {

class StandInFilesTest : public ::testing::Test {
 protected:
  void put(const std::string& cuda, const std::string& nvml) {
    std::filesystem::create_directories(image_);
    ASSERT_TRUE(replace_file(image_ + "/libcuda.so.1", cuda));
    ASSERT_TRUE(replace_file(image_ + "/libnvidia-ml.so.1", nvml));
  }
  testing::TempFolder folder_;
  const std::string image_ = folder_.path() + "/image";
  const std::string host_ = folder_.path() + "/host/lib";
};

TEST_F(StandInFilesTest, CopiesBothUnderAPathOfTheirContent) {
  put("cuda 1", "nvml 1");
  const auto first = install_stand_ins(image_, host_);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*read_file(first->cuda), "cuda 1");
  EXPECT_EQ(*read_file(first->nvml), "nvml 1");
  const auto again = install_stand_ins(image_, host_);
  EXPECT_EQ(again->cuda, first->cuda);
}

TEST_F(StandInFilesTest, AnUpgradeLeavesWhatContainersHaveMounted) {
  put("cuda 1", "nvml 1");
  const auto first = install_stand_ins(image_, host_);
  put("cuda 2", "nvml 1");
  const auto second = install_stand_ins(image_, host_);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->cuda, second->cuda);
  EXPECT_NE(first->nvml, second->nvml);
  EXPECT_EQ(*read_file(first->cuda), "cuda 1");
  EXPECT_EQ(*read_file(second->cuda), "cuda 2");
}

TEST_F(StandInFilesTest, ACopyThatWasCutShortIsCompleted) {
  put("cuda 1", "nvml 1");
  const auto first = install_stand_ins(image_, host_);
  ASSERT_TRUE(replace_file(first->cuda, "cu"));
  ASSERT_TRUE(install_stand_ins(image_, host_));
  EXPECT_EQ(*read_file(first->cuda), "cuda 1");
}

TEST_F(StandInFilesTest, AnImageWithoutThemSaysSo) {
  EXPECT_EQ(install_stand_ins(image_, host_).error().code, Errc::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(host_));
}

TEST_F(StandInFilesTest, AFolderThatCannotBeMadeSaysSo) {
  put("cuda 1", "nvml 1");
  ASSERT_TRUE(replace_file(folder_.path() + "/file", ""));
  EXPECT_EQ(install_stand_ins(image_, folder_.path() + "/file/lib").error().code,
            Errc::kUnavailable);
}

}  // namespace
}  // namespace tangram::node::nvidia
