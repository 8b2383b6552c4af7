#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

/// What the fuzzers share. Inputs of several parts are taken apart by libFuzzer's own
/// FuzzedDataProvider.
namespace tangram::fuzz {

/// What must hold for every input. Where it does not, the fuzzer keeps the input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Runs `work`, which reads an input of `size` bytes, and requires that its cost grows no faster:
/// 50 ms of processor time, and 20 us for each byte, which is four times what a review takes with
/// sanitizers. The best of three counts, since other programs disturb.
template <class Work>
void require_cheap(std::size_t size, const Work& work) {
  const double most_seconds = 0.05 + 20e-6 * static_cast<double>(size);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::clock_t begin = std::clock();
    work();
    if (static_cast<double>(std::clock() - begin) <= most_seconds * CLOCKS_PER_SEC) return;
  }
  require(false);
}

/// A file that lies in memory alone, for decoders that want a path. Threads: one.
class MemoryFile {
 public:
  MemoryFile() : file_(memfd_create("input", 0)) { require(file_ >= 0); }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void replace(std::string_view text) const {
    const auto size = static_cast<ssize_t>(text.size());
    require(ftruncate(file_, 0) == 0 && pwrite(file_, text.data(), text.size(), 0) == size);
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  const int file_;
};

}  // namespace tangram::fuzz
