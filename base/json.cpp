#include "base/json.hpp"

#include "base/quote.hpp"
#include "base/rapidjson.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

namespace tangram::json {

namespace {

// Iterative: the depth of hostile input must not become the depth of our stack.
constexpr unsigned kParseFlags = rapidjson::kParseInsituFlag |
                                 rapidjson::kParseValidateEncodingFlag |
                                 rapidjson::kParseIterativeFlag;

enum class Token : std::uint8_t {
  kNull,
  kBool,
  kInteger,
  kTooLarge,  ///< an integer that int64 cannot hold
  kReal,
  kString,
  kKey,
  kBeginObject,
  kEndObject,
  kBeginArray,
  kEndArray,
  kEnd,
};

/// One token of the text. A container's first token knows where its last one is,
/// so that skipping costs nothing.
struct Entry {  // NOLINT(cppcoreguidelines-pro-type-member-init): one member of a union is enough
  Token token = Token::kEnd;
  std::uint32_t size = 0;  ///< of a text; for a container, the index of its closing token
  union {
    const char* text;
    std::int64_t integer = 0;
    double real;
    bool truth;
  };

  [[nodiscard]] std::string_view view() const { return {text, size}; }
};
static_assert(sizeof(Entry) == 16, "the tape is what decoding costs in memory");

/// UTF-8 for half of a UTF-16 pair, which RapidJSON 1.1 makes of a lone "\\udc00".
bool has_lone_surrogate(std::string_view text) {
  for (auto at = text.find('\xed'); at != std::string_view::npos; at = text.find('\xed', at + 1)) {
    if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0xa0) return true;
  }
  return false;
}

/// RapidJSON 1.1 checks a UTF-8 sequence only after it took all its bytes, so one that is cut off
/// by the end of the text would be read past it. A sequence of three or more bytes cannot begin
/// in the last two bytes of any JSON text, since a quote must follow it.
bool ends_inside_utf8(std::string_view text) {
  for (const char c : text.substr(text.size() - std::min<std::size_t>(text.size(), 2))) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0xe0 && byte <= 0xf4) return true;
  }
  return false;
}

/// Writes the tokens that RapidJSON reports onto the tape.
struct Tape {
  Tape(std::string_view json, rapidjson::InsituStringStream& text_stream)
      : stream(&text_stream),
        check_surrogates(json.find("\\ud") != std::string_view::npos ||
                         json.find("\\uD") != std::string_view::npos) {
    entries.reserve(json.size() / 16);  // kube-scheduler's bodies: about one token per 16 bytes
  }

  rapidjson::InsituStringStream* stream;
  std::vector<Entry> entries;
  bool check_surrogates;
  bool lone_surrogate = false;
  boost::container::small_vector<std::uint32_t, Reader::kMaxDepth> open;
  bool too_deep = false;
  bool too_big = false;

  Entry& add(Token token) {
    Entry& entry = entries.emplace_back();
    entry.token = token;
    return entry;
  }
  // NOLINTBEGIN(readability-identifier-naming): the names that RapidJSON calls
  bool Null() {
    add(Token::kNull);
    return true;
  }
  bool Bool(bool b) {
    add(Token::kBool).truth = b;
    return true;
  }
  bool Int(int i) { return Int64(i); }
  bool Uint(unsigned u) { return Int64(u); }
  bool Int64(std::int64_t i) {
    add(Token::kInteger).integer = i;
    return true;
  }
  bool Uint64(std::uint64_t u) {
    if (u <= INT64_MAX) return Int64(static_cast<std::int64_t>(u));
    add(Token::kTooLarge);
    return true;
  }
  bool Double(double d) {
    add(Token::kReal).real = d;
    too_big = !std::isfinite(d);  // RapidJSON refuses 1e309 by itself, but not 10e308
    return !too_big;
  }
  bool RawNumber(const char* /*s*/, rapidjson::SizeType /*n*/, bool /*copy*/) { return false; }
  bool String(const char* s, rapidjson::SizeType n, bool /*copy*/) {
    return text(Token::kString, s, n);
  }
  bool Key(const char* s, rapidjson::SizeType n, bool /*copy*/) { return text(Token::kKey, s, n); }
  bool StartObject() { return begin(Token::kBeginObject); }
  bool EndObject(rapidjson::SizeType /*members*/) { return end(Token::kEndObject); }
  bool StartArray() { return begin(Token::kBeginArray); }
  bool EndArray(rapidjson::SizeType /*elements*/) { return end(Token::kEndArray); }
  // NOLINTEND(readability-identifier-naming)

  bool text(Token token, const char* s, rapidjson::SizeType n) {
    Entry& entry = add(token);
    entry.text = s;
    entry.size = n;
    lone_surrogate = check_surrogates && has_lone_surrogate(entry.view());
    return !lone_surrogate;
  }
  /// A bracket notes where it stands: RapidJSON reports it before it moves on.
  void add_bracket(Token token) { add(token).integer = static_cast<std::int64_t>(stream->Tell()); }
  bool begin(Token token) {
    too_deep = open.size() == static_cast<std::size_t>(Reader::kMaxDepth);
    if (too_deep) return false;
    open.push_back(static_cast<std::uint32_t>(entries.size()));
    add_bracket(token);
    return true;
  }
  bool end(Token token) {
    entries[open.back()].size = static_cast<std::uint32_t>(entries.size());
    open.pop_back();
    add_bracket(token);
    return true;
  }
};

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
  explicit Impl(std::string& text) : stream(text.data()), tape(text, stream) {
    if (ends_inside_utf8(text)) {
      report("not valid JSON: the text ends inside a UTF-8 character");
    } else {
      parse(text.size());
    }
    tape.add(Token::kEnd);
  }

  void parse(std::size_t size) {
    rapidjson::Reader reader;
    if (!reader.Parse<kParseFlags>(stream, tape)) {
      report(why_refused(reader));
    } else if (stream.Tell() != size) {
      report("not valid JSON: a NUL byte follows the value");
    }
  }

  [[nodiscard]] std::string why_refused(const rapidjson::Reader& reader) const {
    if (tape.too_deep) return "nested deeper than " + std::to_string(kMaxDepth) + " levels";
    const std::string at = " (byte " + std::to_string(reader.GetErrorOffset()) + ")";
    if (tape.too_big) return "not valid JSON: Number too big to be stored in double" + at;
    if (tape.lone_surrogate) return "not valid JSON: half of a surrogate pair in a string" + at;
    std::string_view why = rapidjson::GetParseError_En(reader.GetParseErrorCode());
    while (!why.empty() && why.back() == '.') why.remove_suffix(1);
    return "not valid JSON: " + std::string(why) + at;
  }

  [[nodiscard]] const Entry& entry() const { return tape.entries[next]; }
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

  rapidjson::InsituStringStream stream;
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

Reader::Reader(std::string& text) : impl_(std::make_unique<Impl>(text)) {}
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
  if (impl_->token() == Token::kKey) return impl_->tape.entries[impl_->next++].view();
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
  const Entry& last = impl_->tape.entries[first.size];
  return {static_cast<std::size_t>(first.integer), static_cast<std::size_t>(last.integer) + 1};
}

bool Reader::failed() const { return impl_->error.has_value(); }

void Reader::fail(std::string message) { impl_->report(std::move(message)); }

Result<void> Reader::finish() {
  if (!failed() && impl_->token() != Token::kEnd) impl_->report("text goes on after the value");
  if (failed()) return tangram::fail(Errc::kInvalidArgument, *impl_->error);
  return {};
}

}  // namespace tangram::json
