#include "model/request_values.hpp"

#include "base/number.hpp"
#include "base/quantity.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"
#include "model/request.hpp"

#include <algorithm>

namespace tangram::model::values {

namespace {

constexpr std::size_t kMaxGlob = 128;  // NVML's own limit is 96 for a model's name, 80 for a UUID
constexpr std::size_t kMaxPolicyName = 63;  // a DNS label, as Kubernetes names things

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

/// The value, then what is the matter with it.
Error wrong(std::string_view text, std::string_view why) {
  return fail(Errc::kInvalidArgument, quote(text) + " " + std::string(why));
}

/// "12.5" split at the point; both empty if the text has another form.
struct Decimal {
  std::string_view whole;
  std::string_view decimals;
};

Decimal split_decimal(std::string_view text) {
  const auto point = std::min(text.find('.'), text.size());
  const Decimal parts{text.substr(0, point), text.substr(std::min(point + 1, text.size()))};
  const bool has_point = point < text.size();
  const bool well_formed = std::all_of(parts.whole.begin(), parts.whole.end(), is_digit) &&
                           std::all_of(parts.decimals.begin(), parts.decimals.end(), is_digit) &&
                           !parts.whole.empty() && has_point == !parts.decimals.empty();
  return well_formed ? parts : Decimal{};
}

/// Thousandths, further decimals dropped; anything above 9 counts as 9: too much either way.
std::int64_t milli_of(const Decimal& parts) {
  const auto first = std::min(parts.whole.find_first_not_of('0'), parts.whole.size());
  const std::string_view whole = parts.whole.substr(first);
  std::int64_t milli = whole.size() > 1 ? 9 : 0;
  if (whole.size() == 1) milli = whole.front() - '0';
  for (std::size_t i = 0; i < 3; ++i) {
    milli = milli * 10 + (i < parts.decimals.size() ? parts.decimals[i] - '0' : 0);
  }
  return milli;
}

/// What an amount of so few bytes was most likely meant to be.
std::string too_little_hint(std::string_view text) {
  const bool bare = text.front() != '0' && std::all_of(text.begin(), text.end(), is_digit);
  if (!bare) return "is less than 1Mi; write an amount such as 8Gi";
  const std::string number(text);
  const std::string meant = number.size() <= 3 ? number + "Gi" : number + "Mi";
  return "means " + number + " bytes; write " +
         (number.size() <= 5 ? meant : "an amount such as 8Gi");
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_printable(char c) { return c >= 0x20 && c < 0x7f; }

/// What the messages about a list of globs say.
struct GlobList {
  std::string_view one;      ///< "a model"
  std::string_view many;     ///< "models"
  std::string_view name;     ///< "the name of a card model"
  std::string_view exclude;  ///< "!T4"
  std::string_view example;  ///< "A100*,!T4"
};
constexpr GlobList kModels{"a model", "models", "the name of a card model", "!T4", "A100*,!T4"};
constexpr GlobList kCardIds{"a UUID", "UUIDs", "the UUID of a card", "!GPU-77c1*",
                            "GPU-5f2a*,!GPU-77c1*"};

/// @param item  not blank
Result<std::string> parse_glob(std::string_view item, const GlobList& list) {
  const std::string_view text = trimmed(item);
  const bool excludes = text.front() == '!';
  const std::string_view glob = excludes ? trimmed(text.substr(1)) : text;
  if (glob.empty()) {
    return wrong(item, "excludes nothing; write " + std::string(list.one) +
                           " after the '!', such as " + std::string(list.exclude));
  }
  if (glob.size() > kMaxGlob || !std::all_of(glob.begin(), glob.end(), is_printable)) {
    return wrong(item, "cannot be " + std::string(list.name) + "; write at most " +
                           std::to_string(kMaxGlob) + " printable ASCII characters");
  }
  return (excludes ? "!" : "") + std::string(glob);
}

Result<std::vector<std::string>> parse_globs(std::string_view text, const GlobList& list) {
  std::vector<std::string> globs;
  for (const std::string& item : split(text, ',')) {
    if (trimmed(item).empty()) {
      return wrong(text, "has an empty item; write " + std::string(list.many) +
                             " with one comma between, such as " + std::string(list.example));
    }
    auto glob = parse_glob(item, list);
    if (!glob) return glob.error();
    if (globs.size() == kMaxGlobs) {
      return wrong(text, "has too many " + std::string(list.many) + "; write at most " +
                             std::to_string(kMaxGlobs));
    }
    globs.push_back(*std::move(glob));
  }
  return globs;
}

}  // namespace

Result<MilliGpu> parse_ratio(std::string_view text, MilliGpu least, std::string_view over) {
  const Decimal parts = split_decimal(text);
  if (parts.whole.empty()) {
    return wrong(text, "is not a decimal number; write one from " + share_text(least) +
                           " to 1, such as 0.5");
  }
  const std::int64_t milli = milli_of(parts);
  const bool finer = parts.decimals.size() > 3;
  const bool more = finer && parts.decimals.find_first_not_of('0', 3) != std::string_view::npos;
  if (milli > kWholeGpu.count() || (milli == kWholeGpu.count() && more)) {
    return wrong(text, "is more than 1; " + std::string(over));
  }
  if (finer) {
    const std::int64_t nearest_down = std::max({milli, least.count(), std::int64_t{more}});
    return wrong(text, "has more than three decimals; write " + share_text(MilliGpu(nearest_down)));
  }
  if (milli < least.count()) {
    return wrong(text, "is too small; write a number from " + share_text(least) + " to 1");
  }
  return MilliGpu(milli);
}

Result<Mebibytes> parse_memory(std::string_view text) {
  const auto quantity = KubeQuantity::parse(text);
  if (!quantity) {
    return wrong(text,
                 "is not an amount of memory that Kubernetes knows; write a number with a unit, "
                 "such as 8Gi");
  }
  if (quantity->mebibytes_floor() >= Mebibytes(1)) return quantity->mebibytes_ceil();
  return wrong(text, too_little_hint(text));
}

Result<CardResource> parse_resource(std::string_view text) {
  if (const auto resource = parse_card_resource(text)) return *resource;
  return wrong(text, "is no resource of GPU cards; write gpu, gpu.shared, mig or mig.shared");
}

Result<int> parse_count(std::string_view text) {
  const auto count = parse_number<int>(text);
  if (!count || *count < 1 || *count > kMaxCardsPerContainer) {
    return wrong(text, "is not a number of cards; write a whole number from 1 to " +
                           std::to_string(kMaxCardsPerContainer));
  }
  return *count;
}

Result<std::vector<std::string>> parse_models(std::string_view text) {
  return parse_globs(text, kModels);
}

Result<std::vector<std::string>> parse_card_ids(std::string_view text) {
  return parse_globs(text, kCardIds);
}

Result<std::string> parse_policy(std::string_view text) {
  const bool spelled = std::all_of(text.begin(), text.end(),
                                   [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
  if (!spelled || text.empty() || !is_lower(text.front()) || text.size() > kMaxPolicyName) {
    return wrong(text,
                 "cannot be the name of a policy; write lower-case letters, digits and '-', "
                 "beginning with a letter, such as binpack");
  }
  return std::string(text);
}

}  // namespace tangram::model::values
