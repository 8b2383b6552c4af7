#include "tests/shim/nvml/nvml_fixture.hpp"

#include <unistd.h>

#include <sstream>

namespace tangram::shim::testing {
namespace {

using fake_nvml::Memory;
using fake_nvml::MemoryV2;

int memory_info(void* handle, Memory* out) {
  return function<int(void*, Memory*)>("nvmlDeviceGetMemoryInfo")(handle, out);
}
int memory_info_v2(void* handle, MemoryV2* out) {
  return function<int(void*, MemoryV2*)>("nvmlDeviceGetMemoryInfo_v2")(handle, out);
}

struct Mebibytes {
  std::uint64_t total, used, free;
  friend bool operator==(const Mebibytes&, const Mebibytes&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Mebibytes& m) {
    return out << m.total << " MiB, " << m.used << " used, " << m.free << " free";
  }
};

/// From both functions, which have to agree.
Mebibytes memory_of(void* handle) {
  Memory memory{};
  EXPECT_EQ(memory_info(handle, &memory), fake_nvml::SUCCESS);
  MemoryV2 second{fake_nvml::MEMORY_V2, 1, 1, 1, 1};
  EXPECT_EQ(memory_info_v2(handle, &second), fake_nvml::SUCCESS);
  EXPECT_EQ(second.version, fake_nvml::MEMORY_V2);
  EXPECT_EQ(second.reserved, 0U);
  EXPECT_EQ(second.total, memory.total);
  EXPECT_EQ(second.used, memory.used);
  EXPECT_EQ(second.free, memory.free);
  EXPECT_EQ(memory.used + memory.free, memory.total);
  return {memory.total / kMebibyte, memory.used / kMebibyte, memory.free / kMebibyte};
}

std::string content_of(const std::string& path) {
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

using NvmlMemoryTest = NvmlTest;

TEST_F(NvmlMemoryTest, IsTheShareAndWhatTheContainerUsesOfIt) {
  ContainerProcess first(root(), 3, 17);
  ContainerProcess second(root(), 900, 18);
  first.account(0, 1'000);
  second.account(0, 200);
  second.account(1, 55);
  // 300 of overhead + 1000 + 200.
  EXPECT_EQ(memory_of(handle_of(kCard)), (Mebibytes{16'255, 1'500, 14'755}));
  EXPECT_EQ(memory_of(handle_of(kSecondCard)), (Mebibytes{1'000, 55, 945}));
}

TEST_F(NvmlMemoryTest, OfAnInstanceIsItsShare) {
  ContainerProcess process(root(), 0, 17);
  process.account(2, 100);
  EXPECT_EQ(memory_of(handle_of(kInstance)), (Mebibytes{4'000, 100, 3'900}));
}

TEST_F(NvmlMemoryTest, OfACardWithoutALimitIsTheDrivers) {
  Memory memory{};
  ASSERT_EQ(memory_info(handle_of(kFreeCard), &memory), fake_nvml::SUCCESS);
  EXPECT_EQ(memory.total, 32'510 * kMebibyte);
  EXPECT_EQ(memory.used, 9'030 * kMebibyte);
}

TEST_F(NvmlMemoryTest, IsAllUsedOnceTheLimitIsLowerThanTheUse) {
  ContainerProcess process(root(), 0, 17);
  process.account(1, 900);
  void* const card = handle_of(kSecondCard);
  EXPECT_EQ(memory_of(card), (Mebibytes{1'000, 900, 100}));
  auto lowered = limits();
  lowered[1].limit_mib = 500;
  change_limits(root(), lowered);
  EXPECT_EQ(memory_of(card), (Mebibytes{500, 500, 0}));
}

TEST_F(NvmlMemoryTest, LeavesOutWhatDeadProcessesHaveNotGivenBack) {
  ContainerProcess live(root(), 1, 17);
  ContainerProcess dead(root(), 2, 18);
  live.account(1, 10);
  dead.account(1, 600);
  dead.die();
  EXPECT_EQ(memory_of(handle_of(kSecondCard)), (Mebibytes{1'000, 10, 990}));
}

TEST_F(NvmlMemoryTest, IsAllUsedIfThePageIsGarbage) {
  ContainerProcess first(root(), 1, 17);
  ContainerProcess second(root(), 2, 18);
  first.account(1, ~std::uint64_t{0} / kMebibyte);
  second.account(1, ~std::uint64_t{0} / kMebibyte);
  EXPECT_EQ(memory_of(handle_of(kSecondCard)), (Mebibytes{1'000, 1'000, 0}));
}

TEST_F(NvmlMemoryTest, ChangesNothingInTheUsagePage) {
  ContainerProcess dead(root(), 2, 18);
  dead.account(0, 600);
  dead.die();
  const std::string before = content_of(root() + "/usage");
  (void)memory_of(handle_of(kCard));
  EXPECT_TRUE(content_of(root() + "/usage") == before);
}

TEST_F(NvmlMemoryTest, NeedsOnlyToReadThePages) {
  std::filesystem::permissions(root() + "/usage", std::filesystem::perms(0444));
  // Root may write any file.
  const uid_t user = geteuid();
  ASSERT_EQ(seteuid(user == 0 ? 65'534 : user), 0);
  EXPECT_LT(open_usage((root() + "/usage").c_str()).fd, 0);
  EXPECT_EQ(memory_of(handle_of(kCard)), (Mebibytes{16'255, 300, 15'955}));
  ASSERT_EQ(seteuid(user), 0);
}

// The driver's answer would be the whole card, with the use of all tenants.
TEST_F(NvmlMemoryTest, IsUnknownWithoutPages) {
  void* const card = handle_of(kCard);
  for (const char* const file : {"/usage", "/limits"}) {
    std::filesystem::remove(root() + file);
    Memory memory{1, 2, 3};
    MemoryV2 second{fake_nvml::MEMORY_V2, 1, 2, 3, 4};
    EXPECT_EQ(memory_info(card, &memory), kUnknownError) << file;
    EXPECT_EQ(memory_info_v2(card, &second), kUnknownError) << file;
    EXPECT_EQ(memory.total, 1U);
    EXPECT_EQ(second.total, 1U);
  }
}

TEST_F(NvmlMemoryTest, IsUnknownIfThePagesAreOfAnotherVersion) {
  std::fstream(root() + "/limits", std::ios::in | std::ios::out).seekp(8).put(2);
  Memory memory{};
  EXPECT_EQ(memory_info(handle_of(kCard), &memory), kUnknownError);
  EXPECT_EQ(memory_info(handle_of(kFreeCard), &memory), kUnknownError);
}

TEST_F(NvmlMemoryTest, IsRefusedAsTheDriverRefusesIt) {
  void* const card = handle_of(kCard);
  EXPECT_EQ(memory_info(card, nullptr), fake_nvml::ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory_info_v2(card, nullptr), fake_nvml::ERROR_INVALID_ARGUMENT);
  MemoryV2 newer{fake_nvml::MEMORY_V2 + (1U << 24U), 1, 2, 3, 4};
  EXPECT_EQ(memory_info_v2(card, &newer), fake_nvml::ERROR_ARGUMENT_VERSION_MISMATCH);
  EXPECT_EQ(newer.total, 1U);
  Memory memory{};
  EXPECT_EQ(memory_info(nullptr, &memory), fake_nvml::ERROR_NOT_FOUND);

  ASSERT_EQ(function<int()>("nvmlShutdown")(), fake_nvml::SUCCESS);
  EXPECT_EQ(memory_info(card, &memory), fake_nvml::ERROR_UNINITIALIZED);
  ASSERT_EQ(function<int()>("nvmlInit_v2")(), fake_nvml::SUCCESS);
}

}  // namespace
}  // namespace tangram::shim::testing
