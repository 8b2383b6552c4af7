#include "node/vendor/nvidia/card_edits.hpp"

#include "node/vendor/nvidia/stand_in/edits.hpp"
#include "tests/node/vendor/nvidia/driver/host.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tangram::node::nvidia {
namespace {

using List = std::vector<std::string>;
using Names = std::set<std::string>;

class CardEditsTest : public ::testing::Test {
 protected:
  CardEditsTest() {
    host_.install_driver("/run/nvidia/driver");
    host_.add_nodes();
    host_.add_card("GPU-a", 0);
    host_.add_card("GPU-b", 1);
  }
  [[nodiscard]] CardEdits edits() const {
    return {{host_.root() + "/etc/cdi"}, {.host_root = host_.root()}, mig_};
  }
  /// GPU-b has three instances: two in one GPU instance, and one alone.
  void turn_on_mig() const {
    mig_->replace({{"GPU-a", false, {}},
                   {"GPU-b", true, {{"MIG-0", 2, 0}, {"MIG-1", 2, 1}, {"MIG-2", 9, 0}}}});
    host_.add_capability("gpu1/mig/gi2", 156);
    host_.add_capability("gpu1/mig/gi2/ci0", 157);
    host_.add_capability("gpu1/mig/gi2/ci1", 158);
    host_.add_capability("gpu1/mig/gi9", 219);
    host_.add_capability("gpu1/mig/gi9/ci0", 220);
  }
  /// The names that the edits have of device nodes, without "/dev/" and the driver's own.
  [[nodiscard]] Names nodes_of(const List& cards) const {
    const auto made = edits().of(cards);
    if (!made) return {made.error().message};
    Names nodes;
    for (const std::string& node : made->lists.at("deviceNodes")) {
      constexpr std::string_view kBefore = R"({"path":"/dev/)";
      nodes.insert(node.substr(kBefore.size(), node.size() - kBefore.size() - 2));
    }
    for (const char* const common : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
      EXPECT_EQ(nodes.erase(common), 1U) << common;
    }
    EXPECT_EQ(made->lists.at("deviceNodes").size(), nodes.size() + 3) << "each once";
    return nodes;
  }
  /// Major and minor number, of a node with this mode.
  [[nodiscard]] std::pair<unsigned, unsigned> numbers(const std::string& name,
                                                      mode_t mode = 0666) const {
    struct stat about {};
    EXPECT_EQ(::stat((host_.root() + "/dev/" + name).c_str(), &about), 0) << name;
    EXPECT_EQ(about.st_mode, S_IFCHR | mode) << name;
    return {major(about.st_rdev), minor(about.st_rdev)};
  }
  DriverHost host_;
  const std::shared_ptr<MigLayout> mig_ = std::make_shared<MigLayout>();
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
  EXPECT_EQ(numbers("nvidiactl"), std::pair(195U, 255U));
  EXPECT_EQ(numbers("nvidia1"), std::pair(195U, 1U));
  EXPECT_EQ(numbers("nvidia-uvm"), std::pair(511U, 0U));
  EXPECT_EQ(numbers("nvidia-uvm-tools"), std::pair(511U, 1U));
  EXPECT_FALSE(std::filesystem::exists(host_.root() + "/dev/nvidia0")) << "it is not asked for";
}

TEST_F(CardEditsTest, AMigInstanceHasItsCardsNodeAndItsTwoCapabilities) {
  turn_on_mig();
  EXPECT_EQ(nodes_of({"MIG-1"}),
            (Names{"nvidia1", "nvidia-caps/nvidia-cap156", "nvidia-caps/nvidia-cap158"}));
  EXPECT_EQ(nodes_of({"MIG-2"}),
            (Names{"nvidia1", "nvidia-caps/nvidia-cap219", "nvidia-caps/nvidia-cap220"}));
  EXPECT_EQ(nodes_of({"MIG-0", "GPU-a", "MIG-1"}),
            (Names{"nvidia0", "nvidia1", "nvidia-caps/nvidia-cap156", "nvidia-caps/nvidia-cap157",
                   "nvidia-caps/nvidia-cap158"}));
  EXPECT_EQ(edits().of_each({"MIG-1"})->at("MIG-1").lists.at("mounts").size(), 15U)
      << "the driver's libraries, too";
}

TEST_F(CardEditsTest, AMigInstanceThatIsGoneIsRefused) {
  turn_on_mig();
  std::filesystem::remove_all(host_.root() + "/proc/driver/nvidia/capabilities/gpu1/mig/gi2/ci1");
  EXPECT_EQ(nodes_of({"MIG-0"}).size(), 3U);
  const auto gone = edits().of({"MIG-0", "MIG-1"});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::kUnavailable);
  EXPECT_EQ(gone.error().message,
            "the driver shows no such MIG instance in /proc/driver/nvidia/capabilities/gpu1/mig/"
            "gi2/ci1/access; if the MIG layout was changed, delete the pod");
  mig_->replace({{"GPU-b", true, {{"MIG-0", 2, 0}, {"MIG-1", 2, nvml::kNoInstance}}}});
  EXPECT_EQ(edits().of({"MIG-1"}).error().message,
            "the driver lists no MIG instance MIG-1; if the MIG layout was changed, delete the "
            "pod");
}

TEST_F(CardEditsTest, MissingNodesOfCapabilitiesAreMade) {
  turn_on_mig();
  std::filesystem::remove_all(host_.root() + "/dev/nvidia-caps");
  host_.write("/proc/devices", "Character devices:\n195 nvidia\n237 nvidia-caps\n");
  const mode_t umask_before = ::umask(077);
  const auto made = edits().of({"MIG-1"});
  ::umask(umask_before);
  if (!made && made.error().message.find("not permitted") != std::string::npos) {
    GTEST_SKIP() << made.error().message;
  }
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(numbers("nvidia-caps/nvidia-cap156", 0444), std::pair(237U, 156U));
  EXPECT_EQ(numbers("nvidia-caps/nvidia-cap158", 0444), std::pair(237U, 158U));
  EXPECT_EQ(Root(host_.root()).names_in("/dev/nvidia-caps"),
            (List{"nvidia-cap156", "nvidia-cap158"}));
  const auto mode = std::filesystem::status(host_.root() + "/dev/nvidia-caps").permissions();
  EXPECT_EQ(static_cast<unsigned>(mode), 0755U);
}

/// After a new load of the driver's modules, as by a driver container, which leaves the host's
/// /dev.
TEST_F(CardEditsTest, ANodeWithTheNumberOfAnEarlierDriverIsReplaced) {
  turn_on_mig();
  const std::string path = host_.root() + "/dev/nvidia-caps/nvidia-cap219";
  std::filesystem::remove(path);
  if (::mknod(path.c_str(), S_IFCHR | 0444, makedev(240, 219)) != 0) {
    GTEST_SKIP() << "this machine makes no device nodes";
  }
  ASSERT_TRUE(edits().of({"MIG-2"})) << "without /proc/devices it is not known to be wrong";
  EXPECT_EQ(numbers("nvidia-caps/nvidia-cap219", 0444), std::pair(240U, 219U));
  host_.write("/proc/devices", "Character devices:\n237 nvidia-caps\n");
  ASSERT_TRUE(edits().of({"MIG-2"}));
  EXPECT_EQ(numbers("nvidia-caps/nvidia-cap219", 0444), std::pair(237U, 219U));
}

TEST_F(CardEditsTest, ANodeThatTheAdministratorMakesIsNotMade) {
  turn_on_mig();
  host_.add_capability("gpu1/mig/gi9/ci0", 220, false);
  EXPECT_TRUE(edits().of({"MIG-2"})) << "it is there";
  std::filesystem::remove(host_.root() + "/dev/nvidia-caps/nvidia-cap220");
  host_.write("/proc/devices", "Character devices:\n237 nvidia-caps\n");
  EXPECT_EQ(edits().of({"MIG-2"}).error().message,
            "the node has no /dev/nvidia-caps/nvidia-cap220, and the driver leaves it to the "
            "administrator (DeviceFileModify is 0); make it on the node");
}

/// Else the node would be made in the agent's own file system.
TEST_F(CardEditsTest, ALinkOfTheHostIsFollowedInTheHost) {
  turn_on_mig();
  std::filesystem::remove_all(host_.root() + "/dev/nvidia-caps");
  std::filesystem::create_directory(host_.root() + "/elsewhere");
  host_.link("/dev/nvidia-caps", "/elsewhere");
  host_.write("/proc/devices", "Character devices:\n237 nvidia-caps\n");
  const auto made = edits().of({"MIG-2"});
  if (!made && made.error().message.find("not permitted") != std::string::npos) {
    GTEST_SKIP() << made.error().message;
  }
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(Root(host_.root()).names_in("/elsewhere"), (List{"nvidia-cap219", "nvidia-cap220"}));
}

TEST_F(CardEditsTest, WithoutDriverThereAreNone) {
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
