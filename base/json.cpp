#include "base/json.hpp"

#include "base/json_tape.hpp"
#include "base/one_line.hpp"
#include "base/quote.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace tangram::json {

namespace {

constexpr std::array<Kind, static_cast<std::size_t>(Token::kEnd) + 1> kKinds{
    Kind::kNull,   Kind::kBool, Kind::kNumber, Kind::kNumber, Kind::kNumber, Kind::kString,
    Kind::kNone,  // a key
    Kind::kObject, Kind::kNone, Kind::kArray,  Kind::kNone,   Kind::kNone};
Kind kind_of(Token token) { return kKinds[static_cast<std::size_t>(token)]; }

constexpr const char* kTooLargeMessage = "the number is outside of -2^63 to 2^63-1";

/// The shortest digits that read back as the same number; never an exponent, which not every
/// reader of quantities knows.
std::string decimal_text(double value) {
  using Limits = std::numeric_limits<double>;
  // The longest: "-0." and the zeros and digits of the smallest number.
  std::array<char, 3 - Limits::min_exponent10 + 2 * Limits::max_digits10> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr;
  return {text.data(), end};
}

constexpr std::array<std::string_view, static_cast<std::size_t>(Kind::kNone) + 1> kKindNames{
    "null", "a boolean", "a number", "a string", "an object", "an array", "nothing"};
std::string_view name_of(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

}  // namespace

struct Reader::Impl {
  Impl(std::string& text, const Outline* outline) {
    auto parsed = parse(text, outline);
    if (parsed) {
      tape = std::move(*parsed);
    } else {
      tape.emplace_back();
      report(std::move(parsed.error().message));
    }
  }

  [[nodiscard]] const Entry& entry() const { return tape[next]; }
  [[nodiscard]] Token token() const { return error ? Token::kEnd : entry().token; }

  void report(std::string message) {
    if (error) return;
    std::string where;
    for (const std::string_view part : path) {
      if (!where.empty()) where += '.';
      where += quote_if_needed(part);
    }
    error = where.empty() ? std::move(message) : where + ": " + message;
  }

  void expected(std::string_view what) {
    report("expected " + std::string(what) + ", found " + std::string(name_of(kind_of(token()))));
  }

  /// Moves behind the next token. @returns null, and an error, if it is another one
  [[nodiscard]] const Entry* take(Token wanted, std::string_view what) {
    if (error) return nullptr;
    const Entry& found = entry();
    if (found.token == wanted) {
      ++next;
      return &found;
    }
    expected(what);
    return nullptr;
  }

  /// A number that no int64 holds; an integer past 2^64 comes as a double.
  [[nodiscard]] bool is_too_large() const {
    return token() == Token::kTooLarge ||
           (token() == Token::kReal && std::fabs(entry().real) >= 0x1p63);
  }

  Tape tape;
  std::size_t next = 0;  ///< the token that has not been read yet
  boost::container::small_vector<std::string_view, 16> path;
  std::optional<std::string> error;
};

bool Reader::KeySet::add(std::string_view key) {
  if (many_.empty()) {
    for (const std::string_view known : few_) {
      if (known == key) return false;
    }
    if (few_.size() < kLinear) {
      few_.push_back(key);
      return true;
    }
    many_.insert(few_.begin(), few_.end());
  }
  return many_.insert(key).second;
}

Reader::Reader(std::string& text) : impl_(std::make_unique<Impl>(text, nullptr)) {}
Reader::Reader(std::string& text, const Outline& outline)
    : impl_(std::make_unique<Impl>(text, &outline)) {}
Reader::~Reader() = default;

Kind Reader::kind() const { return kind_of(impl_->token()); }

bool Reader::begin(Kind kind) {
  if (failed()) return false;
  const Kind found = this->kind();
  if (found != kind && found != Kind::kNull) {
    impl_->expected(name_of(kind));
    return false;
  }
  ++impl_->next;
  return found == kind;
}

std::optional<std::string_view> Reader::next_key() {
  if (failed()) return std::nullopt;
  if (impl_->token() == Token::kEndObject) {
    ++impl_->next;
    return std::nullopt;
  }
  if (impl_->token() == Token::kKey) return impl_->tape[impl_->next++].view();
  impl_->report("the member before this value was not read");
  return std::nullopt;
}

bool Reader::next_element() {
  if (failed()) return false;
  if (impl_->token() != Token::kEndArray) return true;
  ++impl_->next;
  return false;
}

std::size_t Reader::position() const { return impl_->next; }

void Reader::fail_duplicate(std::string_view key) {
  impl_->report("key " + quote(key) + " stands twice");
}

void Reader::enter(std::string_view key) { impl_->path.push_back(key); }
void Reader::leave() { impl_->path.pop_back(); }

std::string_view Reader::string() {
  const Entry* text = impl_->take(Token::kString, "a string");
  return text == nullptr ? std::string_view() : text->view();
}

std::string_view Reader::string_or_null() {
  if (impl_->token() != Token::kNull) return string();
  ++impl_->next;
  return {};
}

std::int64_t Reader::integer() {
  if (impl_->is_too_large()) impl_->report(kTooLargeMessage);
  const Entry* number = impl_->take(Token::kInteger, "a whole number");
  return number == nullptr ? 0 : number->integer;
}

bool Reader::boolean() {
  const Entry* truth = impl_->take(Token::kBool, "true or false");
  return truth != nullptr && truth->truth;
}

std::string Reader::scalar_text() {
  if (failed()) return {};
  const Token token = impl_->token();
  if (token == Token::kTooLarge) impl_->report(kTooLargeMessage);
  if (token != Token::kString && token != Token::kInteger && token != Token::kReal) {
    impl_->expected("a string or a number");
    return {};
  }
  const Entry& entry = impl_->entry();
  ++impl_->next;
  if (token == Token::kString) return std::string(entry.view());
  return token == Token::kInteger ? std::to_string(entry.integer) : decimal_text(entry.real);
}

void Reader::skip() {
  if (failed()) return;
  const Kind next = kind();
  if (next == Kind::kNone) return impl_->expected("a value");
  if (next == Kind::kObject || next == Kind::kArray) impl_->next = impl_->entry().size;
  ++impl_->next;
}

Reader::Span Reader::span() const {
  if (kind() != Kind::kObject && kind() != Kind::kArray) return {};
  const Entry& first = impl_->entry();
  const Entry& last = impl_->tape[first.size];
  return {static_cast<std::size_t>(first.integer), static_cast<std::size_t>(last.integer) + 1};
}

std::size_t Reader::tokens_inside() const {
  if (kind() != Kind::kObject && kind() != Kind::kArray) return 0;
  return impl_->entry().size - impl_->next - 1;
}

bool Reader::failed() const { return impl_->error.has_value(); }

void Reader::fail(std::string message) { impl_->report(std::move(message)); }

void Reader::make_texts_lines() {
  for (Entry& entry : impl_->tape) {
    if (entry.token != Token::kString) continue;
    const std::string line = one_line(entry.view());  // never longer
    std::ranges::copy(line, entry.text);
    entry.size = static_cast<std::uint32_t>(line.size());
  }
}

void Reader::rewind() {
  impl_->next = 0;
  impl_->path.clear();
}

Result<void> Reader::finish() {
  if (!failed() && impl_->token() != Token::kEnd) impl_->report("text goes on after the value");
  if (failed()) return tangram::fail(Errc::kInvalidArgument, *impl_->error);
  return {};
}

}  // namespace tangram::json
