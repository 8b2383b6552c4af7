#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::kube {

/// Cuts a stream of bytes into the lines of newline-delimited JSON, however the bytes arrive.
/// Empty lines are nothing. Threads: one at a time.
class FrameSplitter {
 public:
  void add(std::string_view bytes) { bytes_.append(bytes); }

  /// The next whole frame. @returns nothing until its line end has come
  [[nodiscard]] std::optional<std::string> next();

  /// Bytes of a frame that has begun; after next() has returned nothing.
  [[nodiscard]] std::size_t unfinished() const { return bytes_.size() - begin_; }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;     ///< before it: given out already
  std::size_t searched_ = 0;  ///< no line end from begin_ to here: each byte is looked at once
};

}  // namespace tangram::kube
