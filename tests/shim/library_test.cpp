// The stand-in libraries load into any image: what they need, what they export, and when they run.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>
#include <string>

namespace tangram::shim {
namespace {

/// The lines that a program prints.
std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> buffer{};
  while (fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) text += buffer.data();
  return text;
}

class LibraryTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path_ = GetParam();
};

TEST_P(LibraryTest, NeedsLibcOnly) {
  std::istringstream lines(output_of("readelf -d " + path_));
  std::set<std::string> needed;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    const auto begin = line.find('[') + 1;
    needed.insert(line.substr(begin, line.find(']') - begin));
  }
  EXPECT_EQ(needed, (std::set<std::string>{"libc.so.6", "libdl.so.2", "libpthread.so.0"}));
}

TEST_P(LibraryTest, RunsNothingWhenItIsLoaded) {
  const std::string dynamic = output_of("readelf -d " + path_);
  ASSERT_NE(dynamic.find("SONAME"), std::string::npos);
  for (const char* const entry : {"INIT", "FINI", "TEXTREL"}) {
    EXPECT_EQ(dynamic.find(entry), std::string::npos) << dynamic;
  }
}

TEST_P(LibraryTest, NeedsNoSymbolAboveGlibc217) {
  std::istringstream lines(output_of("objdump -T " + path_));
  int versions = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find("GLIBC_");
    if (at == std::string::npos) continue;
    ++versions;
    int minor = 0;
    ASSERT_EQ(std::sscanf(line.c_str() + at, "GLIBC_2.%d", &minor), 1) << line;
    EXPECT_LE(minor, 17) << line;
  }
  EXPECT_GT(versions, 10);
}

TEST_P(LibraryTest, ExportsTheDriversNamesOnly) {
  std::istringstream lines(output_of("nm -D --defined-only " + path_));
  int exported = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(line.rfind(' ') + 1);
    EXPECT_TRUE(name.starts_with("cu") || name.starts_with("nvml")) << name;
    ++exported;
  }
  EXPECT_GT(exported, 400);
}

INSTANTIATE_TEST_SUITE_P(All, LibraryTest,
                         ::testing::Values(TANGRAM_SHIPPED_CUDA, TANGRAM_SHIPPED_NVML),
                         [](const auto& param) { return param.index == 0 ? "Cuda" : "Nvml"; });

}  // namespace
}  // namespace tangram::shim
