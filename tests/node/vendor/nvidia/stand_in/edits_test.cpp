#include "node/vendor/nvidia/stand_in/edits.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::node::nvidia {
namespace {

using List = std::vector<std::string>;

const StandInPaths kStandIns{.cuda = "/var/lib/tangram/lib/1/libcuda.so.1",
                             .nvml = "/var/lib/tangram/lib/1/libnvidia-ml.so.1"};

std::string mount(const std::string& host, const std::string& container) {
  return R"({"hostPath":")" + host + R"(","containerPath":")" + container +
         R"(","options":["ro","nosuid","nodev","rbind","rprivate"]})";
}

/// What `nvidia-ctk cdi generate` writes, shortened.
CdiEdits of_nvidia() {
  const std::string lib = "/usr/lib/x86_64-linux-gnu/";
  return {
      .cdi_version = "0.5.0",
      .lists = {
          {"deviceNodes", {R"({"path":"/dev/nvidia0"})"}},
          {"hooks",
           {R"({"hookName":"createContainer","path":"/usr/bin/nvidia-cdi-hook","args":["nvidia-cdi-hook","create-symlinks"]})",
            R"({"hookName":"createContainer","path":"/usr/bin/nvidia-cdi-hook","args":["nvidia-cdi-hook","enable-cuda-compat","--host-driver-version=550.54.15"]})",
            R"({"hookName":"createContainer","path":"/usr/bin/nvidia-cdi-hook","args":["nvidia-cdi-hook","update-ldcache"]})"}},
          {"mounts",
           {mount(lib + "libcuda.so.550.54.15", lib + "libcuda.so.550.54.15"),
            mount(lib + "libcudadebugger.so.550.54.15", lib + "libcudadebugger.so.550.54.15"),
            mount("/run/nvidia/driver" + lib + "libnvidia-ml.so.550.54.15",
                  lib + "libnvidia-ml.so.550.54.15"),
            mount("/usr/bin/nvidia-smi", "/usr/bin/nvidia-smi")}}}};
}

TEST(StandInEditsTest, MountsTheStandInsUnderTheDriversNamesAndTheDriverBesideThem) {
  const auto edits = with_stand_ins(of_nvidia(), kStandIns);
  ASSERT_TRUE(edits) << edits.error().message;
  const std::string lib = "/usr/lib/x86_64-linux-gnu/";
  EXPECT_EQ(edits->lists.at("mounts"),
            (List{mount(lib + "libcuda.so.550.54.15", "/usr/local/tangram/driver/libcuda.so.1"),
                  mount(kStandIns.cuda, lib + "libcuda.so.550.54.15"),
                  mount(lib + "libcudadebugger.so.550.54.15", lib + "libcudadebugger.so.550.54.15"),
                  mount("/run/nvidia/driver" + lib + "libnvidia-ml.so.550.54.15",
                        "/usr/local/tangram/driver/libnvidia-ml.so.1"),
                  mount(kStandIns.nvml, lib + "libnvidia-ml.so.550.54.15"),
                  mount("/usr/bin/nvidia-smi", "/usr/bin/nvidia-smi")}));
  EXPECT_EQ(edits->lists.at("deviceNodes"), of_nvidia().lists.at("deviceNodes"));
  EXPECT_EQ(edits->cdi_version, "0.5.0");
}

TEST(StandInEditsTest, LeavesOutTheHookThatPrefersTheImagesLibrary) {
  const auto edits = with_stand_ins(of_nvidia(), kStandIns);
  ASSERT_TRUE(edits);
  const List& hooks = edits->lists.at("hooks");
  ASSERT_EQ(hooks.size(), 2U);
  for (const std::string& hook : hooks)
    EXPECT_EQ(hook.find("enable-cuda-compat"), std::string::npos);
}

TEST(StandInEditsTest, LeavesOutLibrariesFor32Bits) {
  CdiEdits vendor = of_nvidia();
  vendor.lists["mounts"].push_back(mount("/usr/lib/i386-linux-gnu/libcuda.so.550.54.15",
                                         "/usr/lib/i386-linux-gnu/libcuda.so.550.54.15"));
  vendor.lists["mounts"].push_back(
      mount("/usr/lib/libcuda.so.550.54.15", "/usr/lib/libcuda.so.550.54.15"));
  vendor.lists["mounts"].push_back(mount("/usr/lib32/x", "/usr/lib32/libnvidia-ml.so.550.54.15"));
  const auto edits = with_stand_ins(vendor, kStandIns);
  ASSERT_TRUE(edits) << edits.error().message;
  const auto expected = with_stand_ins(of_nvidia(), kStandIns);
  EXPECT_EQ(edits->lists.at("mounts"), expected->lists.at("mounts"));
}

TEST(StandInEditsTest, RefusesEditsWithoutOneOfTheLibraries) {
  for (const std::string library : {"libcuda.so.550", "libnvidia-ml.so"}) {
    CdiEdits vendor = of_nvidia();
    std::erase_if(vendor.lists["mounts"], [&](const std::string& text) {
      return text.find("/" + library) != std::string::npos;
    });
    const auto edits = with_stand_ins(vendor, kStandIns);
    ASSERT_FALSE(edits) << library;
    EXPECT_EQ(edits.error().code, Errc::kUnavailable);
    EXPECT_NE(edits.error().message.find(" is nothing instead of one file"), std::string::npos)
        << edits.error().message;
  }
}

TEST(StandInEditsTest, RefusesTwoFilesOfOneLibrary) {
  CdiEdits vendor = of_nvidia();
  vendor.lists["mounts"].push_back(mount("/opt/libcuda.so.1", "/opt/libcuda.so.1"));
  EXPECT_FALSE(with_stand_ins(vendor, kStandIns));
}

TEST(StandInEditsTest, StandsInUnderEachNameOfALibrary) {
  CdiEdits vendor = of_nvidia();
  const std::string driver = "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15";
  vendor.lists["mounts"].push_back(mount(driver, "/usr/lib64/libcuda.so.1"));
  const auto edits = with_stand_ins(vendor, kStandIns);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_EQ(edits->lists.at("mounts").back(), mount(kStandIns.cuda, "/usr/lib64/libcuda.so.1"));
  EXPECT_EQ(std::count(edits->lists.at("mounts").begin(), edits->lists.at("mounts").end(),
                       mount(driver, "/usr/local/tangram/driver/libcuda.so.1")),
            1);
}

TEST(StandInEditsTest, RefusesNoEditsAtAll) { EXPECT_FALSE(with_stand_ins({}, kStandIns)); }

TEST(StandInEditsTest, RefusesAMountThatIsNoObject) {
  CdiEdits vendor = of_nvidia();
  vendor.lists["mounts"].push_back("7");
  EXPECT_FALSE(with_stand_ins(vendor, kStandIns));
}

}  // namespace
}  // namespace tangram::node::nvidia
