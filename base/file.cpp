#include "base/file.hpp"

#include <array>
#include <fstream>

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

}  // namespace tangram
