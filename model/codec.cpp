#include "model/codec.hpp"

#include "base/quote.hpp"

#include <algorithm>

namespace tangram::model::codec {

namespace {

/// Fails on a name that is not empty and not a valid one.
std::string check(json::Reader& in, std::string name, bool (*is_valid)(std::string_view),
                  std::string_view says) {
  if (!name.empty() && !is_valid(name)) in.fail(quote(name) + " cannot be " + std::string(says));
  return name;
}

bool is_dns_label(std::string_view text) {
  constexpr std::size_t kMaxLabel = 63;
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= kMaxLabel && alphanumeric(text.front()) &&
         alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return alphanumeric(c) || c == '-'; });
}

constexpr std::string_view kIdRule = "a card's id; write letters, digits and - _ . :";
constexpr std::string_view kModelRule =
    "a card's model; write letters, digits, spaces and - _ . : + / ( ) [ ]";
constexpr std::string_view kContainerRule =
    "a container's name; write at most 63 lower case letters, digits and -";

}  // namespace

std::string text(json::Reader& in, std::size_t most) {
  const std::string_view value = in.string();
  if (value.size() > most) {
    in.fail("has " + std::to_string(value.size()) + " characters; at most " + std::to_string(most) +
            " are allowed");
    return {};
  }
  return std::string(value);
}

std::string name(json::Reader& in) {
  std::string value = text(in);
  if (value.empty()) in.fail("must not be empty");
  return value;
}

std::string card_id(json::Reader& in) { return check(in, name(in), is_card_id, kIdRule); }

std::string optional_card_id(json::Reader& in) { return check(in, text(in), is_card_id, kIdRule); }

std::string card_model(json::Reader& in) { return check(in, name(in), is_card_model, kModelRule); }

std::string container_name(json::Reader& in) {
  return check(in, name(in), is_dns_label, kContainerRule);
}

std::int64_t number(json::Reader& in, std::int64_t least, std::int64_t most) {
  const std::int64_t value = in.integer();
  if (!in.failed() && (value < least || value > most)) {
    in.fail("is " + std::to_string(value) + "; must be " + std::to_string(least) + " to " +
            std::to_string(most));
  }
  return value;
}

void version(json::Reader& in, std::int64_t known) {
  const std::int64_t value = in.integer();
  if (value > known) {
    in.fail("is " + std::to_string(value) + ", but this program knows only up to " +
            std::to_string(known) + "; upgrade it");
  } else if (value < known) {
    in.fail("is " + std::to_string(value) + "; must be " + std::to_string(known));
  }
}

void require(json::Reader& in, std::span<const std::string_view> seen,
             std::initializer_list<std::string_view> required) {
  for (const std::string_view key : required) {
    if (std::find(seen.begin(), seen.end(), key) == seen.end()) {
      return in.fail("member \"" + std::string(key) + "\" is missing");
    }
  }
}

}  // namespace tangram::model::codec
