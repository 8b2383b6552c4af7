#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

/// Lines on stderr, in one write each. Nothing is allocated.
namespace tangram::shim {

/// A piece of a line: text, or a number.
struct Word {
  // NOLINTBEGIN(google-explicit-constructor): a line is a list of both
  Word(std::string_view piece) : text(piece) {}
  Word(const char* piece) : text(piece) {}
  Word(std::uint64_t count) : number(count) {}
  // NOLINTEND(google-explicit-constructor)
  std::string_view text;
  std::uint64_t number = 0;
};

/// At most 512 bytes: what is longer is cut.
void log_line(std::initializer_list<Word> words);

}  // namespace tangram::shim
