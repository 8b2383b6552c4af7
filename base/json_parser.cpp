#include "base/json_scan.hpp"
#include "base/json_tape.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

namespace tangram::json {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Characters in UTF-8 by their first byte: neither in more bytes than needed, nor half of a UTF-16
/// pair (table 3-7 of the Unicode Standard). Further bytes are 80 to bf.
struct Utf8Form {
  unsigned char first_low, first_high;
  unsigned char second_low, second_high;
  std::size_t size;
};
constexpr std::array<Utf8Form, 8> kUtf8Forms{{{0xc2, 0xdf, 0x80, 0xbf, 2},
                                              {0xe0, 0xe0, 0xa0, 0xbf, 3},
                                              {0xe1, 0xec, 0x80, 0xbf, 3},
                                              {0xed, 0xed, 0x80, 0x9f, 3},
                                              {0xee, 0xef, 0x80, 0xbf, 3},
                                              {0xf0, 0xf0, 0x90, 0xbf, 4},
                                              {0xf1, 0xf3, 0x80, 0xbf, 4},
                                              {0xf4, 0xf4, 0x80, 0x8f, 4}}};

/// How many bytes the character beyond ASCII has that begins there; 0 = none does. Nothing
/// continues one that the NUL at the end of the text cuts off.
std::size_t utf8_size(const char* at) {
  const auto within = [at](std::size_t i, unsigned low, unsigned high) {
    const auto byte = static_cast<unsigned char>(at[i]);
    return byte >= low && byte <= high;
  };
  const auto* const form = std::find_if(
      kUtf8Forms.begin(), kUtf8Forms.end(),
      [&](const Utf8Form& each) { return within(0, each.first_low, each.first_high); });
  if (form == kUtf8Forms.end() || !within(1, form->second_low, form->second_high)) return 0;
  for (std::size_t i = 2; i < form->size; ++i) {
    if (!within(i, 0x80, 0xbf)) return 0;
  }
  return form->size;
}

/// @returns behind the character
char* write_utf8(char* to, unsigned character) {
  const auto put = [&](unsigned byte) { *to++ = static_cast<char>(byte); };
  const auto put_rest = [&](unsigned shift) { put(0x80U | ((character >> shift) & 0x3fU)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xc0U | (character >> 6U));
    put_rest(0);
  } else if (character < 0x10000) {
    put(0xe0U | (character >> 12U));
    put_rest(6);
    put_rest(0);
  } else {
    put(0xf0U | (character >> 18U));
    put_rest(12);
    put_rest(6);
    put_rest(0);
  }
  return to;
}

bool is_high_surrogate(unsigned unit) { return unit >= 0xd800 && unit <= 0xdbff; }
bool is_low_surrogate(unsigned unit) { return unit >= 0xdc00 && unit <= 0xdfff; }

/// What an escape of one letter stands for; 0 = it is none.
char unescaped(char letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/':
      return letter;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

/// One pass over one text, without recursion: the depth of hostile input must not become the depth
/// of our stack. The text ends in a NUL, which no rule takes, so its end needs no check of its own.
class Parser {
 public:
  Parser(std::string& text, const Outline* outline)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), most_tokens_(text.size()) {
    if (outline != nullptr) {
      wanted_.members = &outline->members;
      most_tokens_ = std::min(most_tokens_, outline->most_tokens);
    }
    // kube-scheduler's bodies: about one token per 16 bytes.
    reserve(text.size() / 16);
  }

  [[nodiscard]] Result<Tape> run() {
    skip_space();
    Next next = at_ == end_ ? refuse("The document is empty") : Next::kValue;
    while (next != Next::kEnd) next = next == Next::kValue ? value() : after_value();
    if (!problem_.empty()) return fail(Errc::kInvalidArgument, std::move(problem_));
    add(Token::kEnd);
    return std::move(tape_);
  }

 private:
  enum class Next { kValue, kAfterValue, kEnd };
  static constexpr std::string_view kHalfOfAPair = "half of a surrogate pair in a string";
  using Members = std::vector<Outline::Member>;

  /// What of the members of an object, or of objects in a list, is read.
  struct Wanted {
    const Members* members = nullptr;                  ///< null = all
    bool (*by_name)(std::string_view name) = nullptr;  ///< if not null, it decides
  };
  struct Container {
    Wanted wanted;
    std::uint32_t token;  ///< that opens it
    bool list;
  };

  // ---- values

  Next value() {
    switch (*at_) {
      case '{':
        return open(Token::kBeginObject);
      case '[':
        return open(Token::kBeginArray);
      case '"':
        return text(Token::kString) ? Next::kAfterValue : Next::kEnd;
      case 't':
        return literal("true", Token::kBool, true);
      case 'f':
        return literal("false", Token::kBool, false);
      case 'n':
        return literal("null", Token::kNull, false);
      default:
        return number();
    }
  }

  Next literal(std::string_view name, Token token, bool truth) {
    if (!rest().starts_with(name)) return refuse("Invalid value");
    if (!has_room()) return Next::kEnd;
    at_ += name.size();
    Entry& entry = add(token);
    if (token == Token::kBool) entry.truth = truth;
    return Next::kAfterValue;
  }

  Next open(Token token) {
    if (!has_room()) return Next::kEnd;
    if (open_.size() == static_cast<std::size_t>(Reader::kMaxDepth)) return refuse_depth();
    const bool list = token == Token::kBeginArray;
    open_.push_back(
        {.wanted = wanted_, .token = static_cast<std::uint32_t>(tape_.size()), .list = list});
    add_bracket(token);
    ++at_;
    skip_space();
    if (*at_ == closing_bracket()) return close();
    return list ? Next::kValue : member();
  }

  Next after_value() {
    if (open_.empty()) return end_of_text();
    skip_space();
    if (*at_ == ',') {
      ++at_;
      skip_space();
      if (!open_.back().list) return member();
      wanted_ = open_.back().wanted;
      return Next::kValue;
    }
    if (*at_ == closing_bracket()) return close();
    return refuse(open_.back().list ? "Missing a comma or ] after an array element"
                                    : "Missing a comma or } after an object member");
  }

  [[nodiscard]] char closing_bracket() const { return open_.back().list ? ']' : '}'; }

  Next close() {
    const Container& container = open_.back();
    tape_[container.token].size = static_cast<std::uint32_t>(tape_.size());
    add_bracket(container.list ? Token::kEndArray : Token::kEndObject);
    open_.pop_back();
    ++at_;
    return Next::kAfterValue;
  }

  Next end_of_text() {
    skip_space();
    if (at_ == end_) return Next::kEnd;
    if (*at_ != 0) return refuse("The document root must not be followed by other values");
    problem_ = "not valid JSON: a NUL byte follows the value";
    return Next::kEnd;
  }

  // ---- members

  /// A name and its colon; and the value, if that is passed over.
  Next member() {
    if (*at_ != '"') return refuse("Missing a name for object member");
    const auto name = string();
    if (!name) return Next::kEnd;
    skip_space();
    if (*at_ != ':') return refuse("Missing a colon after a name of object member");
    ++at_;
    skip_space();
    if (!chooses(*name)) return pass_over_value();
    if (!has_room()) return Next::kEnd;
    add_text(Token::kKey, *name);
    return Next::kValue;
  }

  /// Is the member of that name read? Then wanted_ is what is read of its value.
  [[nodiscard]] bool chooses(std::string_view name) {
    const Wanted& here = open_.back().wanted;
    wanted_ = {};
    if (here.by_name != nullptr) return here.by_name(name);
    if (here.members == nullptr) return true;
    for (const Outline::Member& member : *here.members) {
      if (member.name != name && member.name != Outline::kAny) continue;
      wanted_ = {member.inside.empty() ? nullptr : &member.inside, member.wanted};
      return true;
    }
    return false;
  }

  /// A value without an end is refused: what is in it would be scanned again and again.
  Next pass_over_value() {
    const std::size_t size = end_of_value(rest(), 0);
    if (size == std::string_view::npos) {
      at_ = end_;
      return refuse("Invalid value");
    }
    at_ += size;
    return Next::kAfterValue;
  }

  // ---- strings

  bool text(Token token) {
    const auto string = this->string();
    if (!string || !has_room()) return false;
    add_text(token, *string);
    return true;
  }

  [[nodiscard]] std::optional<std::string_view> string() {
    char* const begin = ++at_;
    at_ += end_of_plain(rest(), 0);
    char* to = at_;
    while (*at_ != '"') {
      to = special(to);
      if (to == nullptr) return std::nullopt;
      const std::size_t plain = end_of_plain(rest(), 0);
      std::memmove(to, at_, plain);
      to += plain;
      at_ += plain;
    }
    ++at_;
    return std::string_view(begin, static_cast<std::size_t>(to - begin));
  }

  /// A byte of a string that does not stand for itself, and what belongs to it.
  /// @returns behind what it stands for; null = refused
  char* special(char* to) {
    if (at_ == end_) return refuse_text("Missing a closing quotation mark in string");
    if (*at_ == '\\') return escape(to);
    if (static_cast<unsigned char>(*at_) < ' ') return refuse_text("Control character in string");
    const std::size_t size = utf8_size(at_);
    if (size == 0) return refuse_text("Invalid encoding in string");
    std::memmove(to, at_, size);
    at_ += size;
    return to + size;
  }

  char* escape(char* to) {
    if (at_[1] == 'u') return unicode_escape(to);
    const char letter = unescaped(at_[1]);
    if (letter == 0) return refuse_text("Invalid escape character in string");
    at_ += 2;
    *to = letter;
    return to + 1;
  }

  char* unicode_escape(char* to) {
    auto character = code_unit();
    if (!character) return nullptr;
    if (is_high_surrogate(*character) && at_[0] == '\\' && at_[1] == 'u') {
      const auto low = code_unit();
      if (!low) return nullptr;
      if (!is_low_surrogate(*low)) return refuse_text(kHalfOfAPair);
      character = 0x10000U + ((*character - 0xd800U) << 10U) + (*low - 0xdc00U);
    } else if (is_high_surrogate(*character) || is_low_surrogate(*character)) {
      return refuse_text(kHalfOfAPair);
    }
    return write_utf8(to, *character);
  }

  /// The four hexadecimal digits behind a backslash and a u, at which the text stands.
  std::optional<unsigned> code_unit() {
    constexpr std::size_t kDigits = 4;
    unsigned unit = 0;
    const std::string_view digits = rest().substr(2, kDigits);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (read.ptr != digits.data() + kDigits) {
      (void)refuse("Incorrect hex digit after \\u escape in string");
      return std::nullopt;
    }
    at_ += 2 + kDigits;
    return unit;
  }

  // ---- numbers

  Next number() {
    const char* const first = at_;
    if (*at_ == '-') ++at_;
    if (*at_ == '0') {
      ++at_;
    } else if (!take_digits("Invalid value")) {
      return Next::kEnd;
    }
    const char* const end_of_whole = at_;
    if (!take_fraction() || !take_exponent() || !has_room()) return Next::kEnd;
    return at_ == end_of_whole && add_integer(first) ? Next::kAfterValue : add_real(first);
  }

  bool take_fraction() {
    if (*at_ != '.') return true;
    ++at_;
    return take_digits("Missing fraction part in number");
  }

  bool take_exponent() {
    if (*at_ != 'e' && *at_ != 'E') return true;
    ++at_;
    if (*at_ == '+' || *at_ == '-') ++at_;
    return take_digits("Missing exponent in number");
  }

  /// One at least.
  bool take_digits(std::string_view missing) {
    if (!is_digit(*at_)) {
      (void)refuse(missing);
      return false;
    }
    while (is_digit(*at_)) ++at_;
    return true;
  }

  /// @returns false for one that is too large even for uint64: it is known about as a real
  bool add_integer(const char* first) {
    std::int64_t number = 0;
    if (std::from_chars(first, at_, number).ec == std::errc()) {
      add(Token::kInteger).integer = number;
      return true;
    }
    std::uint64_t larger = 0;
    if (std::from_chars(first, at_, larger).ec != std::errc()) return false;
    add(Token::kTooLarge);
    return true;
  }

  Next add_real(const char* first) {
    double number = 0;
    // from_chars does not tell a number too close to 0 from one too large.
    if (std::from_chars(first, at_, number).ec != std::errc()) number = std::strtod(first, nullptr);
    if (!std::isfinite(number)) return refuse("Number too big to be stored in double");
    add(Token::kReal).real = number;
    return Next::kAfterValue;
  }

  // ---- the tape

  /// Room for that many tokens, but never for more than may come: those allowed, the closing ones
  /// of what is open then, and the end.
  void reserve(std::size_t count) {
    tape_.reserve(std::min(count, most_tokens_) + Reader::kMaxDepth + 1);
  }
  [[nodiscard]] bool has_room() { return tape_.size() < most_tokens_ || refuse_size(); }
  [[gnu::cold]] bool refuse_size() {
    problem_ = "too large: more than " + std::to_string(most_tokens_) + " values are to be read";
    return false;
  }
  Entry& add(Token token) {
    if (tape_.size() == tape_.capacity()) reserve(2 * tape_.size());
    Entry& entry = tape_.emplace_back();
    entry.token = token;
    return entry;
  }
  void add_text(Token token, std::string_view text) {
    Entry& entry = add(token);
    entry.text = begin_ + (text.data() - begin_);
    entry.size = static_cast<std::uint32_t>(text.size());
  }
  void add_bracket(Token token) { add(token).integer = at_ - begin_; }

  // ---- the text

  [[nodiscard]] std::string_view rest() const {
    return {at_, static_cast<std::size_t>(end_ - at_)};
  }
  void skip_space() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t') ++at_;
  }
  [[gnu::cold]] Next refuse_depth() {
    problem_ = "nested deeper than " + std::to_string(Reader::kMaxDepth) + " levels";
    return Next::kEnd;
  }
  [[gnu::cold]] Next refuse(std::string_view why) {
    problem_ =
        "not valid JSON: " + std::string(why) + " (byte " + std::to_string(at_ - begin_) + ")";
    return Next::kEnd;
  }

  [[gnu::cold]] char* refuse_text(std::string_view why) {
    (void)refuse(why);
    return nullptr;
  }

  char* const begin_;
  char* at_;
  char* const end_;
  std::size_t most_tokens_;  ///< see Outline; a text cannot have more than it has bytes
  Wanted wanted_;            ///< of the value that comes next
  boost::container::small_vector<Container, 16> open_;
  Tape tape_;
  std::string problem_;  ///< "" = none
};

}  // namespace

Result<Tape> parse(std::string& text, const Outline* outline) {
  return Parser(text, outline).run();
}

}  // namespace tangram::json
