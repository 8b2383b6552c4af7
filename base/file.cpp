#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

namespace tangram {

namespace {

std::string last_reason() {
  return std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): glibc's is safe
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const auto written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

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
    const std::string why = last_reason();
    std::remove(part.c_str());
    return fail(Errc::kUnavailable, path + ": cannot be written: " + why);
  }
  return {};
}

Result<void> create_private_file(const std::string& path, std::string_view text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0 && errno == EEXIST) {
    return fail(Errc::kConflict, path + ": is there already, and is not overwritten");
  }
  if (file < 0) return fail(Errc::kUnavailable, path + ": cannot be written: " + last_reason());
  bool written = write_all(file, text);
  const std::string why = last_reason();
  written = close(file) == 0 && written;
  if (written) return {};
  std::remove(path.c_str());
  return fail(Errc::kUnavailable, path + ": cannot be written: " + why);
}

}  // namespace tangram
