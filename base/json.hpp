#pragma once

#include "base/result.hpp"

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// JSON without a tree: a pull reader that hands out views into the text, and a
/// writer that appends to a string. No header of ours shows the library beneath.
namespace tangram::json {

/// What of a text will be read, by the names of members. Other members are passed over while
/// parsing, with all that is in them: readers see them as absent. Their end is found by quotes and
/// brackets alone (see json_scan.hpp), so they cost little time and no memory, and may have any
/// depth, bytes that are no UTF-8, and parts that are no JSON. Names of members are still checked.
///
/// Objects of the API server are read with one: in metadata.managedFields it keeps names of fields
/// as clients send them, nested up to the 10,000 levels of Go's encoder, and with any bytes.
struct Outline {
  /// As a name: every member, as of a map.
  static constexpr std::string_view kAny = "*";

  struct Member {
    std::string_view name;            ///< of static storage
    std::vector<Member> inside = {};  ///< of an object, or of each object in a list; empty = all
    /// Chooses among the members of a map, whose names come from users; null = `inside` does.
    bool (*wanted)(std::string_view name) = nullptr;
  };
  std::vector<Member> members;
  /// Of what is read; each takes 16 bytes, and twice that for a moment, while they grow.
  std::size_t most_tokens = std::numeric_limits<std::size_t>::max();
};

enum class Kind { kNull, kBool, kNumber, kString, kObject, kArray, kNone };

/// Reads one JSON text from front to back.
///
///     json::Reader in(body);
///     in.object([&](std::string_view key) {
///       if (key == "name") name = in.string();
///       else in.skip();
///     });
///     if (auto done = in.finish(); !done) return done.error();
///
/// The text is parsed in place: it is changed, and every view handed out lives
/// as long as it does. Errors stick: after the first one every read returns an
/// empty value and no callback runs, so decoders need to look once, at finish().
///
/// One pass puts the tokens on a flat tape (16 bytes each, one allocation); reads
/// walk it, and skipping a value costs nothing.
///
/// Refused, with the place in the message: text that is not UTF-8, a key that
/// stands twice in an object that is read, more than kMaxDepth levels, anything
/// after the value. What an outline leaves out is not checked.
/// Threads: one at a time.
class Reader {
 public:
  /// Of what is read: deeper than all that our programs read. Kubernetes objects can be deeper, in
  /// metadata.managedFields and where a schema allows anything: read those with an outline.
  static constexpr int kMaxDepth = 100;

  explicit Reader(std::string& text);
  /// Reads only what the outline has.
  Reader(std::string& text, const Outline& outline);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Kind of the value that comes next; kNone at the end of an object or array, or after an error.
  [[nodiscard]] Kind kind() const;

  /// Reads an object; `member(key)` must read or skip() exactly one value. A null
  /// counts as an empty object: that is how Go writes a nil map or pointer.
  template <class Member>
  void object(Member&& member) {
    if (!begin(Kind::kObject)) return;
    KeySet seen;
    for (auto key = next_key(); key; key = next_key()) {
      if (!seen.add(*key)) return fail_duplicate(*key);
      enter(*key);
      member(*key);
      leave();
    }
  }

  /// Reads an array; `element()` must read or skip() exactly one value. Null counts as empty.
  template <class Element>
  void array(Element&& element) {
    if (!begin(Kind::kArray)) return;
    while (next_element()) {
      const std::size_t before = position();
      element();
      if (position() == before) return fail("an element was not read");
    }
  }

  [[nodiscard]] std::string_view string();
  /// A string, or "" for null: Go writes optional strings either way.
  [[nodiscard]] std::string_view string_or_null();
  [[nodiscard]] std::int64_t integer();
  [[nodiscard]] bool boolean();
  /// A number or a string, as text: Kubernetes quantities may be either.
  [[nodiscard]] std::string scalar_text();
  void skip();

  /// Where the object or array that comes next stands in the text: for passing a part of it on
  /// unread. Offsets are those of the original text; parsing in place has changed the text itself,
  /// so cut from a copy made before. {0, 0} if no object or array comes next.
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  [[nodiscard]] Span span() const;

  /// How many values and keys stand inside the object or array that comes next, at all levels:
  /// known without reading it, so that what is too large can be skipped. 0 if neither comes next.
  [[nodiscard]] std::size_t tokens_inside() const;

  [[nodiscard]] bool failed() const;

  /// Makes this read an error: "<path>: <message>". The first one wins.
  void fail(std::string message);

  /// Makes each text one_line(), for pages that are drawn: names and reasons in them are others'.
  /// Names of members stay.
  void make_texts_lines();

  /// Back to the front, to read the text once more. An error stays.
  void rewind();

  /// Checks that the text ended here and nothing went wrong.
  /// @returns kInvalidArgument, with the path and the byte.
  Result<void> finish();

 private:
  /// Finds the second of two equal keys; linear while small. No hash when large: texts
  /// with equal hashes can be computed, and each would be compared with all of them.
  class KeySet {
   public:
    bool add(std::string_view key);

   private:
    static constexpr std::size_t kLinear = 24;
    boost::container::small_vector<std::string_view, kLinear> few_;
    std::set<std::string_view> many_;
  };

  bool begin(Kind kind);
  std::optional<std::string_view> next_key();
  bool next_element();
  [[nodiscard]] std::size_t position() const;
  void fail_duplicate(std::string_view key);
  void enter(std::string_view key);
  void leave();

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Appends JSON to a string the caller owns. Keys and values come in the order
/// written; commas and escapes are the writer's matter.
class Writer {
 public:
  explicit Writer(std::string& out);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view name);
  Writer& string(std::string_view value);
  Writer& integer(std::int64_t value);
  /// Not a number and infinity are written as null: JSON has neither.
  Writer& number(double value);
  Writer& boolean(bool value);
  Writer& null();
  /// A value that is JSON already.
  Writer& raw(std::string_view json);

  // The common pairs, so that encoders read like the document they write.
  Writer& member(std::string_view name, std::string_view value) { return key(name).string(value); }
  Writer& member(std::string_view name, const char* value) { return key(name).string(value); }
  Writer& member(std::string_view name, std::int64_t value) { return key(name).integer(value); }
  Writer& member(std::string_view name, int value) { return key(name).integer(value); }
  Writer& member(std::string_view name, bool value) { return key(name).boolean(value); }
  Writer& member(std::string_view name, double value) { return key(name).number(value); }

 private:
  /// What RapidJSON returns; writing to memory does not fail.
  Writer& wrote(bool /*done*/) { return *this; }

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::json
