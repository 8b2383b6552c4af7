#include "base/folder.hpp"

#include <filesystem>
#include <system_error>
#include <vector>

namespace tangram {

void remove_all_but(const std::string& folder, const std::set<std::string, std::less<>>& names) {
  std::vector<std::filesystem::path> superfluous;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (!names.contains(entry.path().filename().string())) superfluous.push_back(entry.path());
  }
  for (const auto& path : superfluous) std::filesystem::remove_all(path, ignored);
}

Result<std::set<std::string>> config_map_files(const std::string& folder) {
  namespace fs = std::filesystem;
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    std::error_code gone;
    if (!name.starts_with('.') && entry->is_regular_file(gone)) names.insert(std::move(name));
  }
  if (!error) return names;
  return fail(Errc::kUnavailable, folder + ": " + error.message());
}

}  // namespace tangram
