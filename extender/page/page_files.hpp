#pragma once

#include <span>
#include <string_view>

namespace tangram::extender {

/// A file of the packing page, as it stands in extender/page; part of the program, so that one
/// binary is all there is to install.
struct PageFile {
  std::string_view name;  ///< "main.js"
  std::string_view media_type;
  std::string_view hash;  ///< of the content: another one, another content
  std::string_view text;
};

[[nodiscard]] std::span<const PageFile> page_files();

}  // namespace tangram::extender
