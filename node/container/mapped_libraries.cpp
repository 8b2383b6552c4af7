#include "node/container/mapped_libraries.hpp"

#include "base/descriptor.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

namespace tangram::node {
namespace {

// 65,530 mappings, which is Linux's default, with paths of some 60 characters.
constexpr std::size_t kMostBytes = 8U << 20U;

Error failure(const std::string& what) {
  return fail(Errc::kUnavailable, what + ": " + std::generic_category().message(errno));
}

Descriptor open_to_read(const std::string& path) {
  return Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

/// "7f12a000-7f12b000 r-xp 00000000 08:01 1234    /usr/lib/libc.so.6"
std::optional<MappedFile> file_in(std::string_view line) {
  std::array<std::string_view, 5> words;  // addresses, rights, offset, device, inode
  for (std::string_view& word : words) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
  }
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (!line.starts_with('/')) return {};
  return MappedFile{std::string(words[3]) + ' ' + std::string(words[4]), std::string(line)};
}

bool is_library(const MappedFile& mapped, std::string_view library) {
  const std::string_view path = mapped.path;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (!file.starts_with(library)) return false;
  const std::string_view rest = file.substr(library.size());
  return rest.empty() || rest.starts_with('.') || rest.starts_with(' ');  // " (deleted)"
}

/// Calls visit(line) for each whole line.
template <class Visit>
Result<void> each_line(const std::string& path, const Visit& visit) {
  const Descriptor file = open_to_read(path);
  if (file.get() < 0 && errno != ENOENT) return failure(path);
  if (file.get() < 0) return fail(Errc::kNotFound, path + ": no such process");
  std::string text;
  std::array<char, 64U << 10U> piece{};
  for (std::size_t total = 0; total < kMostBytes;) {
    const ssize_t got = read(file.get(), piece.data(), piece.size());
    if (got == 0) return {};
    if (got < 0)
      return errno == ESRCH ? fail(Errc::kNotFound, path + ": it has ended") : failure(path);
    total += static_cast<std::size_t>(got);
    text.append(piece.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      visit(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
    text.erase(0, begin);
  }
  return fail(Errc::kUnavailable, path + ": the process has too many mappings to look at");
}

}  // namespace

Result<std::vector<MappedFile>> mapped_libraries(const std::string& maps,
                                                 std::string_view library) {
  std::vector<MappedFile> found;
  const auto read = each_line(maps, [&](std::string_view line) {
    if (line.find(library) == std::string_view::npos) return;  // most lines
    auto mapped = file_in(line);
    if (!mapped || !is_library(*mapped, library)) return;
    if (std::find(found.begin(), found.end(), *mapped) == found.end()) {
      found.push_back(std::move(*mapped));
    }
  });
  if (!read) return read.error();
  return found;
}

Result<std::string> mapped_identity(const std::string& path) {
  const Descriptor file = open_to_read(path);
  if (file.get() < 0) return failure(path);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped = mmap(nullptr, page, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return failure(path);
  std::string identity;
  const auto read = each_line("/proc/self/maps", [&](std::string_view line) {
    const auto found = file_in(line);
    if (found && found->path == path) identity = found->identity;
  });
  (void)munmap(mapped, page);
  if (!read) return read.error();
  if (identity.empty()) return fail(Errc::kUnavailable, path + ": it is mapped by another name");
  return identity;
}

}  // namespace tangram::node
