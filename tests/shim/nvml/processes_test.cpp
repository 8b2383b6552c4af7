#include "tests/shim/nvml/nvml_fixture.hpp"

#include <cstring>

namespace tangram::shim::testing {
namespace {

using fake_nvml::NO_INSTANCE;
using fake_nvml::ProcessDetail;
using fake_nvml::ProcessDetailList;
using fake_nvml::ProcessInfo;
using fake_nvml::ProcessInfoV1;

int list_v1(const char* name, void* handle, unsigned* count, ProcessInfoV1* rows) {
  return function<ListV1>(name)(handle, count, rows);
}
int list_v2(const char* name, void* handle, unsigned* count, ProcessInfo* rows) {
  return function<ListV2>(name)(handle, count, rows);
}
int list_details(void* handle, ProcessDetailList* list) {
  return function<int(void*, ProcessDetailList*)>("nvmlDeviceGetRunningProcessDetailList")(handle,
                                                                                           list);
}

class NvmlProcessesTest : public NvmlTest {
 protected:
  NvmlProcessesTest() : first_(root(), 5, 17), second_(root(), 6, 18), dead_(root(), 7, 19) {
    first_.account(0, 1'000);
    second_.account(0, 200);
    second_.account(1, 55);
    second_.account(2, 7);
    dead_.account(0, 4);
    dead_.die();
  }

 private:
  ContainerProcess first_;
  ContainerProcess second_;
  ContainerProcess dead_;
};

TEST_F(NvmlProcessesTest, AreThoseOfTheContainerThatUseTheCard) {
  void* const card = handle_of(kCard);
  unsigned count = 2;
  std::array<ProcessInfoV1, 2> old{};
  ASSERT_EQ(list_v1("nvmlDeviceGetComputeRunningProcesses", card, &count, old.data()), 0);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(old[0].pid, 17U);
  EXPECT_EQ(old[0].usedGpuMemory, 1'000 * kMebibyte);
  EXPECT_EQ(old[1].pid, 18U);
  EXPECT_EQ(old[1].usedGpuMemory, 200 * kMebibyte);

  for (const char* const name :
       {"nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3"}) {
    std::array<ProcessInfo, 9> rows{};
    count = rows.size();
    ASSERT_EQ(list_v2(name, card, &count, rows.data()), 0) << name;
    ASSERT_EQ(count, 2U);
    EXPECT_EQ(rows[1].pid, 18U);
    EXPECT_EQ(rows[1].usedGpuMemory, 200 * kMebibyte);
    EXPECT_EQ(rows[1].gpuInstanceId, NO_INSTANCE);
    EXPECT_EQ(rows[1].computeInstanceId, NO_INSTANCE);
    EXPECT_EQ(rows[2].pid, 0U);
  }
}

TEST_F(NvmlProcessesTest, OfAnInstanceNameIt) {
  ProcessInfo row{};
  unsigned count = 1;
  ASSERT_EQ(list_v2("nvmlDeviceGetComputeRunningProcesses_v3", handle_of(kInstance), &count, &row),
            0);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(row.pid, 18U);
  EXPECT_EQ(row.gpuInstanceId, 7U);
  EXPECT_EQ(row.computeInstanceId, 1U);
}

TEST_F(NvmlProcessesTest, AreCountedIfThereIsNoRoom) {
  void* const card = handle_of(kCard);
  unsigned count = 0;
  EXPECT_EQ(list_v1("nvmlDeviceGetComputeRunningProcesses", card, &count, nullptr),
            fake_nvml::ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 2U);
  std::array<ProcessInfo, 2> rows{};
  count = 1;
  EXPECT_EQ(list_v2("nvmlDeviceGetComputeRunningProcesses_v3", card, &count, rows.data()),
            fake_nvml::ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(rows[1].pid, 0U);
}

TEST_F(NvmlProcessesTest, HaveNoGraphicsProcessesAndNoClientsOfMps) {
  void* const card = handle_of(kCard);
  for (const std::string kind : {"Graphics", "MPSCompute"}) {
    const std::string name = "nvmlDeviceGet" + kind + "RunningProcesses";
    unsigned count = 0;
    EXPECT_EQ(list_v1(name.c_str(), card, &count, nullptr), 0) << name;
    for (const char* const version : {"_v2", "_v3"}) {
      ProcessInfo row{};
      count = 1;
      EXPECT_EQ(list_v2((name + version).c_str(), card, &count, &row), 0) << name << version;
      EXPECT_EQ(count, 0U);
      EXPECT_EQ(row.pid, 0U);
    }
  }
}

TEST_F(NvmlProcessesTest, HaveDetailsInTheListsOfComputeAndOfAll) {
  void* const card = handle_of(kCard);
  for (const unsigned mode : {0U, 1U, 2U, 3U}) {
    std::array<ProcessDetail, 2> rows{};
    ProcessDetailList list{fake_nvml::PROCESS_DETAIL_LIST_V1, mode, 2, rows.data()};
    ASSERT_EQ(list_details(card, &list), 0) << mode;
    const bool has_rows = mode == 0 || mode == 3;
    EXPECT_EQ(list.numProcArrayEntries, has_rows ? 2U : 0U) << mode;
    EXPECT_EQ(rows[1].pid, has_rows ? 18U : 0U) << mode;
  }
  ProcessDetailList no_room{fake_nvml::PROCESS_DETAIL_LIST_V1, 0, 0, nullptr};
  EXPECT_EQ(list_details(card, &no_room), fake_nvml::ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(no_room.numProcArrayEntries, 2U);
}

TEST_F(NvmlProcessesTest, AreNotShownOnACardWithoutALimit) {
  unsigned count = 0;
  EXPECT_EQ(
      list_v2("nvmlDeviceGetComputeRunningProcesses_v3", handle_of(kFreeCard), &count, nullptr), 0);
  EXPECT_EQ(count, 0U);
}

TEST_F(NvmlProcessesTest, AreUnknownWithoutPages) {
  void* const card = handle_of(kCard);
  std::filesystem::remove(root() + "/usage");
  unsigned count = 1;
  ProcessInfoV1 old{};
  EXPECT_EQ(list_v1("nvmlDeviceGetComputeRunningProcesses", card, &count, &old), kUnknownError);
  for (const char* const name :
       {"nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3"}) {
    ProcessInfo row{};
    EXPECT_EQ(list_v2(name, card, &count, &row), kUnknownError) << name;
  }
  EXPECT_EQ(count, 1U);
  ProcessDetail detail{};
  ProcessDetailList list{fake_nvml::PROCESS_DETAIL_LIST_V1, 0, 1, &detail};
  EXPECT_EQ(list_details(card, &list), kUnknownError);
}

TEST_F(NvmlProcessesTest, AreRefusedAsTheDriverRefusesThem) {
  void* const card = handle_of(kCard);
  unsigned count = 1;
  for (const std::string kind : {"Compute", "Graphics", "MPSCompute"}) {
    const std::string name = "nvmlDeviceGet" + kind + "RunningProcesses";
    EXPECT_EQ(list_v1(name.c_str(), card, nullptr, nullptr), fake_nvml::ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(list_v1(name.c_str(), nullptr, &count, nullptr), fake_nvml::ERROR_NOT_FOUND);
    for (const char* const version : {"_v2", "_v3"}) {
      const std::string later = name + version;
      EXPECT_EQ(list_v2(later.c_str(), card, nullptr, nullptr), fake_nvml::ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(list_v2(later.c_str(), nullptr, &count, nullptr), fake_nvml::ERROR_NOT_FOUND);
    }
  }
  EXPECT_EQ(list_v2("nvmlDeviceGetComputeRunningProcesses_v3", card, &count, nullptr),
            fake_nvml::ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(list_details(card, nullptr), fake_nvml::ERROR_INVALID_ARGUMENT);
  ProcessDetailList newer{fake_nvml::PROCESS_DETAIL_LIST_V1 + (1U << 24U), 0, 0, nullptr};
  EXPECT_EQ(list_details(card, &newer), fake_nvml::ERROR_ARGUMENT_VERSION_MISMATCH);
  ProcessDetailList odd_mode{fake_nvml::PROCESS_DETAIL_LIST_V1, 4, 0, nullptr};
  EXPECT_EQ(list_details(card, &odd_mode), fake_nvml::ERROR_INVALID_ARGUMENT);
}

// The driver's samples name other tenants' processes, and "none" would call the container idle.
TEST_F(NvmlProcessesTest, HaveNoUtilization) {
  void* const card = handle_of(kCard);
  using fake_nvml::ProcessesUtilization;
  using fake_nvml::UtilizationSample;
  const auto samples = function<int(void*, UtilizationSample*, unsigned*, unsigned long long)>(
      "nvmlDeviceGetProcessUtilization");
  const auto info =
      function<int(void*, ProcessesUtilization*)>("nvmlDeviceGetProcessesUtilizationInfo");
  UtilizationSample sample{};
  unsigned count = 1;
  EXPECT_EQ(samples(card, &sample, &count, 0), fake_nvml::ERROR_NOT_SUPPORTED);
  EXPECT_EQ(sample.pid, 0U);
  EXPECT_EQ(samples(card, &sample, nullptr, 0), fake_nvml::ERROR_INVALID_ARGUMENT);
  ProcessesUtilization utilization{fake_nvml::PROCESSES_UTILIZATION_V1, 0, 0, nullptr};
  EXPECT_EQ(info(card, &utilization), fake_nvml::ERROR_NOT_SUPPORTED);
  EXPECT_EQ(utilization.processSamplesCount, 0U);
  utilization.version = 0;
  EXPECT_EQ(info(card, &utilization), fake_nvml::ERROR_ARGUMENT_VERSION_MISMATCH);
  EXPECT_EQ(info(card, nullptr), fake_nvml::ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tangram::shim::testing
