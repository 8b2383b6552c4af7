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

}  // namespace tangram
