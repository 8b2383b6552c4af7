#include "tests/e2e/requested_shares.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

namespace tangram::e2e {

namespace {

constexpr std::array<std::string_view, 3> kRequests = {"gpu-fraction", "gpu-mem", "gpu-count"};

/// "0.25" -> 250; at most three decimals.
long thousandths(const std::string& text) {
  const auto point = text.find('.');
  const std::string whole = text.substr(0, point);
  std::string decimals = point == std::string::npos ? "" : text.substr(point + 1);
  decimals.resize(3, '0');
  return std::stol(whole) * 1000 + std::stol(decimals);
}

/// "8Gi", "512Mi" or bytes -> MiB, rounded up.
long mebibytes(const std::string& text) {
  std::size_t digits = 0;
  const long number = std::stol(text, &digits);
  const std::string unit = text.substr(digits);
  constexpr long kMib = 1L << 20;
  if (unit == "Gi") return number * 1024;
  if (unit == "Mi") return number;
  if (unit == "G") return (number * 1'000'000'000 + kMib - 1) / kMib;
  if (unit == "M") return (number * 1'000'000 + kMib - 1) / kMib;
  if (unit.empty()) return (number + kMib - 1) / kMib;
  throw std::runtime_error("the checkers do not know the unit of " + text);
}

std::string to_string(const Amount& amount) {
  return std::to_string(amount.mib) + " MiB and " + std::to_string(amount.milli) + " milli";
}

}  // namespace

std::string to_string(const Due& due) {
  std::string text = to_string(due.share);
  if (due.limit != due.share) text += " (limit " + to_string(due.limit) + ")";
  return text;
}

RequestedShares::RequestedShares(const std::map<std::string, std::string>& annotations,
                                 std::string container)
    : annotations_(annotations), suffix_("." + std::move(container)) {
  const bool named = std::ranges::any_of(kRequests, [&](const auto request) {
    return annotations_.contains(std::string(request) + suffix_);
  });
  if (!named) suffix_.clear();
}

bool RequestedShares::has(const std::string& share) const {
  return annotations_.contains(share + suffix_);
}

std::string RequestedShares::get(const std::string& share, const std::string& otherwise) const {
  const auto found = annotations_.find(share + suffix_);
  return found == annotations_.end() ? otherwise : found->second;
}

std::size_t RequestedShares::cards() const { return std::stoul(get("gpu-count", "1")); }

bool RequestedShares::whole_cards() const {
  return !has("gpu-mem") && thousandths(get("gpu-fraction", "1")) == 1000;
}

Amount RequestedShares::share_of(long card_mib) const {
  if (!has("gpu-mem")) {
    const long milli = thousandths(get("gpu-fraction", "1"));
    return {.mib = card_mib * milli / 1000, .milli = milli};
  }
  const long mib = mebibytes(get("gpu-mem", ""));
  const long proportional = 1000 * mib / card_mib;
  return {.mib = mib,
          .milli = has("gpu-compute") ? thousandths(get("gpu-compute", "")) : proportional};
}

Due RequestedShares::on(long card_mib) const {
  Due due;
  due.share = share_of(card_mib);
  due.limit = due.share;
  if (due.share.milli == 0) due.limit.milli = 1000;  // best effort: limited only by the card
  if (has("gpu-mem-limit")) {
    due.limit.mib = std::clamp(mebibytes(get("gpu-mem-limit", "")), due.share.mib, card_mib);
  }
  if (has("gpu-compute-limit")) {
    due.limit.milli = std::max(thousandths(get("gpu-compute-limit", "")), due.share.milli);
  }
  return due;
}

bool RequestedShares::takes_model(const std::string& model) const {
  return globs_take("gpu-model", model);
}

bool RequestedShares::takes_card(const std::string& uuid) const {
  return globs_take("gpu-uuid", uuid);
}

bool RequestedShares::globs_take(const std::string& annotation, const std::string& text) const {
  const auto found = annotations_.find(annotation);
  std::string rest = found == annotations_.end() ? "" : found->second;
  bool any_including = false;
  bool matched = false;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    std::string glob = rest.substr(0, comma);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    const bool excludes = glob.starts_with('!');
    if (excludes) glob = glob.substr(1);
    const bool hit = ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
    if (excludes && hit) return false;
    any_including |= !excludes;
    matched |= hit;
  }
  return matched || !any_including;
}

std::string RequestedShares::isolation() const {
  const auto found = annotations_.find("gpu-isolation");
  return found == annotations_.end() ? "" : found->second;
}

bool asks_for_gpu(const std::map<std::string, std::string>& annotations) {
  return std::ranges::any_of(annotations, [](const auto& entry) {
    const std::string name = entry.first.substr(0, entry.first.find('.'));
    return std::ranges::find(kRequests, name) != kRequests.end();
  });
}

}  // namespace tangram::e2e
