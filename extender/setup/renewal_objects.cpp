#include "extender/setup/renewal_objects.hpp"

#include "base/base64.hpp"
#include "base/json_members.hpp"
#include "base/json_scan.hpp"
#include "kube/client.hpp"
#include "kube/object_scan.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace tangram::extender {
namespace {

using kube::JsonDoc;
using kube::Method;

/// The API server may be slow to write while it is under load, and nobody waits for this.
constexpr std::chrono::seconds kPatience{15};

Errc meaning_of(int status) {
  if (status == 404) return Errc::kNotFound;
  if (status == 409) return Errc::kConflict;
  return status == 429 || status >= 500 ? Errc::kUnavailable : Errc::kInvalidArgument;
}

/// @returns the object in the answer
Result<std::string> send(kube::KubeApi& api, Method method, const std::string& path,
                         std::string body = "") {
  kube::Request request{.method = method, .path = path, .body = std::move(body)};
  if (method == Method::kPatch) request.content_type = "application/merge-patch+json";
  request.timeout = kPatience;
  auto response = api.call(request);
  if (!response) return fail(response.error().code, path + ": " + response.error().message);
  if (response->status >= 300) {
    return fail(meaning_of(response->status), std::string(kube::to_string(method)) + " " + path +
                                                  ": " + kube::status_message(*response));
  }
  return std::move(response->body);
}

/// What base64 that came in an object means: certificates.
Result<std::string> decoded(const std::string& path, const std::string& text) {
  auto bytes = base64_decode(text);
  if (!bytes) return fail(Errc::kInvalidArgument, path + ": expected base64");
  return std::move(*bytes);
}

Result<CaBundle> decoded_bundle(const std::string& path, const std::string& text) {
  const auto pem = decoded(path, text);
  if (!pem) return pem.error();
  auto bundle = CaBundle::parse(*pem);
  if (!bundle) return fail(bundle.error().code, path + ": " + bundle.error().message);
  return bundle;
}

Result<TlsSecret> secret_of(const std::string& path, std::string text) {
  TlsSecret secret{.path = path, .version = "", .authorities = {}, .certificate = ""};
  std::string authorities;
  std::string certificate;
  static const json::Outline kOutline{
      .members = {{"metadata", {{"resourceVersion"}}}, {"data", {{"ca.crt"}, {"tls.crt"}}}}};
  json::Reader in(text, kOutline);
  json::read_members(in, "metadata", json::members("resourceVersion", secret.version), "data",
                     json::members("ca.crt", authorities, "tls.crt", certificate));
  if (auto done = in.finish(); !done) return fail(done.error().code, path + done.error().message);
  auto bundle = decoded_bundle(path, authorities);
  if (!bundle) return bundle.error();
  auto pem = decoded(path, certificate);
  if (!pem) return pem.error();
  secret.authorities = std::move(*bundle);
  secret.certificate = std::move(*pem);
  return secret;
}

void set_data(JsonDoc& doc, const CaBundle& authorities, const CertificateAndKey* certificate) {
  doc.set_string({"data", "ca.crt"}, base64_encode(authorities.pem()));
  if (certificate == nullptr) return;
  doc.set_string({"data", "tls.crt"}, base64_encode(certificate->certificate));
  doc.set_string({"data", "tls.key"}, base64_encode(certificate->key));
}

Result<Registration> registration_of(const std::string& path, const std::string& text) {
  const std::string kept = kube::without_managed_fields(text);
  std::string copy = kept;
  json::Reader in(copy);
  std::vector<std::string> bundles;
  const auto read_bundle = [](json::Reader& webhook) {
    std::string bundle;
    json::read_members(webhook, "clientConfig", json::members("caBundle", bundle));
    return bundle;
  };
  json::read_members(in, "webhooks", json::each(bundles, read_bundle));
  if (auto done = in.finish(); !done) return fail(done.error().code, path + done.error().message);
  auto object = JsonDoc::parse(kept);
  if (!object) return object.error();
  Registration registration{path, std::move(*object), {}, {}};
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    auto bundle = decoded_bundle(path, bundles[i]);
    if (!bundle) return bundle.error();
    registration.authorities.add(*bundle);
    registration.common_authorities =
        i == 0 ? *bundle : registration.common_authorities.common_with(*bundle);
  }
  return registration;
}

/// Of a pod: what it was started under.
constexpr std::string_view kMark = "tangram.dev/authority";

}  // namespace

Result<TlsSecret> read_secret(kube::KubeApi& api, const std::string& path) {
  auto text = send(api, Method::kGet, path);
  if (!text) return text.error();
  return secret_of(path, std::move(*text));
}

Result<void> create_secret(kube::KubeApi& api, const std::string& path, const CaBundle& authorities,
                           const CertificateAndKey& certificate) {
  const auto slash = path.rfind('/');
  JsonDoc doc =
      *JsonDoc::parse(R"({"apiVersion":"v1","kind":"Secret","type":"kubernetes.io/tls"})");
  doc.set_string({"metadata", "name"}, path.substr(slash + 1));
  set_data(doc, authorities, &certificate);
  if (auto made = send(api, Method::kPost, path.substr(0, slash), doc.text()); !made) {
    return made.error();
  }
  return {};
}

Result<void> write_secret(kube::KubeApi& api, TlsSecret& secret, const CaBundle& authorities,
                          const CertificateAndKey* certificate) {
  JsonDoc patch = *JsonDoc::parse("{}");
  patch.set_string({"metadata", "resourceVersion"}, secret.version);
  set_data(patch, authorities, certificate);
  auto text = send(api, Method::kPatch, secret.path, patch.text());
  if (!text) return text.error();
  auto written = secret_of(secret.path, std::move(*text));
  if (!written) return written.error();
  secret = std::move(*written);
  return {};
}

Result<Registration> read_registration(kube::KubeApi& api, const std::string& path) {
  const auto text = send(api, Method::kGet, path);
  if (!text) return text.error();
  return registration_of(path, *text);
}

Result<void> write_registration(kube::KubeApi& api, Registration& registration,
                                const CaBundle& authorities) {
  // A merge patch replaces a list as a whole; the version in it says that the list is this one.
  JsonDoc patch = *JsonDoc::parse("{}");
  patch.copy_from(registration.object, {"metadata", "resourceVersion"});
  patch.copy_from(registration.object, {"webhooks"});
  patch.set_string_in_each({"webhooks"}, {"clientConfig", "caBundle"},
                           base64_encode(authorities.pem()));
  const auto text = send(api, Method::kPatch, registration.path, patch.text());
  if (!text) return text.error();
  auto written = registration_of(registration.path, *text);
  if (!written) return written.error();
  registration = std::move(*written);
  return {};
}

Result<bool> is_rolled_out(kube::KubeApi& api, const std::string& path) {
  auto text = send(api, Method::kGet, path);
  if (!text) return text.error();
  std::int64_t generation = 0;
  std::int64_t observed = 0;
  std::int64_t wanted = 1;  // the API server's default
  std::int64_t all = 0;
  std::int64_t updated = 0;
  std::int64_t available = 0;
  static const json::Outline kOutline{
      .members = {
          {"metadata", {{"generation"}}},
          {"spec", {{"replicas"}}},
          {"status",
           {{"observedGeneration"}, {"replicas"}, {"updatedReplicas"}, {"availableReplicas"}}}}};
  json::Reader in(*text, kOutline);
  json::read_members(in, "metadata", json::members("generation", generation), "spec",
                     json::members("replicas", wanted), "status",
                     json::members("observedGeneration", observed, "replicas", all,
                                   "updatedReplicas", updated, "availableReplicas", available));
  if (auto done = in.finish(); !done) return fail(done.error().code, path + done.error().message);
  return observed >= generation && updated >= wanted && all == updated && available >= updated;
}

Result<bool> restart(kube::KubeApi& api, const std::string& path, const std::string& mark) {
  const auto text = send(api, Method::kGet, path);
  if (!text) return text.error();
  const std::string_view now =
      json::find(*text, {"spec", "template", "metadata", "annotations", kMark});
  if (kube::scan_text(now) == mark) return false;
  JsonDoc patch = *JsonDoc::parse("{}");
  patch.set_string({"spec", "template", "metadata", "annotations", kMark}, mark);
  if (auto sent = send(api, Method::kPatch, path, patch.text()); !sent) return sent.error();
  return true;
}

}  // namespace tangram::extender
