#include "node/vendor/nvidia/driver/installed.hpp"

#include "tests/node/vendor/nvidia/driver/host.hpp"

#include <gtest/gtest.h>

namespace tangram::node::nvidia {
namespace {

using Files = std::map<std::string, std::string, std::less<>>;

class RootTest : public ::testing::Test {
 protected:
  DriverHost host_;
  Root root_{host_.root()};
};

TEST_F(RootTest, FollowsLinksAsWhoeverHasItAsRoot) {
  host_.write("/usr/lib64/x.so.1");
  host_.link("/lib64", "usr/lib64");
  host_.link("/etc/alternatives/x", "/usr/lib64/x.so.1");
  host_.link("/usr/lib64/x.so", "../../../../etc/alternatives/x");
  EXPECT_EQ(root_.resolve("/lib64/x.so"), "/usr/lib64/x.so.1");
  EXPECT_EQ(root_.resolve("/usr/./lib64//../lib64/x.so.1"), "/usr/lib64/x.so.1");
  EXPECT_EQ(root_.resolve("/"), "/");
}

TEST_F(RootTest, ALinkLeadsNeverOutOfIt) {
  host_.link("/out", "/../../../../../../../../../../etc/hostname");
  host_.link("/round", "/round");
  EXPECT_EQ(root_.resolve("/out"), std::nullopt);
  EXPECT_EQ(root_.resolve("/round"), std::nullopt);
  EXPECT_EQ(root_.resolve("/none/x"), std::nullopt);
  EXPECT_TRUE(root_.names_in("/none").empty());
}

class InstalledDriverTest : public ::testing::Test {
 protected:
  [[nodiscard]] Result<InstalledDriver> find(const std::vector<std::string>& places = {
                                                 "/run/nvidia/driver", "/"}) const {
    return find_driver(Root(host_.root()), places);
  }
  DriverHost host_;
};

TEST_F(InstalledDriverTest, HasEachLibraryUnderTheNamesThatProgramsLoad) {
  host_.install_driver("");
  const auto driver = find();
  ASSERT_TRUE(driver) << driver.error().message;
  EXPECT_EQ(driver->root, "/");
  EXPECT_EQ(driver->version, "550.163.01");
  const std::string lib = "/usr/lib64/";
  EXPECT_EQ(
      driver->libraries,
      (Files{{"libcuda.so", lib + "libcuda.so.550.163.01"},
             {"libcuda.so.1", lib + "libcuda.so.550.163.01"},
             {"libcuda.so.550.163.01", lib + "libcuda.so.550.163.01"},
             {"libnvidia-ml.so.1", lib + "libnvidia-ml.so.550.163.01"},
             {"libnvidia-ml.so.550.163.01", lib + "libnvidia-ml.so.550.163.01"},
             {"libnvidia-ptxjitcompiler.so.1", lib + "libnvidia-ptxjitcompiler.so.550.163.01"},
             {"libnvidia-ptxjitcompiler.so.550.163.01",
              lib + "libnvidia-ptxjitcompiler.so.550.163.01"}}));
  EXPECT_EQ(driver->programs,
            (Files{{"nvidia-cuda-mps-control", "/usr/bin/nvidia-cuda-mps-control"},
                   {"nvidia-smi", "/usr/bin/nvidia-smi"}}));
}

/// A driver container beside packages that an earlier installation has left on the host.
TEST_F(InstalledDriverTest, IsTheOneThatTheKernelRuns) {
  host_.install_driver("/run/nvidia/driver", "535.1.2");
  host_.install_driver("", "550.163.01");
  EXPECT_EQ(find()->root, "/");
  host_.write("/sys/module/nvidia/version", "535.1.2\n");
  const auto driver = find();
  ASSERT_TRUE(driver) << driver.error().message;
  EXPECT_EQ(driver->root, "/run/nvidia/driver");
  EXPECT_EQ(driver->libraries.at("libcuda.so.1"),
            "/run/nvidia/driver/usr/lib64/libcuda.so.535.1.2");
  EXPECT_EQ(driver->programs.at("nvidia-smi"), "/run/nvidia/driver/usr/bin/nvidia-smi");
}

TEST_F(InstalledDriverTest, LinksOfADriverContainerLeadIntoIt) {
  const std::string place = "/run/nvidia/driver";
  host_.install_libraries(place + "/usr/lib/x86_64-linux-gnu/nvidia/current");
  host_.link(place + "/etc/alternatives/cuda",
             "/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1");
  host_.link(place + "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/etc/alternatives/cuda");
  const auto driver = find();
  ASSERT_TRUE(driver) << driver.error().message;
  EXPECT_EQ(driver->libraries.at("libcuda.so.1"),
            place + "/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.550.163.01");
}

/// Google's COS, Talos and Bottlerocket.
TEST_F(InstalledDriverTest, IsFoundWhereOtherSystemsHaveIt) {
  for (const std::string folder :
       {"/home/kubernetes/bin/nvidia/lib64", "/usr/local/glibc/lib", "/usr/local/glibc/usr/lib64",
        "/x86_64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla"}) {
    const DriverHost host;
    host.install_libraries(folder);
    const auto driver = find_driver(Root(host.root()), usual_driver_roots());
    ASSERT_TRUE(driver) << folder << ": " << driver.error().message;
    EXPECT_EQ(driver->libraries.at("libcuda.so.1"), folder + "/libcuda.so.550.163.01");
  }
}

/// NixOS: a folder of absolute links into the store.
TEST_F(InstalledDriverTest, LinksOfAFolderOfLinksLeadWhereTheyLeadOnTheHost) {
  const std::string store = "/nix/store/abc-nvidia/lib";
  host_.install_libraries(store);
  for (const std::string library : {"libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler"}) {
    const std::string name = "/" + library + ".so.1";
    host_.link("/run/opengl-driver/lib" + name, store + name);
  }
  const auto driver = find({"/run/opengl-driver"});
  ASSERT_TRUE(driver) << driver.error().message;
  EXPECT_EQ(driver->libraries.at("libcuda.so.1"), store + "/libcuda.so.550.163.01");
  EXPECT_EQ(driver->libraries.at("libcuda.so.550.163.01"), store + "/libcuda.so.550.163.01");
}

TEST_F(InstalledDriverTest, DoesNotCountWhileItIsBeingInstalled) {
  host_.install("/run/nvidia/driver/usr/lib64", "libcuda");
  EXPECT_EQ(find().error().code, Errc::kNotFound);
  host_.install_driver("");
  EXPECT_EQ(find()->root, "/");
}

/// A runfile's and a package's, say: the names of one library lead to one file.
TEST_F(InstalledDriverTest, OfTwoCopiesTheFirstFolderCounts) {
  host_.install_libraries("/usr/lib64");
  host_.install_libraries("/usr/lib/x86_64-linux-gnu");
  std::filesystem::remove(host_.root() + "/usr/lib64/libcuda.so");
  const auto libraries = find()->libraries;
  EXPECT_EQ(libraries.at("libcuda.so.1"), "/usr/lib64/libcuda.so.550.163.01");
  EXPECT_FALSE(libraries.contains("libcuda.so"));
}

TEST_F(InstalledDriverTest, LeavesOutGraphicsAndLibrariesFor32Bits) {
  host_.install_driver("");
  for (const char* const library : {"libnvidia-glcore", "libnvidia-egl-wayland", "libGLX_nvidia"}) {
    host_.install("/usr/lib64", library);
  }
  host_.install("/usr/lib64", "libnvcuvid");
  host_.write("/usr/lib/libnvidia-nvvm.so.550.163.01",
              "\x7f"
              "ELF\x01\x01");
  const auto libraries = find()->libraries;
  EXPECT_EQ(libraries.size(), 9U);
  EXPECT_TRUE(libraries.contains("libnvcuvid.so.1"));
}

TEST_F(InstalledDriverTest, SaysWhereItLooked) {
  const auto none = find();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::kNotFound);
  EXPECT_EQ(none.error().message,
            "no place has all files of driver 550.163.01, which the kernel runs; looked in "
            "/run/nvidia/driver, /");
  std::filesystem::remove(host_.root() + "/sys/module/nvidia/version");
  EXPECT_NE(find().error().message.find("has not loaded NVIDIA's driver"), std::string::npos);
}

TEST_F(InstalledDriverTest, ACardHasTheMinorNumberThatTheDriverShows) {
  host_.add_card("GPU-a", 0);
  host_.add_card("GPU-b", 7);
  EXPECT_EQ(device_minor(Root(host_.root()), "GPU-b").value(), 7);
  EXPECT_EQ(device_minor(Root(host_.root()), "GPU-").error().code, Errc::kNotFound);
  EXPECT_EQ(device_minor(Root("/none"), "GPU-b").error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace tangram::node::nvidia
