#pragma once

#include "tests/e2e/environment.hpp"
#include "tests/e2e/node_fixture.hpp"
#include "tests/fake_cuda/card_file.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tangram::e2e {

/// A real node with one card of 32,510 MiB, whose memory the stand-in libraries limit. The driver
/// under them is tests/fake_cuda.
class LibraryNodeTest : public NodeTest {
 protected:
  static constexpr std::uint64_t kMiB = 1U << 20U;
  static constexpr int kCardMib = 32'510;

  LibraryNodeTest();
  ~LibraryNodeTest() override;

  void start_library_agent(const std::vector<std::string>& more = {});
  /// A pod whose container shares the card by time-slice, with a C library for CUDA programs.
  void create_and_wait(const std::string& name, const std::string& fraction,
                       const std::map<std::string, std::string>& more = {},
                       const std::map<std::string, std::string>& env = {});
  /// Answers of CUDA's driver in the container, one on each line.
  static std::string ask(const std::string& pod, const std::string& how,
                         const std::string& commands);

  const std::filesystem::path root_ = environment().state / "node";
  fake_cuda::CardFile* card_ = nullptr;

 private:
  void make_driver();
};

}  // namespace tangram::e2e
