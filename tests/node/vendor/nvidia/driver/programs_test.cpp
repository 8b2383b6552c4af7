#include "node/vendor/nvidia/driver/programs.hpp"

#include "tests/node/vendor/nvidia/driver/host.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tangram::node::nvidia {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class DriverProgramsTest : public ::testing::Test {
 protected:
  DriverProgramsTest() {
    host_.install_driver("/run/nvidia/driver");
    script("/run/nvidia/driver/usr/bin/nvidia-smi");
  }
  /// Tells by what name it was started, and where it finds libraries and programs.
  void script(const std::string& path) const {
    host_.write(path, "#!/bin/sh\necho \"$0 $1 $LD_LIBRARY_PATH $PATH\"\n");
    fs::permissions(host_.root() + path, fs::perms::owner_all);
  }
  [[nodiscard]] std::string folder() const { return host_.root() + "/run/tangram/driver"; }

  DriverHost host_;
  DriverPrograms programs_{
      std::make_unique<SystemPrograms>(), Root(host_.root()), {"/run/nvidia/driver"}, folder()};
};

TEST_F(DriverProgramsTest, RunWithLinksToTheDriversFilesAlone) {
  for (int again = 0; again < 2; ++again) {
    const auto end = programs_.run({{"nvidia-smi", "-L"}, {}, {}}, 10s);
    ASSERT_TRUE(end) << end.error().message;
    const std::string place = folder() + "/550.163.01";
    EXPECT_EQ(end->output.find(place + "/bin/nvidia-smi -L " + place + "/lib"), 0U) << end->output;
    EXPECT_NE(end->output.find(" " + place + "/bin:"), std::string::npos) << end->output;
    EXPECT_EQ(fs::read_symlink(place + "/lib/libcuda.so.1").string(),
              host_.root() + "/run/nvidia/driver/usr/lib64/libcuda.so.550.163.01");
  }
}

TEST_F(DriverProgramsTest, ALauncherMayStandBefore) {
  const auto end = programs_.run({{"env", "nvidia-smi", "x"}, {}, {}}, 10s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output.find(folder() + "/550.163.01/bin/nvidia-smi x"), 0U) << end->output;
}

TEST_F(DriverProgramsTest, FollowADriverThatIsReplaced) {
  ASSERT_TRUE(programs_.run({{"nvidia-smi"}, {}, {}}, 10s));
  host_.write("/sys/module/nvidia/version", "570.1.2\n");
  host_.install_driver("/run/nvidia/driver", "570.1.2");
  script("/run/nvidia/driver/usr/bin/nvidia-smi");
  const auto end = programs_.run({{"nvidia-smi"}, {}, {}}, 10s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output.find(folder() + "/570.1.2/bin/nvidia-smi"), 0U) << end->output;
}

TEST_F(DriverProgramsTest, OthersAreLookedForInPath) {
  const auto other = programs_.run({{"sh", "-c", "echo $LD_LIBRARY_PATH"}, {}, {}}, 10s);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->output.find(folder()), std::string::npos);
  EXPECT_EQ(programs_.run({{"nvidia-none"}, {}, {}}, 10s).error().code, Errc::kNotFound);
  ASSERT_TRUE(programs_.has("nvidia-smi"));
  fs::remove(host_.root() + "/sys/module/nvidia/version");
  EXPECT_FALSE(programs_.has("nvidia-smi")) << "no driver runs";
  const auto end = programs_.run({{"env", "nvidia-smi", "x"}, {}, {}}, 10s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output.find(folder()), std::string::npos) << end->output;
}

TEST_F(DriverProgramsTest, AreThoseOfTheKernelsDriver) {
  EXPECT_TRUE(programs_.has("nvidia-cuda-mps-control"));
  EXPECT_FALSE(programs_.has("nvidia-cuda-mps-server"));
}

}  // namespace
}  // namespace tangram::node::nvidia
