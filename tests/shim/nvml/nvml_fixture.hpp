#pragma once

#include "tests/fake_nvml/abi.hpp"
#include "tests/shim/nvml/container_pages.hpp"
#include "tests/testing/temp_folder.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace tangram::shim::testing {

inline constexpr int kUnknownError = 999;

// NVML's functions, as a program has them that loads the stand-in.
using ListV1 = int(void*, unsigned*, fake_nvml::ProcessInfoV1*);
using ListV2 = int(void*, unsigned*, fake_nvml::ProcessInfo*);

/// A function of the stand-in library. It is loaded once, as in any program.
template <class Signature>
Signature* function(const char* name) {
  static void* const kLibrary = dlopen(STAND_IN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(kLibrary, nullptr) << dlerror();
  void* const found = kLibrary == nullptr ? nullptr : dlsym(kLibrary, name);
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Signature*>(found);
}

inline const std::string kCard = "GPU-01234567-89ab-cdef-0123-456789abcdef";
inline const std::string kSecondCard = "GPU-11111111-2222-3333-4444-555555555555";
inline const std::string kFreeCard = "GPU-99999999-8888-7777-6666-555555555555";
inline const std::string kInstance = "MIG-abababab-cdcd-efef-0101-232323232323";

/// A container on a machine with four cards of 32,510 MiB, one of them with a MIG instance. On each
/// run processes of other tenants. The container has limits for the first two and the instance.
class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() : before_(std::filesystem::current_path()) {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    std::filesystem::create_directories(root() + "/driver");
    std::filesystem::create_symlink(FAKE_NVML_LIBRARY, root() + "/driver/libnvidia-ml.so.1");
    std::ofstream(folder_.path() + "/script.json") << script();
    setenv("TANGRAM_FAKE_NVML", (folder_.path() + "/script.json").c_str(), 1);
    write_pages(root(), limits());
    std::filesystem::current_path(folder_.path());
  }
  ~NvmlTest() override { std::filesystem::current_path(before_); }

  void SetUp() override { ASSERT_EQ(function<int()>("nvmlInit_v2")(), fake_nvml::SUCCESS); }
  void TearDown() override { function<int()>("nvmlShutdown")(); }

  static std::vector<CardShare> limits() {
    return {{.uuid = kCard, .limit_mib = 16'255, .overhead_mib = 300},
            {.uuid = kSecondCard, .limit_mib = 1'000},
            {.uuid = kInstance, .limit_mib = 4'000}};
  }

  static void* handle_of(const std::string& uuid) {
    void* handle = nullptr;
    EXPECT_EQ(
        function<int(const char*, void**)>("nvmlDeviceGetHandleByUUID")(uuid.c_str(), &handle),
        fake_nvml::SUCCESS);
    return handle;
  }

  [[nodiscard]] std::string root() const { return folder_.path() + "/tangram"; }

 private:
  static std::string script() {
    const std::string others = R"("memMiB": 32510, "processes": [{"pid": 4711, "memMiB": 9000},
      {"pid": 4712, "memMiB": 10, "mps": true}, {"pid": 4713, "memMiB": 20, "graphics": true}])";
    return R"({"cards": [{"uuid": ")" + kCard + "\", " + others + R"(}, {"uuid": ")" + kSecondCard +
           "\", " + others + R"(}, {"uuid": ")" + kFreeCard + "\", " + others +
           R"(}, {"uuid": "GPU-77777777-0000-0000-0000-000000000000", "memMiB": 32510, "mig": true,
             "instances": [{"uuid": ")" +
           kInstance + R"(", "gi": 7, "ci": 1, )" + others + "}]}]}";
  }

  ::tangram::testing::TempFolder folder_;
  std::filesystem::path before_;
};

}  // namespace tangram::shim::testing
