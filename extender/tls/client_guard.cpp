#include "extender/tls/client_guard.hpp"

#include "base/quote.hpp"

#include <algorithm>

namespace tangram::extender::tls {
namespace {

constexpr std::string_view kNoCertificate =
    "show a client certificate that tls.client_ca of this server vouches for; kube-scheduler takes "
    "it from certFile and keyFile in tlsConfig of the extender's entry in its configuration";

std::string wrong_name(const TlsClient& client) {
  std::string sentence = "the client certificate carries none of the names in tls.client_names: ";
  for (const auto& name : client.names) sentence.append(quote(name)).append(" ");
  return sentence + "may not do this";
}

}  // namespace

std::vector<std::string> split_names(std::string_view list) {
  constexpr std::string_view kBetween = ", ";
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(kBetween), list.size());
    if (end > 0) names.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return names;
}

HttpGate verified_clients_write(std::vector<std::string> names) {
  return [names = std::move(names)](const HttpHead& head) -> std::optional<HttpResponse> {
    if (head.method == "GET" || head.method == "HEAD") return std::nullopt;
    if (head.client == nullptr) return text_response(403, kNoCertificate);
    const auto& shown = head.client->names;
    const bool known =
        names.empty() ||
        std::find_first_of(shown.begin(), shown.end(), names.begin(), names.end()) != shown.end();
    if (known) return std::nullopt;
    return text_response(403, wrong_name(*head.client));
  };
}

}  // namespace tangram::extender::tls
