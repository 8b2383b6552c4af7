#include "base/json.hpp"
#include "base/rapidjson.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tangram::json {

namespace {

/// The output stream that RapidJSON's writer requires, over a caller's string.
struct StringSink {
  using Ch = char;
  std::string* out;
  // NOLINTBEGIN(readability-identifier-naming): the names that RapidJSON calls
  void Put(char c) const { out->push_back(c); }
  void Flush() const {}
  // NOLINTEND(readability-identifier-naming)
};

}  // namespace

struct Writer::Impl {
  explicit Impl(std::string& text) : out(&text), sink{&text}, writer(sink) {}

  /// RapidJSON writes byte by byte; of strings that need no escape, and of what is JSON already, it
  /// writes the comma or colon before, and the rest goes out in one piece.
  void write_string(std::string_view text) {
    write_raw("\"");
    out->append(text);
    out->push_back('"');
  }
  void write_raw(std::string_view text) {
    writer.RawValue("", 0, rapidjson::kStringType);
    out->append(text);
  }

  std::string* out;
  StringSink sink;
  rapidjson::Writer<StringSink> writer;
};

namespace {

rapidjson::SizeType length(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

/// Quotes, backslashes and control characters, eight bytes at a time: a byte b has its high bit set
/// in (b - 1) & ~b if it is zero, and b ^ c is zero where b is c.
bool needs_escape(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighs = 0x8080808080808080U;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto zero_bytes = [](std::uint64_t word) { return (word - kOnes) & ~word & kHighs; };
  const auto word_needs_it = [&](std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, kWord);
    const std::uint64_t control = (word - kOnes * 0x20) & ~word & kHighs;
    return (control | zero_bytes(word ^ kOnes * '"') | zero_bytes(word ^ kOnes * '\\')) != 0;
  };
  if (text.size() >= kWord) {
    for (std::size_t at = 0; at + kWord < text.size(); at += kWord) {
      if (word_needs_it(at)) return true;
    }
    return word_needs_it(text.size() - kWord);  // overlaps the one before it
  }
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
  });
}

/// RapidJSON asserts on a null pointer, which an empty view may hold.
const char* pointer(std::string_view text) { return text.data() != nullptr ? text.data() : ""; }

}  // namespace

Writer::Writer(std::string& out) : impl_(std::make_unique<Impl>(out)) {}
Writer::~Writer() = default;

Writer& Writer::begin_object() { return wrote(impl_->writer.StartObject()); }
Writer& Writer::end_object() { return wrote(impl_->writer.EndObject()); }
Writer& Writer::begin_array() { return wrote(impl_->writer.StartArray()); }
Writer& Writer::end_array() { return wrote(impl_->writer.EndArray()); }
Writer& Writer::key(std::string_view name) {
  if (needs_escape(name)) return wrote(impl_->writer.Key(pointer(name), length(name)));
  impl_->write_string(name);
  return *this;
}
Writer& Writer::string(std::string_view value) {
  if (needs_escape(value)) return wrote(impl_->writer.String(pointer(value), length(value)));
  impl_->write_string(value);
  return *this;
}
Writer& Writer::integer(std::int64_t value) { return wrote(impl_->writer.Int64(value)); }
Writer& Writer::number(double value) {
  return std::isfinite(value) ? wrote(impl_->writer.Double(value)) : null();
}
Writer& Writer::boolean(bool value) { return wrote(impl_->writer.Bool(value)); }
Writer& Writer::null() { return wrote(impl_->writer.Null()); }
Writer& Writer::raw(std::string_view json) {
  impl_->write_raw(json);
  return *this;
}

}  // namespace tangram::json
