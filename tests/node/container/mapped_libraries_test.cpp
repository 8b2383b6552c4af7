#include "node/container/mapped_libraries.hpp"

#include "tests/testing/temp_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tangram::node {
namespace {

class MappedLibrariesTest : public ::testing::Test {
 protected:
  Result<std::vector<MappedFile>> libraries_in(const std::string& text) {
    const std::string path = folder_.path() + "/maps";
    std::ofstream(path) << text;
    return mapped_libraries(path, "libcuda.so");
  }

  testing::TempFolder folder_;
};

TEST_F(MappedLibrariesTest, FindsEachFileWithTheNameOnce) {
  const auto found = libraries_in(
      "00400000-00401000 r-xp 00000000 08:01 17                         /app/libcuda.so-user\n"
      "7f0000000000-7f0000001000 r--p 00000000 08:01 1234               /usr/lib/libcuda.so.550.1\n"
      "7f0000001000-7f0000002000 r-xp 00001000 08:01 1234               /usr/lib/libcuda.so.550.1\n"
      "7f0000002000-7f0000003000 r-xp 00001000 08:01 99                 /usr/lib/libcudart.so.12\n"
      "7f0000003000-7f0000004000 rw-p 00000000 00:00 0 \n"
      "7f0000004000-7f0000005000 r-xp 00000000 fd:02 5   /a b/libcuda.so (deleted)\n"
      "7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0                  [vdso]\n");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, (std::vector<MappedFile>{{"08:01 1234", "/usr/lib/libcuda.so.550.1"},
                                             {"fd:02 5", "/a b/libcuda.so (deleted)"}}));
}

TEST_F(MappedLibrariesTest, ReadsOddTextsWithoutHarm) {
  for (const char* const text : {"", "\n\n", "libcuda.so\n", "/libcuda.so",
                                 "a b c d e libcuda.so\n", "a b c d e /", "   \n a\n"}) {
    const auto found = libraries_in(text);
    ASSERT_TRUE(found) << text;
    EXPECT_TRUE(found->empty()) << text;
  }
}

TEST_F(MappedLibrariesTest, OfAnEndedProcessAreNotFound) {
  const auto found = mapped_libraries(folder_.path() + "/none/maps", "libcuda.so");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kNotFound);
}

TEST_F(MappedLibrariesTest, GivesUpOnMoreMappingsThanAProcessHas) {
  std::string text;
  while (text.size() < (9U << 20U)) {
    text += "7f0000000000-7f0000001000 r--p 00000000 08:01 1234 /" + std::string(4000, 'x') + "\n";
  }
  const auto found = libraries_in(text + "7f-7f r-xp 0 08:01 1 /libcuda.so\n");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kUnavailable);
}

TEST_F(MappedLibrariesTest, AFilesIdentityIsThatOfItsMappings) {
  const std::string path = folder_.path() + "/libcuda.so.1";
  std::ofstream(path) << "a library";
  const auto identity = mapped_identity(path);
  ASSERT_TRUE(identity) << identity.error().message;
  std::filesystem::create_hard_link(path, folder_.path() + "/libcuda.so.2");
  const int fd = open((folder_.path() + "/libcuda.so.2").c_str(), O_RDONLY | O_CLOEXEC);
  void* const mapped = mmap(nullptr, 9, PROT_READ, MAP_PRIVATE, fd, 0);
  const auto found = mapped_libraries("/proc/self/maps", "libcuda.so");
  (void)munmap(mapped, 9);
  (void)close(fd);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (std::vector<MappedFile>{{*identity, folder_.path() + "/libcuda.so.2"}}));
  EXPECT_FALSE(mapped_identity(folder_.path() + "/none"));
}

}  // namespace
}  // namespace tangram::node
