#include "base/json.hpp"
#include "base/json_scan.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace tangram;
using fuzz::require;
using Parts = std::vector<std::string_view>;

/// Parts stand in the text one behind the other.
class InOrder {
 public:
  explicit InOrder(std::string_view text) : from_(text.data()), end_(text.data() + text.size()) {}
  void operator()(std::string_view part) {
    require(part.data() >= from_ && part.data() + part.size() <= end_);
    from_ = part.data() + part.size();
  }

 private:
  const char* from_;
  const char* end_;
};

/// The parts that a reader finds, down to the leaves; `text` is what it was made of, unchanged.
void compare(json::Reader& in, std::string_view value) {
  Parts parts;
  std::size_t next = 0;
  const auto compare_next = [&] {
    require(next < parts.size());
    compare(in, parts[next++]);
  };
  if (in.kind() == json::Kind::kObject) {
    require(json::for_each_member(
        value, [&](std::string_view, std::string_view part) { parts.push_back(part); }));
    in.object([&](std::string_view /*key*/) { compare_next(); });
    require(in.failed() || next == parts.size());
  } else if (in.kind() == json::Kind::kArray) {
    require(json::for_each_element(value, [&](std::string_view part) { parts.push_back(part); }));
    in.array(compare_next);
    require(in.failed() || next == parts.size());
  } else {
    require(json::end_of_value(value, json::skip_space(value, 0)) <= value.size());
    in.skip();
  }
}

/// Strings that stand for themselves are exactly what a reader finds.
void compare_plain_strings(std::string_view text) {
  Parts strings;
  const std::size_t end = json::read_plain_strings(text, 0, strings);
  if (end == std::string_view::npos) return;
  std::string copy(text.substr(0, end));
  json::Reader in(copy);
  std::size_t next = 0;
  in.array([&] { require(next < strings.size() && in.string() == strings[next++]); });
  require(in.finish() && next == strings.size());
}

bool is_json(std::string text) {
  json::Reader in(text);
  in.skip();
  return in.finish().has_value();
}

}  // namespace

/// Any text: the parts lie in it, in order; of JSON they are its values.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  InOrder members(text);
  static_cast<void>(json::for_each_member(text, [&](std::string_view key, std::string_view value) {
    members(key);
    members(value);
  }));
  InOrder elements(text);
  static_cast<void>(json::for_each_element(text, [&](std::string_view value) {
    elements(value);
    require(json::raw_string(value).size() <= value.size());
  }));
  compare_plain_strings(text);
  if (!is_json(std::string(text))) return 0;
  std::string copy(text);
  json::Reader in(copy);
  compare(in, text);
  return 0;
}
