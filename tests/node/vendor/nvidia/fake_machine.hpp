#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tangram::node::nvidia {

/// A machine whose NVML plays what the test writes (tests/fake_nvml/README.md). One at a time in a
/// process, made before the first thread: it sets the environment.
class FakeMachine {
 public:
  explicit FakeMachine(const std::string& script) {
    std::string pattern = ::testing::TempDir() + "fake_nvml_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    play(script);
    ::setenv("TANGRAM_FAKE_NVML", path().c_str(), 1);
  }
  ~FakeMachine() { std::filesystem::remove_all(folder_); }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  /// Moves the world, in one step.
  void play(const std::string& script) const {
    std::ofstream(path() + ".new") << script;
    std::filesystem::rename(path() + ".new", path());
  }

  [[nodiscard]] std::string path() const { return folder_ + "/script.json"; }
  /// Of a second file, for whatever the test needs.
  [[nodiscard]] std::string folder() const { return folder_; }

 private:
  std::string folder_;
};

inline constexpr const char* kFakeNvml = FAKE_NVML_LIBRARY;

}  // namespace tangram::node::nvidia
