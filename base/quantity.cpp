#include "base/quantity.hpp"

#include "base/number.hpp"
#include "base/quote.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>

namespace tangram {

namespace {

using Nanos = KubeQuantity::Nanos;

constexpr Nanos kNano = 1'000'000'000;
constexpr Nanos kLargest = Nanos{std::numeric_limits<std::int64_t>::max()} * kNano;
constexpr unsigned kMaxExponent = 18;  // E, the largest decimal suffix
constexpr unsigned kDecimals = 9;      // a nano of a unit; more decimals round up

struct Suffix {
  std::string_view text;
  Nanos nanos;  ///< of one unit
};

constexpr Nanos kKibi = 1024;
constexpr std::array<Suffix, 16> kSuffixes{{
    {"", kNano},
    {"n", 1},
    {"u", 1'000},
    {"m", 1'000'000},
    {"k", kNano * 1'000},
    {"M", kNano * 1'000'000},
    {"G", kNano * 1'000'000'000},
    {"T", kNano * 1'000'000'000'000},
    {"P", kNano * 1'000'000'000'000'000},
    {"E", kNano * 1'000'000'000'000'000'000},
    {"Ki", kNano* kKibi},
    {"Mi", kNano* kKibi* kKibi},
    {"Gi", kNano* kKibi* kKibi* kKibi},
    {"Ti", kNano* kKibi* kKibi* kKibi* kKibi},
    {"Pi", kNano* kKibi* kKibi* kKibi* kKibi* kKibi},
    {"Ei", kNano* kKibi* kKibi* kKibi* kKibi* kKibi* kKibi},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Nanos power_of_ten(unsigned exponent) {
  Nanos power = 1;
  for (unsigned i = 0; i < exponent; ++i) power *= 10;
  return power;
}

/// Nanos of one unit for "e3", "E-2": the exponent form; nothing if it is not one.
std::optional<Nanos> exponent_unit(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  std::string_view digits = text.substr(1);
  const bool negative = digits[0] == '-';
  if (negative || digits[0] == '+') digits.remove_prefix(1);
  if (digits.size() > 2) return std::nullopt;
  const auto exponent = parse_number<unsigned>(digits);
  if (!exponent || *exponent > (negative ? kDecimals : kMaxExponent)) return std::nullopt;
  return negative ? kNano / power_of_ten(*exponent) : kNano * power_of_ten(*exponent);
}

std::optional<Nanos> unit_of(std::string_view suffix) {
  for (const Suffix& known : kSuffixes) {
    if (known.text == suffix) return known.nanos;
  }
  return exponent_unit(suffix);
}

/// "12.5": whole = 12, billionths = 500'000'000.
struct Mantissa {
  Nanos whole = 0;
  Nanos billionths = 0;
  std::size_t size = 0;  ///< characters read; 0 if there is no digit
};

/// Reads digits into `value`, which stops growing past every amount Kubernetes keeps.
std::size_t read_whole(std::string_view text, Nanos& value) {
  std::size_t size = 0;
  for (; size < text.size() && is_digit(text[size]); ++size) {
    if (value <= kLargest) value = value * 10 + (text[size] - '0');
  }
  return size;
}

std::size_t read_decimals(std::string_view text, Nanos& billionths) {
  std::size_t size = 0;
  bool more = false;
  for (; size < text.size() && is_digit(text[size]); ++size) {
    if (size < kDecimals) {
      billionths = billionths * 10 + (text[size] - '0');
    } else {
      more = more || text[size] != '0';
    }
  }
  for (std::size_t i = size; i < kDecimals; ++i) billionths *= 10;
  if (more) ++billionths;
  return size;
}

Mantissa read_mantissa(std::string_view text) {
  Mantissa m;
  const std::size_t whole = m.size = read_whole(text, m.whole);
  if (whole == text.size() || text[whole] != '.') return m;
  const std::size_t decimals = read_decimals(text.substr(whole + 1), m.billionths);
  m.size = whole + decimals == 0 ? 0 : whole + 1 + decimals;
  return m;
}

Nanos divide_ceil(Nanos value, Nanos by) { return (value + by - 1) / by; }

std::int64_t saturated(Nanos count) {
  return static_cast<std::int64_t>(
      std::min<Nanos>(count, std::numeric_limits<std::int64_t>::max()));
}

Error not_a_quantity(std::string_view text) {
  return fail(
      Errc::kInvalidArgument,
      quote(text) +
          " is not a quantity; write a number with an optional unit, such as 500m, 2 or 8Gi");
}

Error negative(std::string_view text) {
  return fail(Errc::kInvalidArgument, quote(text) + " is negative; write 0 or more");
}

Error too_large(std::string_view text) {
  return fail(Errc::kInvalidArgument,
              quote(text) + " is too large; the largest quantity is 2^63-1");
}

}  // namespace

Result<KubeQuantity> KubeQuantity::parse(std::string_view text) {
  std::string_view rest = text;
  const bool minus = !rest.empty() && rest.front() == '-';
  if (minus || (!rest.empty() && rest.front() == '+')) rest.remove_prefix(1);
  const Mantissa mantissa = read_mantissa(rest);
  const auto unit = unit_of(rest.substr(mantissa.size));
  if (mantissa.size == 0 || !unit) return not_a_quantity(text);
  if (minus && (mantissa.whole != 0 || mantissa.billionths != 0)) return negative(text);
  if (mantissa.whole > kLargest / *unit) return too_large(text);
  // Below 2^127: billionths <= 10^9 and a unit is at most 2^60 * 10^9 nanos.
  const Nanos value = mantissa.whole * *unit + divide_ceil(mantissa.billionths * *unit, kNano);
  if (value > kLargest) return too_large(text);
  return KubeQuantity(value);
}

std::int64_t KubeQuantity::milli_ceil() const {
  return saturated(divide_ceil(nanos_, kNano / 1000));
}

std::int64_t KubeQuantity::milli_floor() const { return saturated(nanos_ / (kNano / 1000)); }

Mebibytes KubeQuantity::mebibytes_ceil() const {
  return Mebibytes(static_cast<std::int64_t>(divide_ceil(nanos_, kNano * kKibi * kKibi)));
}

Mebibytes KubeQuantity::mebibytes_floor() const {
  return Mebibytes(static_cast<std::int64_t>(nanos_ / (kNano * kKibi * kKibi)));
}

std::int64_t KubeQuantity::units_ceil() const {
  return static_cast<std::int64_t>(divide_ceil(nanos_, kNano));
}

bool KubeQuantity::is_whole_milli() const { return nanos_ % (kNano / 1000) == 0; }

}  // namespace tangram
