#pragma once

#include "base/json.hpp"
#include "base/json_scan.hpp"
#include "base/rapidjson.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

/// What parsing leaves for json::Reader to walk. Internal to it.
namespace tangram::json {

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
inline bool has_lone_surrogate(std::string_view text) {
  for (auto at = text.find('\xed'); at != std::string_view::npos; at = text.find('\xed', at + 1)) {
    if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0xa0) return true;
  }
  return false;
}

/// Writes the tokens that RapidJSON reports onto the tape.
struct Tape {
  Tape(std::string_view json, rapidjson::InsituStringStream& text_stream, std::size_t most)
      : stream(&text_stream),
        most_tokens(most),
        check_surrogates(json.find("\\ud") != std::string_view::npos ||
                         json.find("\\uD") != std::string_view::npos) {
    // kube-scheduler's bodies: about one token per 16 bytes.
    reserve(json.size() / 16);
  }

  /// Room for that many tokens, but never for more than may come: those allowed, the closing ones
  /// of what is open then, and the end.
  void reserve(std::size_t count) {
    entries.reserve(std::min(count, most_tokens) + Reader::kMaxDepth + 1);
  }

  rapidjson::InsituStringStream* stream;
  std::size_t most_tokens;  ///< see Outline; a text cannot have more than it has bytes
  std::vector<Entry> entries;
  bool check_surrogates;
  bool lone_surrogate = false;
  boost::container::small_vector<std::uint32_t, Reader::kMaxDepth> open;
  bool too_deep = false;  ///< more levels than Reader::kMaxDepth
  bool too_many = false;  ///< more tokens than the outline allows
  bool too_big = false;

  Entry& add(Token token) {
    if (entries.size() == entries.capacity()) reserve(2 * entries.size());
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
    if (open.size() == static_cast<std::size_t>(Reader::kMaxDepth)) {
      too_deep = true;
      return false;
    }
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

/// The text, with room to move ahead where RapidJSON looks for the next token.
struct OutlineStream : rapidjson::InsituStringStream {
  OutlineStream(std::string& text, bool& next_is_passed_over)
      : rapidjson::InsituStringStream(text.data()),
        end(text.data() + text.size()),
        passes_over(&next_is_passed_over) {}

  /// Moves to the last byte of the value that begins here, which then counts as the number 0. A
  /// value without an end is refused: what is in it would be scanned again and again.
  void pass_over_value() {
    const std::string_view rest(src_, static_cast<std::size_t>(end - src_));
    const std::size_t size = end_of_value(rest, 0);
    if (size == std::string_view::npos) {
      src_ += rest.size();
    } else {
      src_ += size - 1;
      *src_ = '0';
    }
  }

  const char* end;
  bool* passes_over;  ///< RapidJSON copies the stream, so it stands elsewhere
};

/// Passes on to the tape what an outline has.
class OutlineFilter {
 public:
  /// @param passes_over  of the stream
  OutlineFilter(const Outline& outline, Tape& tape, bool& passes_over)
      : outline_(outline), tape_(tape), passes_over_(passes_over) {}

  // NOLINTBEGIN(readability-identifier-naming): the names that RapidJSON calls
  bool Null() { return has_room() && tape_.Null(); }
  bool Bool(bool b) { return has_room() && tape_.Bool(b); }
  bool Int(int i) { return Int64(i); }
  bool Uint(unsigned u) { return std::exchange(passes_over_, false) || Int64(u); }
  bool Int64(std::int64_t i) { return has_room() && tape_.Int64(i); }
  bool Uint64(std::uint64_t u) { return has_room() && tape_.Uint64(u); }
  bool Double(double d) { return has_room() && tape_.Double(d); }
  bool RawNumber(const char* /*s*/, rapidjson::SizeType /*n*/, bool /*copy*/) { return false; }
  bool String(const char* s, rapidjson::SizeType n, bool copy) {
    return has_room() && tape_.String(s, n, copy);
  }
  bool Key(const char* s, rapidjson::SizeType n, bool copy) {
    return !chooses({s, n}) || (has_room() && tape_.Key(s, n, copy));
  }
  bool StartObject() { return begin(false) && tape_.StartObject(); }
  bool EndObject(rapidjson::SizeType n) { return end() && tape_.EndObject(n); }
  bool StartArray() { return begin(true) && tape_.StartArray(); }
  bool EndArray(rapidjson::SizeType n) { return end() && tape_.EndArray(n); }
  // NOLINTEND(readability-identifier-naming)

 private:
  using Members = std::vector<Outline::Member>;
  using Wanted = bool (*)(std::string_view name);
  struct Level {
    const Members* members = nullptr;  ///< of the object, or of those in the list; null = all
    Wanted wanted = nullptr;           ///< the same, before `members`
    bool list = false;
  };

  /// What the outline has of the next value, for a member whose name is that. @returns false if
  /// the member is passed over.
  [[nodiscard]] bool chooses(std::string_view name) {
    next_ = nullptr;
    const Level& level = levels_.back();
    if (level.wanted != nullptr) {
      passes_over_ = !level.wanted(name);
      return !passes_over_;
    }
    if (level.members == nullptr) return true;
    const auto found = std::find_if(
        level.members->begin(), level.members->end(),
        [&](const auto& member) { return member.name == name || member.name == Outline::kAny; });
    passes_over_ = found == level.members->end();
    if (!passes_over_) next_ = &*found;
    return !passes_over_;
  }

  [[nodiscard]] bool has_room() {
    tape_.too_many = tape_.entries.size() >= tape_.most_tokens;
    return !tape_.too_many;
  }

  [[nodiscard]] bool begin(bool list) {
    if (!has_room()) return false;
    Level level{.list = list};
    if (levels_.empty()) {
      level.members = &outline_.members;
    } else if (levels_.back().list) {
      level.members = levels_.back().members;
      level.wanted = levels_.back().wanted;
    } else if (next_ != nullptr) {
      level.members = next_->inside.empty() ? nullptr : &next_->inside;
      level.wanted = next_->wanted;
    }
    levels_.push_back(level);
    return true;
  }

  [[nodiscard]] bool end() {
    levels_.pop_back();
    return true;
  }

  const Outline& outline_;
  Tape& tape_;
  boost::container::small_vector<Level, 16> levels_;
  const Outline::Member* next_ = nullptr;  // the member whose value is next; null = all of it
  bool& passes_over_;                      // the next value
};

}  // namespace tangram::json

namespace rapidjson {

template <>
struct StreamTraits<tangram::json::OutlineStream> {
  // As of the stream beneath.
  enum { copyOptimization = 1 };  // NOLINT(readability-identifier-naming): RapidJSON's name
};

/// Called between all tokens: after a colon, a value that is to be passed over begins here.
template <>
inline void SkipWhitespace(tangram::json::OutlineStream& stream) {
  SkipWhitespace<InsituStringStream>(stream);
  if (*stream.passes_over && stream.Peek() != ':') stream.pass_over_value();
}

}  // namespace rapidjson
