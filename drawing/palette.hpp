#pragma once

#include "drawing/terminal.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::drawing {

/// A colour and a letter for each namespace. Neighbouring pods of one namespace differ in shade, or
/// in case.
class Palette {
 public:
  explicit Palette(std::vector<std::string> namespaces) : namespaces_(std::move(namespaces)) {}

  /// @param shade  any number: even and odd ones differ
  [[nodiscard]] Colour colour(std::string_view ns, std::size_t shade) const;
  [[nodiscard]] char letter(std::string_view ns, std::size_t shade) const;

 private:
  [[nodiscard]] std::size_t index(std::string_view ns) const;

  std::vector<std::string> namespaces_;
};

}  // namespace tangram::drawing
