#include "config/settings.hpp"

#include "base/quote.hpp"
#include "base/spelling.hpp"
#include "config/sections/sections.hpp"

#include <boost/asio/ip/address.hpp>

#include <array>
#include <charconv>

namespace tangram::config {

std::span<const Section> sections() {
  static const std::array kSections{kServerSection,
                                    kTlsSection,
                                    kWebhookSection,
                                    kMetricsSection,
                                    kSchedulerSection,
                                    kBindSection,
                                    kKubeSection,
                                    kLeaderElectionSection,
                                    kEvictionSection,
                                    kGrantsSection,
                                    kFragmentationSection,
                                    kBestfitSection,
                                    kAdmissionSection,
                                    kForeignSection,
                                    kLogSection};
  return kSections;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::string full_name(const Section& section, const Setting& setting) {
  return std::string(section.name).append(".").append(setting.key);
}

std::string value_text(const Setting& setting, const Config& config) {
  if (const auto* integer = std::get_if<IntegerRule>(&setting.rule)) {
    return std::to_string(integer->get(config));
  }
  return std::get<TextRule>(setting.rule).get(config);
}

std::string allowed_text(const Setting& setting) {
  if (const auto* integer = std::get_if<IntegerRule>(&setting.rule)) {
    return std::to_string(integer->min.value) + ".." + std::to_string(integer->max.value);
  }
  const auto& rule = std::get<TextRule>(setting.rule);
  return rule.form.empty() ? alternatives(rule.choices) : std::string(rule.form);
}

std::string remedy(const Setting& setting) {
  const bool number = std::holds_alternative<IntegerRule>(setting.rule);
  return (number ? "a whole number in " : "") + allowed_text(setting);
}

std::optional<std::string> assign(const Setting& setting, std::string_view text, Config& config) {
  if (const auto* rule = std::get_if<TextRule>(&setting.rule)) {
    if (rule->set(config, text)) return std::nullopt;
    return quote(text) + " is not allowed; write " + allowed_text(setting);
  }
  const auto& rule = std::get<IntegerRule>(setting.rule);
  const std::string advice = "; write " + remedy(setting);
  const auto value = whole_number(text);
  if (!value) return quote(text) + " is not a whole number" + advice;
  if (*value < rule.min.value || *value > rule.max.value) {
    const bool low = *value < rule.min.value;
    const Bound& bound = low ? rule.min : rule.max;
    return std::to_string(*value) + (low ? " is below " : " is above ") +
           std::to_string(bound.value) + " (" + std::string(bound.reason) + ")" + advice;
  }
  rule.set(config, *value);
  return std::nullopt;
}

std::string to_string(const Endpoint& endpoint) {
  const bool v6 = endpoint.address.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + endpoint.address + "]" : endpoint.address;
  return host + ":" + std::to_string(endpoint.port);
}

bool is_loopback(const Endpoint& endpoint) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(endpoint.address, error);
  if (error) return false;
  const bool mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  return mapped ? boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6())
                      .is_loopback()
                : address.is_loopback();
}

}  // namespace tangram::config
