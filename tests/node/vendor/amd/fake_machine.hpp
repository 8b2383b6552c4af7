#pragma once

#include "base/file.hpp"
#include "node/vendor/amd/amd_inventory.hpp"
#include "node/vendor/amd/kernel_files.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace tangram::node::amd {

/// A folder with the files of the kernel's drivers amdgpu and amdkfd, as their documentation and
/// sources have them. No real card was at hand: what such a machine has beside them is not here.
class FakeMachine {
 public:
  struct Gpu {
    std::string address = "0000:c1:00.0";
    std::string unique_id = "8f1c2d3e4a5b6c7d";  ///< "" = the driver knows none
    std::string product = "AMD Instinct MI300X OAM";
    std::string compute = "SPX";  ///< "" = it has no compute partitions
    std::string memory = "NPS1";
    std::uint64_t bytes = 206'141'652'992;  // an MI300X's 192 GiB less what the firmware has
    unsigned gfx = 90'402;
    int numa = 1;
    std::string physical_function = {};  ///< address
  };

  FakeMachine() {
    write("/proc/sys/kernel/osrelease", "6.14.0-rocm\n");
    write("/sys/class/kfd/kfd/dev", "235:0\n");
    // A processor has a node, too.
    write(node_folder(0) + "/gpu_id", "0\n");
    write(node_folder(0) + "/properties", "cpu_cores_count 96\nsimd_count 0\nvendor_id 0\n");
    write("/cgroup/cgroup.subtree_control", "cpu memory pids\n");
  }

  [[nodiscard]] const std::string& root() const { return folder_.path(); }
  [[nodiscard]] KernelFiles files() const { return KernelFiles(root()); }
  [[nodiscard]] std::string cgroups() const { return root() + "/cgroup"; }

  /// The card's device on its PCI bus, with amdgpu, and its two device nodes.
  void add_pci(const Gpu& gpu, unsigned card, unsigned render) const {
    const std::string device = pci(gpu.address);
    write(device + "/vendor", "0x1002\n");
    write(device + "/class", "0x120000\n");
    write(device + "/numa_node", std::to_string(gpu.numa) + "\n");
    write(device + "/mem_info_vram_total", std::to_string(gpu.bytes) + "\n");
    write(device + "/mem_info_vram_used", "297881600\n");
    write(device + "/gpu_busy_percent", "37\n");
    write(device + "/unique_id", gpu.unique_id.empty() ? "" : gpu.unique_id + "\n");
    if (!gpu.product.empty()) write(device + "/product_name", gpu.product + "\n");
    if (!gpu.compute.empty()) write(device + "/current_compute_partition", gpu.compute + "\n");
    if (!gpu.memory.empty()) write(device + "/current_memory_partition", gpu.memory + "\n");
    if (!gpu.physical_function.empty()) link("../" + gpu.physical_function, device + "/physfn");
    add_drm(gpu.address, device, card, render);
    link("../../../../bus/pci/devices/" + gpu.address,
         "/sys/module/amdgpu/drivers/pci:amdgpu/" + gpu.address);
  }

  /// A partition's device nodes: of a platform device, since the PCI device has the first ones.
  void add_xcp(unsigned number, unsigned card, unsigned render) const {
    const std::string name = "amdgpu_xcp_" + std::to_string(number);
    add_drm(name, "/sys/devices/platform/" + name, card, render);
  }

  /// A node of amdkfd.
  /// @param location  as the kernel has it: the bus, device and function, and the partition
  void add_kfd(unsigned node, const Gpu& gpu, unsigned render, std::uint64_t location,
               std::uint64_t bytes, const std::set<unsigned>& xgmi = {}) const {
    const std::string folder = node_folder(node);
    write(folder + "/gpu_id", std::to_string(gpu_id(node)) + "\n");
    write(folder + "/name", "ip discovery\n");
    write(folder + "/properties",
          "cpu_cores_count 0\nsimd_count 1216\nmem_banks_count 1\nvendor_id 4098\n"
          "device_id 29857\nlocation_id " +
              std::to_string(location) + "\ndomain 0\ndrm_render_minor " + std::to_string(render) +
              "\nhive_id 0\ngfx_target_version " + std::to_string(gpu.gfx) + "\nunique_id " +
              std::to_string(number_of(gpu.unique_id)) + "\n");
    write(folder + "/mem_banks/0/properties", "heap_type 1\nsize_in_bytes " +
                                                  std::to_string(bytes) +
                                                  "\nflags 0\nwidth 8192\nmem_clk_max 1300\n");
    unsigned number = 0;
    for (const unsigned peer : xgmi) {
      write(folder + "/io_links/" + std::to_string(number++) + "/properties",
            "type 11\nversion_major 0\nnode_from " + std::to_string(node) + "\nnode_to " +
                std::to_string(peer) + "\nweight 15\n");
    }
  }

  /// One MI300X as a whole, on bus c1.
  void add_spx() const {
    add_pci({}, 1, 128);
    add_kfd(1, {}, 128, 0xc100, Gpu{}.bytes);
  }
  /// The same one in eight partitions.
  void add_cpx() const {
    const Gpu gpu{.compute = "CPX", .memory = "NPS4"};
    add_pci(gpu, 1, 128);
    add_kfd(1, gpu, 128, 0xc100, gpu.bytes / 8);
    for (unsigned partition = 1; partition < 8; ++partition) {
      add_xcp(partition - 1, 1 + partition, 128 + partition);
      add_kfd(1 + partition, gpu, 128 + partition, 0xc100 | partition, gpu.bytes / 8);
    }
  }
  /// Two virtual functions of a card whose own driver is not amdgpu.
  void add_two_functions() const {
    write(pci("0000:c1:00.0") + "/vendor", "0x1002\n");
    for (unsigned i = 0; i < 2; ++i) {
      const Gpu gpu{.address = "0000:c1:02." + std::to_string(i),
                    .unique_id = i == 0 ? "00000000000000a0" : "00000000000000a1",
                    .compute = "",
                    .memory = "",
                    .bytes = std::uint64_t{96} << 30U,
                    .physical_function = "0000:c1:00.0"};
      add_pci(gpu, 1 + i, 128 + i);
      add_kfd(1 + i, gpu, 128 + i, 0xc110 + i, gpu.bytes);
    }
  }

  void write(const std::string& path, const std::string& text) const {
    const std::string file = root() + path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    ASSERT_TRUE(replace_file(file, text));
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root() + path); }
  /// In place of a file that the driver does not let anybody read now.
  void make_unreadable(const std::string& path) const {
    remove(path);
    std::filesystem::create_directories(root() + path);
  }
  void count_errors(const std::string& block, const std::string& text,
                    const std::string& address = "0000:c1:00.0") const {
    write(pci(address) + "/ras/" + block + "_err_count", text);
  }
  void add_process(unsigned pid, unsigned node, std::uint64_t bytes) const {
    write(
        "/sys/class/kfd/kfd/proc/" + std::to_string(pid) + "/vram_" + std::to_string(gpu_id(node)),
        std::to_string(bytes) + "\n");
  }
  /// The kernel has the controller dmem, and this region.
  void add_region(const std::string& region) const {
    write("/cgroup/cgroup.subtree_control", "cpu memory pids dmem\n");
    const auto before = read_file(cgroups() + "/dmem.capacity");
    write("/cgroup/dmem.capacity", (before ? *before : "") + region + " 206141652992\n");
  }

  [[nodiscard]] static std::string pci(const std::string& address) {
    return "/sys/bus/pci/devices/" + address;
  }
  [[nodiscard]] static std::string node_folder(unsigned node) {
    return "/sys/class/kfd/kfd/topology/nodes/" + std::to_string(node);
  }
  [[nodiscard]] static unsigned gpu_id(unsigned node) { return 40'000 + node; }

 private:
  static std::uint64_t number_of(const std::string& unique_id) {
    return unique_id.empty() ? 0 : std::stoull(unique_id, nullptr, 16);
  }
  void link(const std::string& target, const std::string& path) const {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::remove(file);
    std::filesystem::create_symlink(target, file);
  }
  /// @param device  the name to which the links lead
  void add_drm(const std::string& device, const std::string& folder, unsigned card,
               unsigned render) const {
    for (const std::string& name :
         {"card" + std::to_string(card), "renderD" + std::to_string(render)}) {
      const unsigned minor = name.starts_with("card") ? card : render;
      std::filesystem::create_directories(root() + folder + "/drm/" + name);
      write("/sys/class/drm/" + name + "/dev", "226:" + std::to_string(minor) + "\n");
      link("../../../" + device, "/sys/class/drm/" + name + "/device");
    }
  }

  testing::TempFolder folder_;
};

/// The ids of the cards, in their order.
inline std::vector<std::string> ids_of(const Result<AmdCards>& cards) {
  std::vector<std::string> ids;
  if (!cards) return ids;
  for (const AmdCard& card : cards->cards) ids.push_back(card.installed.card.id);
  return ids;
}

}  // namespace tangram::node::amd
