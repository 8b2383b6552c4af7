#include "shim/log.hpp"

#include "shim/cancellation.hpp"

#include <unistd.h>

#include <array>
#include <cstddef>

namespace tangram::shim {
namespace {

class Line {
 public:
  void add(char c) {
    if (size_ < text_.size() - 1) text_[size_++] = c;
  }
  void add(std::string_view text) {
    for (const char c : text) add(c);
  }
  void add(std::uint64_t number) {
    if (number >= 10) add(number / 10);
    add(static_cast<char>('0' + number % 10));
  }
  void end() {
    text_[size_++] = '\n';
    if (write(STDERR_FILENO, text_.data(), size_) < 0) size_ = 0;  // nobody to tell
  }

 private:
  std::array<char, 512> text_{};
  std::size_t size_ = 0;
};

}  // namespace

void log_line(std::initializer_list<Word> words) {
  const Uncancelled uncancelled;
  Line line;
  line.add("tangram: ");
  for (const Word& word : words) {
    if (word.text.data() != nullptr) {
      line.add(word.text);
    } else {
      line.add(word.number);
    }
  }
  line.end();
}

}  // namespace tangram::shim
