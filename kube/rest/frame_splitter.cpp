#include "kube/rest/frame_splitter.hpp"

namespace tangram::kube {

std::optional<std::string> FrameSplitter::next() {
  for (;;) {
    const std::size_t end = bytes_.find('\n', searched_);
    if (end == std::string::npos) {
      bytes_.erase(0, begin_);
      begin_ = 0;
      searched_ = bytes_.size();
      return std::nullopt;
    }
    std::string frame = bytes_.substr(begin_, end - begin_);
    begin_ = searched_ = end + 1;
    if (!frame.empty() && frame.back() == '\r') frame.pop_back();
    if (!frame.empty()) return frame;
  }
}

}  // namespace tangram::kube
