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

constexpr std::string_view kNoReview =
    "show a client certificate that webhook.client_ca of this server vouches for; the API server "
    "takes it from kubeConfigFile of both webhook plugins in its --admission-control-config-file";

constexpr std::string_view kNoPage =
    "show a client certificate that tls.client_ca of this server vouches for, or come by way of "
    "the "
    "API server: kubectl --namespace tangram-system port-forward service/tangram-extender 9898";

constexpr std::array<std::string_view, 4> kOpenPaths{"/healthz", "/readyz", "/metrics",
                                                     "/metrics/cards"};

/// Those who may do what a listener is for.
struct Clients {
  std::vector<std::string> names;  ///< empty = any that is verified
  std::string_view setting;        ///< that names them, for messages
  std::string_view without;        ///< the answer to a client without a certificate
};

bool reads(const Head& head) { return head.method == "GET" || head.method == "HEAD"; }

/// These paths take no body: the server would hold it in memory for an unauthenticated client.
bool asks_for_open_path(const Head& head) {
  const std::string_view path = head.target.substr(0, head.target.find('?'));
  return reads(head) && !head.has_body && std::ranges::find(kOpenPaths, path) != kOpenPaths.end();
}

/// More would not fit a log's line, and a certificate may carry a thousand.
constexpr std::size_t kNamesShown = 5;

std::string wrong_name(const TlsClient& client, std::string_view setting) {
  std::string sentence = "the client certificate carries none of the names in ";
  sentence.append(setting).append(": ");
  for (std::size_t i = 0; i < std::min(client.names.size(), kNamesShown); ++i) {
    sentence.append(quote(client.names[i])).append(" ");
  }
  return sentence + "may not do this";
}

std::optional<Response> refuse_others(const Clients& clients, const Head& head) {
  if (head.client == nullptr) return text_response(403, clients.without);
  const auto& shown = head.client->names;
  const bool known =
      clients.names.empty() || std::ranges::find_first_of(shown, clients.names) != shown.end();
  if (known) return std::nullopt;
  return text_response(403, wrong_name(*head.client, clients.setting));
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
  return [clients = Clients{std::move(names), "tls.client_names", kNoCertificate}](
             const Head& head) -> std::optional<Response> {
    if (!reads(head)) return refuse_others(clients, head);
    if (asks_for_open_path(head) || head.local || head.client != nullptr) return std::nullopt;
    return text_response(403, kNoPage);
  };
}

Gate verified_reviewers(std::vector<std::string> names) {
  return [clients = Clients{std::move(names), "webhook.client_names", kNoReview}](
             const Head& head) -> std::optional<Response> {
    if (asks_for_open_path(head)) return std::nullopt;
    return refuse_others(clients, head);
  };
}

}  // namespace tangram::http::tls
