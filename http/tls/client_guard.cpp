#include "http/tls/client_guard.hpp"

#include "base/quote.hpp"
#include "base/split.hpp"

#include <boost/algorithm/string/trim.hpp>

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

constexpr std::array<std::string_view, 4> kOpenPaths{"/healthz", "/readyz", "/metrics",
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
  std::vector<std::string> names = split(list, ',');
  for (std::string& name : names) {
    boost::algorithm::trim_if(name, [](char c) { return c == ' '; });
  }
  std::erase(names, "");
  return names;
}

Gate verified_clients(std::vector<std::string> names) {
  return [names = std::move(names)](const Head& head) -> std::optional<Response> {
    if (head.method == "GET" || head.method == "HEAD") {
      const std::string_view path = head.target.substr(0, head.target.find('?'));
      const bool open = std::ranges::find(kOpenPaths, path) != kOpenPaths.end();
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
