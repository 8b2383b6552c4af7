#include "base/json.hpp"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#include <rapidjson/writer.h>

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
struct Entry {
  Token token = Token::kEnd;
  std::uint32_t size = 0;  ///< of a text; for a container, the index of its closing token
  union {
    const char* text;
    std::int64_t integer;
    double real;
    bool truth;
  };

  [[nodiscard]] std::string_view view() const { return {text, size}; }
};
static_assert(sizeof(Entry) == 16, "the tape is what decoding costs in memory");

/// Writes the tokens that RapidJSON reports onto the tape.
struct Tape {
  std::vector<Entry> entries;
  boost::container::small_vector<std::uint32_t, Reader::kMaxDepth> open;
  bool too_deep = false;

  Entry& add(Token token) {
    Entry& entry = entries.emplace_back();
    entry.token = token;
    entry.integer = 0;
    return entry;
  }
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
    return true;
  }
  bool RawNumber(const char* /*s*/, rapidjson::SizeType /*n*/, bool /*copy*/) { return false; }
  bool text(Token token, const char* s, rapidjson::SizeType n) {
    Entry& entry = add(token);
    entry.text = s;
    entry.size = n;
    return true;
  }
  bool String(const char* s, rapidjson::SizeType n, bool /*copy*/) {
    return text(Token::kString, s, n);
  }
  bool Key(const char* s, rapidjson::SizeType n, bool /*copy*/) { return text(Token::kKey, s, n); }
  bool begin(Token token) {
    too_deep = open.size() == static_cast<std::size_t>(Reader::kMaxDepth);
    if (too_deep) return false;
    open.push_back(static_cast<std::uint32_t>(entries.size()));
    add(token);
    return true;
  }
  bool end(Token token) {
    entries[open.back()].size = static_cast<std::uint32_t>(entries.size());
    open.pop_back();
    add(token);
    return true;
  }
  bool StartObject() { return begin(Token::kBeginObject); }
  bool EndObject(rapidjson::SizeType /*members*/) { return end(Token::kEndObject); }
  bool StartArray() { return begin(Token::kBeginArray); }
  bool EndArray(rapidjson::SizeType /*elements*/) { return end(Token::kEndArray); }
};

Kind kind_of(Token token) {
  switch (token) {
    case Token::kNull: return Kind::kNull;
    case Token::kBool: return Kind::kBool;
    case Token::kInteger:
    case Token::kTooLarge:
    case Token::kReal: return Kind::kNumber;
    case Token::kString: return Kind::kString;
    case Token::kBeginObject: return Kind::kObject;
    case Token::kBeginArray: return Kind::kArray;
    case Token::kKey:
    case Token::kEndObject:
    case Token::kEndArray:
    case Token::kEnd: return Kind::kNone;
  }
  return Kind::kNone;
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kNull: return "null";
    case Kind::kBool: return "a boolean";
    case Kind::kNumber: return "a number";
    case Kind::kString: return "a string";
    case Kind::kObject: return "an object";
    case Kind::kArray: return "an array";
    case Kind::kNone: return "nothing";
  }
  return "nothing";
}

}  // namespace

struct Reader::Impl {
  explicit Impl(std::string& text) {
    tape.entries.reserve(text.size() / 16);  // kube-scheduler's bodies: about one token per 16 bytes
    rapidjson::InsituStringStream stream(text.data());
    rapidjson::Reader reader;
    if (!reader.Parse<kParseFlags>(stream, tape)) {
      report(tape.too_deep ? "nested deeper than " + std::to_string(kMaxDepth) + " levels"
                           : describe(reader));
    } else if (stream.Tell() != text.size()) {
      report("not valid JSON: the text holds a NUL byte");
    }
    tape.add(Token::kEnd);
  }

  static std::string describe(const rapidjson::Reader& reader) {
    return std::string("not valid JSON: ") +
           rapidjson::GetParseError_En(reader.GetParseErrorCode()) + " (byte " +
           std::to_string(reader.GetErrorOffset()) + ")";
  }

  [[nodiscard]] const Entry& entry() const { return tape.entries[next]; }
  [[nodiscard]] Token token() const { return error ? Token::kEnd : entry().token; }

  void report(std::string message) {
    if (error) return;
    std::string where;
    for (const std::string_view part : path) {
      if (!where.empty()) where += '.';
      where += part;
    }
    error = where.empty() ? std::move(message) : where + ": " + message;
  }

  void expected(std::string_view what) {
    report("expected " + std::string(what) + ", found " + std::string(name_of(kind_of(token()))));
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

Reader::Reader(std::string& text) : impl_(std::make_unique<Impl>(text)) {}
Reader::~Reader() = default;

Kind Reader::kind() const { return kind_of(impl_->token()); }

bool Reader::begin(Kind kind) {
  if (failed()) return false;
  if (this->kind() == Kind::kNull) {
    ++impl_->next;
    return false;
  }
  if (this->kind() != kind) {
    impl_->expected(name_of(kind));
    return false;
  }
  ++impl_->next;
  return true;
}

std::optional<std::string_view> Reader::next_key() {
  if (failed()) return std::nullopt;
  if (impl_->token() == Token::kEndObject) {
    ++impl_->next;
    return std::nullopt;
  }
  const std::string_view key = impl_->entry().view();
  ++impl_->next;
  return key;
}

bool Reader::next_element() {
  if (failed()) return false;
  if (impl_->token() != Token::kEndArray) return true;
  ++impl_->next;
  return false;
}

void Reader::enter(std::string_view key) { impl_->path.push_back(key); }
void Reader::leave() { impl_->path.pop_back(); }

std::string_view Reader::string() {
  if (failed()) return {};
  if (impl_->token() != Token::kString) {
    impl_->expected("a string");
    return {};
  }
  const std::string_view value = impl_->entry().view();
  ++impl_->next;
  return value;
}

std::string_view Reader::string_or_null() {
  if (kind() != Kind::kNull) return string();
  ++impl_->next;
  return {};
}

std::int64_t Reader::integer() {
  if (failed()) return 0;
  if (impl_->token() == Token::kTooLarge) {
    impl_->report("number is larger than 2^63-1");
    return 0;
  }
  if (impl_->token() != Token::kInteger) {
    impl_->expected("a whole number");
    return 0;
  }
  const std::int64_t value = impl_->entry().integer;
  ++impl_->next;
  return value;
}

bool Reader::boolean() {
  if (failed()) return false;
  if (impl_->token() != Token::kBool) {
    impl_->expected("true or false");
    return false;
  }
  const bool value = impl_->entry().truth;
  ++impl_->next;
  return value;
}

std::string Reader::scalar_text() {
  if (failed()) return {};
  const Token token = impl_->token();
  const Entry& entry = impl_->entry();
  if (token != Token::kString && token != Token::kInteger && token != Token::kReal) {
    impl_->expected("a string or a number");
    return {};
  }
  ++impl_->next;
  if (token == Token::kString) return std::string(entry.view());
  return token == Token::kInteger ? std::to_string(entry.integer) : std::to_string(entry.real);
}

void Reader::skip() {
  if (failed()) return;
  const Kind next = kind();
  if (next == Kind::kNone) return impl_->expected("a value");
  if (next == Kind::kObject || next == Kind::kArray) impl_->next = impl_->entry().size;
  ++impl_->next;
}

bool Reader::failed() const { return impl_->error.has_value(); }

void Reader::fail(std::string message) { impl_->report(std::move(message)); }

Result<void> Reader::finish() {
  if (!failed() && impl_->token() != Token::kEnd) impl_->report("text goes on after the value");
  if (failed()) return tangram::fail(Errc::kInvalidArgument, *impl_->error);
  return {};
}

namespace {

/// The output stream that RapidJSON's writer asks for, over a caller's string.
struct StringSink {
  using Ch = char;
  std::string* out;
  void Put(char c) const { out->push_back(c); }
  void Flush() const {}
};

}  // namespace

struct Writer::Impl {
  explicit Impl(std::string& text) : out(&text), sink{&text}, writer(sink) {}

  std::string* out;
  StringSink sink;
  rapidjson::Writer<StringSink> writer;
};

namespace {

rapidjson::SizeType length(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

/// RapidJSON asserts on a null pointer, which an empty view may hold.
const char* pointer(std::string_view text) { return text.data() != nullptr ? text.data() : ""; }

}  // namespace

Writer::Writer(std::string& out) : impl_(std::make_unique<Impl>(out)) {}
Writer::~Writer() = default;

Writer& Writer::begin_object() {
  impl_->writer.StartObject();
  return *this;
}
Writer& Writer::end_object() {
  impl_->writer.EndObject();
  return *this;
}
Writer& Writer::begin_array() {
  impl_->writer.StartArray();
  return *this;
}
Writer& Writer::end_array() {
  impl_->writer.EndArray();
  return *this;
}
Writer& Writer::key(std::string_view name) {
  impl_->writer.Key(pointer(name), length(name));
  return *this;
}
Writer& Writer::string(std::string_view value) {
  impl_->writer.String(pointer(value), length(value));
  return *this;
}
Writer& Writer::integer(std::int64_t value) {
  impl_->writer.Int64(value);
  return *this;
}
Writer& Writer::number(double value) {
  impl_->writer.Double(value);
  return *this;
}
Writer& Writer::boolean(bool value) {
  impl_->writer.Bool(value);
  return *this;
}
Writer& Writer::null() {
  impl_->writer.Null();
  return *this;
}
Writer& Writer::raw(std::string_view json) {
  impl_->writer.RawValue(json.data(), json.size(), rapidjson::kObjectType);
  return *this;
}

}  // namespace tangram::json
