#include "base/json.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <boost/json/src.hpp>

#include <cmath>

namespace {

using namespace tangram;
using fuzz::require;
namespace oracle = boost::json;

/// The two parse decimals each in its own way, and neither is exact to the last bit; the smallest
/// numbers have few bits.
bool about_equal(double a, double b) { return std::fabs(a - b) <= 1e-13 * std::fabs(b) + 1e-300; }

void compare_number(json::Reader& in, const oracle::value& theirs, json::Writer& out) {
  if (theirs.is_int64()) {
    const std::int64_t number = in.integer();
    require(number == theirs.as_int64());
    out.integer(number);
  } else {
    const double number = std::strtod(in.scalar_text().c_str(), nullptr);
    require(theirs.is_double());
    // The other makes no number of 0e999.
    if (!std::isnan(theirs.as_double())) require(about_equal(number, theirs.as_double()));
    out.number(number);
  }
}

/// Reads what comes next, so that every object is looked through for members that stand twice.
void read_all(json::Reader& in) {
  switch (in.kind()) {
    case json::Kind::kObject:
      return in.object([&](std::string_view /*key*/) { read_all(in); });
    case json::Kind::kArray:
      return in.array([&] { read_all(in); });
    case json::Kind::kNumber:
      static_cast<void>(in.scalar_text());
      return;
    case json::Kind::kString:
    case json::Kind::kBool:
    case json::Kind::kNull:
    case json::Kind::kNone:
      in.skip();
  }
}

/// Reads what comes next, compares it, and writes it down.
void compare(json::Reader& in, const oracle::value& theirs, json::Writer& out) {
  switch (in.kind()) {
    case json::Kind::kObject: {
      std::size_t members = 0;
      out.begin_object();
      in.object([&](std::string_view key) {
        ++members;
        const oracle::value* member = theirs.as_object().if_contains(key);
        require(member != nullptr);
        out.key(key);
        compare(in, *member, out);
      });
      out.end_object();
      return require(members == theirs.as_object().size());
    }
    case json::Kind::kArray: {
      std::size_t elements = 0;
      out.begin_array();
      in.array([&] { compare(in, theirs.as_array().at(elements++), out); });
      out.end_array();
      return require(elements == theirs.as_array().size());
    }
    case json::Kind::kString: {
      const std::string_view text = in.string();
      require(theirs.as_string() == text);
      out.string(text);
      return;
    }
    case json::Kind::kNumber:
      return compare_number(in, theirs, out);
    case json::Kind::kBool: {
      const bool value = in.boolean();
      require(theirs.as_bool() == value);
      out.boolean(value);
      return;
    }
    case json::Kind::kNull:
    case json::Kind::kNone:
      require(theirs.is_null());
      in.skip();
      out.null();
  }
}

/// What the reader refuses though it is JSON.
bool is_own_rule(const std::string& message) {
  for (const char* rule :
       {"stands twice", "nested deeper than", "outside of -2^63", "Number too big"}) {
    if (message.find(rule) != std::string::npos) return true;
  }
  return false;
}

/// Reads the text, which says what `theirs` does. @returns it written anew
std::string rewritten(std::string text, const oracle::value& theirs) {
  std::string written;
  json::Reader in(text);
  json::Writer out(written);
  compare(in, theirs, out);
  require(in.finish().has_value());
  return written;
}

}  // namespace

/// Any text: reader and writer agree with another parser on what is JSON and what it says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  oracle::parse_options options;
  options.max_depth = 100'000;
  oracle::error_code refused;
  const auto theirs = oracle::parse(fuzz::text_of(data, size), refused, {}, options);

  std::string text(fuzz::text_of(data, size));
  json::Reader in(text);
  read_all(in);
  if (const auto done = in.finish(); !done) {
    require(refused || is_own_rule(done.error().message));
    return 0;
  }
  if (refused == oracle::error::exponent_overflow)
    return 0;  // the other's own rule, of 1e-9999999999
  require(!refused);
  const std::string once = rewritten(std::string(fuzz::text_of(data, size)), theirs);
  require(rewritten(once, theirs) == once);
  return 0;
}
