#include "node/vendor/nvidia/card_edits.hpp"

#include "node/vendor/nvidia/stand_in/edits.hpp"
#include "tests/node/vendor/nvidia/driver/host.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

namespace tangram::node::nvidia {
namespace {

using List = std::vector<std::string>;

class CardEditsTest : public ::testing::Test {
 protected:
  CardEditsTest() {
    host_.install_driver("/run/nvidia/driver");
    host_.add_nodes();
    host_.add_card("GPU-a", 0);
    host_.add_card("GPU-b", 1);
  }
  [[nodiscard]] CardEdits edits() const {
    return {{host_.root() + "/etc/cdi"}, {.host_root = host_.root()}};
  }
  DriverHost host_;
};

TEST_F(CardEditsTest, AreMadeOfTheDriversFilesWhereNvidiaHasNoSpec) {
  const auto both = edits().of({"GPU-b", "GPU-a"});
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->lists.at("deviceNodes"),
            (List{R"({"path":"/dev/nvidiactl"})", R"({"path":"/dev/nvidia-uvm"})",
                  R"({"path":"/dev/nvidia1"})", R"({"path":"/dev/nvidia0"})",
                  R"({"path":"/dev/nvidia-uvm-tools"})"}));
  const List& mounts = both->lists.at("mounts");
  EXPECT_EQ(mounts.size(), 15U) << "seven names in two folders, and nvidia-smi";
  EXPECT_EQ(std::count(mounts.begin(), mounts.end(),
                       R"({"hostPath":"/run/nvidia/driver/usr/lib64/libcuda.so.550.163.01",)"
                       R"("containerPath":"/usr/lib64/libcuda.so.1",)"
                       R"("options":["ro","nosuid","nodev","rbind","rprivate"]})"),
            1);
  EXPECT_NE(mounts.back().find(R"("containerPath":"/usr/bin/nvidia-smi")"), std::string::npos);
  EXPECT_EQ(both->lists.count("hooks"), 0U);
  EXPECT_EQ(both->cdi_version, "0.5.0");
}

TEST_F(CardEditsTest, TheStandInsTakeThePlaceOfTheDriversLibraries) {
  const auto made = with_stand_ins(*edits().of({"GPU-a"}), {.cuda = "/s/cuda", .nvml = "/s/nvml"});
  ASSERT_TRUE(made) << made.error().message;
  for (const std::string& mount : made->lists.at("mounts")) {
    const bool is_drivers =
        mount.find(R"("hostPath":"/run/nvidia/driver/usr/lib64/libcuda)") != std::string::npos;
    EXPECT_EQ(is_drivers, mount.find("/usr/local/tangram/driver/libcuda.so.1") != std::string::npos)
        << mount;
  }
}

TEST_F(CardEditsTest, NvidiasSpecOfTheCardComesFirst) {
  host_.write("/etc/cdi/nvidia.json",
              R"({"kind": "nvidia.com/gpu", "cdiVersion": "0.6.0", "devices": [{"name": "GPU-a",)"
              R"( "containerEdits": {"env": ["OF=NVIDIA"]}}]})");
  EXPECT_EQ(edits().of({"GPU-a"})->lists.at("env"), List{R"("OF=NVIDIA")"});
  EXPECT_EQ(edits().of({"GPU-a", "GPU-b"})->lists.count("env"), 0U) << "it names one of them";
  const auto each = edits().of_each({"GPU-a", "GPU-b", "MIG-c"});
  ASSERT_TRUE(each);
  EXPECT_EQ(each->at("GPU-a").lists.count("env"), 1U);
  EXPECT_EQ(each->at("GPU-b").lists.count("mounts"), 1U);
  EXPECT_TRUE(each->at("MIG-c").lists.empty());
}

/// What the GPU Operator leaves: specs of all cards together, and of its device plugin's.
TEST_F(CardEditsTest, SpecsOfOtherKindsDoNotCount) {
  host_.write("/etc/cdi/management.json",
              R"({"kind": "management.nvidia.com/gpu", "cdiVersion": "0.6.0", "devices": )"
              R"([{"name": "GPU-a", "containerEdits": {"env": ["OF=ALL"]}}]})");
  EXPECT_EQ(edits().of({"GPU-a"})->lists.count("env"), 0U);
  EXPECT_EQ(edits().of({"GPU-a"})->lists.count("deviceNodes"), 1U);
}

TEST_F(CardEditsTest, AModuleThatIsNotLoadedIsNamed) {
  std::filesystem::remove(host_.root() + "/dev/nvidia-uvm");
  host_.write("/proc/devices",
              "Character devices:\n195 nvidia\n\nBlock devices:\n  7 nvidia-uvm\n");
  const auto made = edits().of({"GPU-a"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::kUnavailable);
  EXPECT_EQ(made.error().message,
            "the node has no /dev/nvidia-uvm, and its kernel has no nvidia-uvm; "
            "`nvidia-modprobe -u -c 0` loads it");
  EXPECT_TRUE(edits().of_each({"GPU-a"})->at("GPU-a").lists.empty());
}

/// A driver container has them in a /dev of its own.
TEST_F(CardEditsTest, MissingDeviceNodesAreMade) {
  std::filesystem::remove_all(host_.root() + "/dev");
  std::filesystem::create_directory(host_.root() + "/dev");
  host_.write("/proc/devices", "Character devices:\n195 nvidia-frontend\n511 nvidia-uvm\n");
  const auto made = edits().of({"GPU-b"});
  if (!made && made.error().message.find("not permitted") != std::string::npos) {
    GTEST_SKIP() << made.error().message;
  }
  ASSERT_TRUE(made) << made.error().message;
  const auto numbers = [&](const std::string& name) {
    struct stat about {};
    EXPECT_EQ(::stat((host_.root() + "/dev/" + name).c_str(), &about), 0) << name;
    EXPECT_EQ(about.st_mode, S_IFCHR | 0666U) << name;
    return std::pair{major(about.st_rdev), minor(about.st_rdev)};
  };
  EXPECT_EQ(numbers("nvidiactl"), std::pair(195U, 255U));
  EXPECT_EQ(numbers("nvidia1"), std::pair(195U, 1U));
  EXPECT_EQ(numbers("nvidia-uvm"), std::pair(511U, 0U));
  EXPECT_EQ(numbers("nvidia-uvm-tools"), std::pair(511U, 1U));
  EXPECT_FALSE(std::filesystem::exists(host_.root() + "/dev/nvidia0")) << "it is not asked for";
}

TEST_F(CardEditsTest, WithoutDriverOrForMigInstancesThereAreNone) {
  EXPECT_EQ(edits().of({"MIG-a"}).error().code, Errc::kNotFound);
  EXPECT_EQ(edits().nvml_path(),
            host_.root() + "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.550.163.01");
  std::filesystem::remove(host_.root() + "/sys/module/nvidia/version");
  EXPECT_EQ(edits().of({"GPU-a"}).error().message,
            "no CDI spec of NVIDIA's names the card, and the kernel has not loaded NVIDIA's driver "
            "(/sys/module/nvidia/version)");
  EXPECT_EQ(edits().nvml_path(), "");
}

}  // namespace
}  // namespace tangram::node::nvidia
