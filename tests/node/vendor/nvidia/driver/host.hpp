#pragma once

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace tangram::node::nvidia {

/// The file system of a host, with what NVIDIA's driver puts there. The kernel runs driver
/// 550.163.01.
class DriverHost {
 public:
  DriverHost() { write("/sys/module/nvidia/version", "550.163.01\n"); }

  [[nodiscard]] const std::string& root() const { return folder_.path(); }

  void write(const std::string& path, const std::string& text = "file") const {
    std::filesystem::create_directories(std::filesystem::path(root() + path).parent_path());
    EXPECT_TRUE(replace_file(root() + path, text));
  }
  void link(const std::string& path, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(root() + path).parent_path());
    std::filesystem::remove(root() + path);
    std::filesystem::create_symlink(target, root() + path);
  }
  /// A library with the names that the driver's installer gives it.
  void install(const std::string& folder, const std::string& library,
               const std::string& version = "550.163.01") const {
    write(folder + "/" + library + ".so." + version);
    link(folder + "/" + library + ".so.1", library + ".so." + version);
    link(folder + "/" + library + ".so", library + ".so.1");
  }
  void install_libraries(const std::string& folder,
                         const std::string& version = "550.163.01") const {
    for (const char* const library : {"libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler"}) {
      install(folder, library, version);
    }
  }
  void install_driver(const std::string& place, const std::string& version = "550.163.01") const {
    install_libraries(place + "/usr/lib64", version);
    for (const char* const program : {"nvidia-smi", "nvidia-cuda-mps-control"}) {
      write(place + "/usr/bin/" + program);
    }
  }
  void add_card(const std::string& uuid, int minor) const {
    write("/proc/driver/nvidia/gpus/0000:0" + std::to_string(minor) + ":00.0/information",
          "Model: \t\t NVIDIA H200\nGPU UUID: \t " + uuid + "\nDevice Minor: \t " +
              std::to_string(minor) + "\nGPU Excluded:\t No\n");
    write("/dev/nvidia" + std::to_string(minor));
  }
  /// The capability to use a part of a card in MIG mode: "gpu0/mig/gi7", "gpu0/mig/gi7/ci0".
  void add_capability(const std::string& part, int minor, bool driver_makes_it = true) const {
    write("/proc/driver/nvidia/capabilities/" + part + "/access",
          "DeviceFileMinor: " + std::to_string(minor) +
              "\nDeviceFileMode: 292\nDeviceFileModify: " + (driver_makes_it ? "1\n" : "0\n"));
    write("/dev/nvidia-caps/nvidia-cap" + std::to_string(minor));
  }
  void add_nodes() const {
    for (const char* const node : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
      write(std::string("/dev/") + node);
    }
  }

 private:
  testing::TempFolder folder_;
};

}  // namespace tangram::node::nvidia
