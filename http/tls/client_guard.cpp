#include "http/tls/client_guard.hpp"

#include "base/quote.hpp"

#include <algorithm>
#include <array>

namespace tangram::http::tls {
namespace {

constexpr std::string_view kNoCertificate =
    "show a client certificate that tls.client_ca of this server vouches for; kube-scheduler takes "
    "it from certFile and keyFile in tlsConfig of the extender's entry in its configuration";

constexpr std::string_view kNoPage =
    "show a client certificate that tls.client_ca of this server vouches for, or come by way of "
    "the "
    "API server: kubectl --namespace tangram-system port-forward service/tangram-extender 9898";

constexpr std::array<std::string_view, 4> kForEverybody{"/healthz", "/readyz", "/metrics",
                                                        "/metrics/cards"};

/// More would not fit a log's line, and a certificate may carry a thousand.
constexpr std::size_t kNamesShown = 5;

std::string wrong_name(const TlsClient& client) {
  std::string sentence = "the client certificate carries none of the names in tls.client_names: ";
  for (std::size_t i = 0; i < std::min(client.names.size(), kNamesShown); ++i) {
    sentence.append(quote(client.names[i])).append(" ");
  }
  return sentence + "may not do this";
}

}  // namespace

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, end);
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    if (!name.empty()) names.emplace_back(name);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return names;
}

Gate verified_clients(std::vector<std::string> names) {
  return [names = std::move(names)](const Head& head) -> std::optional<Response> {
    if (head.method == "GET" || head.method == "HEAD") {
      const std::string_view path = head.target.substr(0, head.target.find('?'));
      const bool open = std::ranges::find(kForEverybody, path) != kForEverybody.end();
      if (open || head.local || head.client != nullptr) return std::nullopt;
      return text_response(403, kNoPage);
    }
    if (head.client == nullptr) return text_response(403, kNoCertificate);
    const auto& shown = head.client->names;
    const bool known = names.empty() || std::ranges::find_first_of(shown, names) != shown.end();
    if (known) return std::nullopt;
    return text_response(403, wrong_name(*head.client));
  };
}

}  // namespace tangram::http::tls
