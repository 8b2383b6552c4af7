# cmake -DOUTPUT=FILE.cpp -DFOLDER=DIR -DFILES="a.js;b.css" -P EmbedFiles.cmake
# Writes a table of text files as C++, for extender/page/page_files.hpp.

set(kinds_html "text/html; charset=utf-8")
set(kinds_css "text/css; charset=utf-8")
set(kinds_js "text/javascript; charset=utf-8")
set(kinds_svg "image/svg+xml")

set(rows "")
foreach(name ${FILES})
  file(READ ${FOLDER}/${name} text)
  file(SHA256 ${FOLDER}/${name} hash)
  string(SUBSTRING ${hash} 0 16 tag)
  string(REGEX REPLACE ".*\\." "" kind ${name})
  if(NOT DEFINED kinds_${kind})
    message(FATAL_ERROR "${name}: unknown media type of .${kind}; add it above")
  endif()
  # Some compilers accept no literal over 64 KiB.
  string(LENGTH "${text}" length)
  if(length GREATER 65000 OR text MATCHES "\\)embedded\"")
    message(FATAL_ERROR "${name}: does not fit a C++ literal; split it")
  endif()
  string(APPEND rows "    {\"${name}\", \"${kinds_${kind}}\", \"${tag}\", R\"embedded(${text})embedded\"},\n")
endforeach()

file(WRITE ${OUTPUT} "// Made by cmake/EmbedFiles.cmake.
#include \"extender/page/page_files.hpp\"

#include <array>

namespace tangram::extender {

std::span<const PageFile> page_files() {
  static const auto kFiles = std::to_array<PageFile>({
${rows}  });
  return kFiles;
}

}  // namespace tangram::extender
")
