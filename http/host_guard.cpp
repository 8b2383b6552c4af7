#include "http/host_guard.hpp"

#include "base/quote.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>

#include <algorithm>

namespace tangram::http {
namespace {

/// "name:80" is "name", "[::1]:80" is "::1", and "name." is "name".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  host = host.substr(0, host.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

bool is_address(std::string_view name) {
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(name), error);
  return !error;
}

}  // namespace

bool names_no_other(std::string_view host) {
  const std::string_view name = without_port(host);
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return host.empty() || boost::beast::iequals(last, "localhost") || is_address(name);
}

Gate local_pages_by_name(std::vector<std::string> names) {
  return [names = std::move(names)](const Head& head) -> std::optional<Response> {
    const bool reads = head.method == "GET" || head.method == "HEAD";
    if (!reads || !head.local || names_no_other(head.host)) return std::nullopt;
    const std::string_view host = without_port(head.host);
    const bool known = std::ranges::any_of(
        names, [&](const auto& name) { return boost::beast::iequals(host, name); });
    if (known) return std::nullopt;
    return text_response(421, "the name " + quote(host) +
                                  " is not known to be this server's; use localhost or an IP "
                                  "address, or add the name to server.host_names");
  };
}

}  // namespace tangram::http
