#include "base/file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

namespace tangram {

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 16'384> part{};
  while (file.read(part.data(), part.size()) || file.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  // Reading ends at the end of the file and nowhere else; a folder fails at its first byte.
  if (!file.eof()) {
    return fail(Errc::kNotFound, path + ": cannot be read; check the path and its rights");
  }
  return text;
}

Result<void> replace_file(const std::string& path, std::string_view text) {
  const std::string part = path + std::string(kPartSuffix);
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file.fail() || std::rename(part.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): glibc's is safe
    std::remove(part.c_str());
    return fail(Errc::kUnavailable, path + ": cannot be written: " + why);
  }
  return {};
}

}  // namespace tangram
