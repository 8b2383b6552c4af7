#include "node/vendor/nvidia/stand_in/driver_use.hpp"

#include "node/container/mapped_libraries.hpp"
#include "shim/pages.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tangram::node::nvidia {
namespace {

/// Two versions of the stand-in on the host, and processes in a /proc of the test's own.
class DriverUseTest : public ::testing::Test {
 protected:
  DriverUseTest() {
    for (const char* const version : {"old", "new"}) {
      const std::string folder = folder_.path() + "/lib/" + version;
      std::filesystem::create_directories(folder);
      std::ofstream(folder + "/libcuda.so.1") << version;
      identities_.push_back(mapped_identity(folder + "/libcuda.so.1").value());
    }
  }
  /// A process that has mapped these files.
  std::string without_stand_in(const std::vector<MappedFile>& mapped) {
    std::filesystem::create_directories(folder_.path() + "/proc/7");
    std::ofstream maps(folder_.path() + "/proc/7/maps");
    for (const auto& file : mapped) {
      maps << "7f00-7f01 r-xp 00000000 " << file.identity << "   " << file.path << "\n";
    }
    maps.close();
    const auto path = use_.without_stand_in(7);
    return path ? *path : path.error().message;
  }

  testing::TempFolder folder_;
  std::vector<std::string> identities_;
  DriverUse use_{folder_.path() + "/lib", folder_.path() + "/proc"};
};

const std::string kPlace = "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15";
const std::string kBehind{shim::kCudaPath};

TEST_F(DriverUseTest, AProcessWithAStandInOfAnyVersionHasNoOther) {
  for (const std::string& identity : identities_) {
    EXPECT_EQ(without_stand_in({{identity, kPlace}, {"08:01 5", kBehind}}), "");
  }
  EXPECT_EQ(without_stand_in({}), "") << "it has no driver library";
}

TEST_F(DriverUseTest, AnImagesOwnCompatibilityLibraryIsAnother) {
  const std::string compat = "/usr/local/cuda/compat/libcuda.so.570.10";
  EXPECT_EQ(without_stand_in({{"00:31 99", compat}}), compat);
  EXPECT_EQ(without_stand_in({{identities_[1], kPlace}, {"00:31 99", compat}}), compat);
}

TEST_F(DriverUseTest, TheDriversOwnByItsPathIsAnother) {
  EXPECT_EQ(without_stand_in({{"08:01 5", kBehind}}), kBehind);
}

TEST_F(DriverUseTest, AnotherFileInTheStandInsPlaceIsAnother) {
  EXPECT_EQ(without_stand_in({{"08:01 77", kPlace}}), kPlace);
}

TEST_F(DriverUseTest, WithoutStandInsOnTheHostNothingIsTold) {
  std::filesystem::create_directories(folder_.path() + "/proc/7");
  std::ofstream(folder_.path() + "/proc/7/maps") << "";
  DriverUse use(folder_.path() + "/none", folder_.path() + "/proc");
  const auto path = use.without_stand_in(7);
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, Errc::kUnavailable);
}

TEST_F(DriverUseTest, AnEndedProcessIsNotFound) {
  const auto path = use_.without_stand_in(8);
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace tangram::node::nvidia
