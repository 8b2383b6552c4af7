#include "tests/e2e/starts.hpp"

#include <algorithm>
#include <fstream>

namespace tangram::e2e {

namespace {

namespace fs = std::filesystem;

/// UID.CONTAINER.NANOSECONDS; neither a UID nor a container's name has a dot.
Start read_record(const fs::path& file) {
  const std::string name = file.filename();
  const auto first = name.find('.');
  const auto last = name.rfind('.');
  Start start;
  start.uid = name.substr(0, first);
  start.container = name.substr(first + 1, last - first - 1);
  const std::chrono::nanoseconds since_epoch(std::stoll(name.substr(last + 1)));
  start.at = WallTime(std::chrono::duration_cast<WallTime::duration>(since_epoch));
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (equals == std::string::npos) continue;
    const bool fresh =
        start.environment.emplace(line.substr(0, equals), line.substr(equals + 1)).second;
    start.clean = start.clean && fresh;
  }
  return start;
}

}  // namespace

const std::vector<Start>& Starts::read() {
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (name.starts_with('.') || !seen_.insert(name).second) continue;
    starts_.push_back(read_record(entry.path()));
  }
  return starts_;
}

void Starts::forget() {
  read();
  starts_.clear();
}

std::vector<Start> Starts::of(const std::string& uid, const std::string& container) const {
  std::vector<Start> found;
  std::ranges::copy_if(starts_, std::back_inserter(found), [&](const Start& start) {
    return start.uid == uid && (container.empty() || start.container == container);
  });
  return found;
}

}  // namespace tangram::e2e
