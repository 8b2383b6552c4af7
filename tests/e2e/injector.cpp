#include "tests/e2e/injector.hpp"

#include "base/base64.hpp"
#include "base/file.hpp"
#include "http/tls/identity.hpp"
#include "tests/e2e/raw_json.hpp"
#include "tests/e2e/webhook.hpp"

#include <stdexcept>

namespace tangram::e2e {

namespace {

constexpr const char* kFolder =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr const char* kPath =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/zz-injector";

constexpr const char* kPatch = R"([{"op":"add","path":"/spec/containers/0","value":)"
                               R"({"name":"injected","image":"registry.example/proxy:1"}}])";

/// Avoids a second injection, as correct injectors do.
bool has_injected(const rapidjson::Value& pod) {
  for (const auto& container : pod["spec"]["containers"].GetArray()) {
    if (text_of(container, "name") == "injected") return true;
  }
  return false;
}

std::string answer(const std::string& review) {
  const auto call = parse_json(review);
  const std::string uid = text_of(call["request"], "uid");
  std::string reply = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
                      R"("response":{"uid":")" +
                      uid + R"(","allowed":true)";
  if (!has_injected(call["request"]["object"])) {
    reply += R"(,"patchType":"JSONPatch","patch":")" + base64_encode(kPatch) + "\"";
  }
  return reply + "}}";
}

std::string registration(int port) {
  const auto ca = base64_encode(read_file((webhook_certificates() / "ca.crt").string()).value());
  return R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration",)"
         R"("metadata":{"name":"zz-injector"},"webhooks":[{"name":"injector.example.com",)"
         R"("admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Fail",)"
         R"("rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],)"
         R"("resources":["pods"]}],"namespaceSelector":{"matchLabels":)"
         R"({"kubernetes.io/metadata.name":"default"}},"clientConfig":{"url":"https://127.0.0.1:)" +
         std::to_string(port) + R"(/inject","caBundle":")" + ca + R"("}}]})";
}

}  // namespace

Injector::Injector(Cluster& cluster) : cluster_(cluster) {
  const auto& files = webhook_certificates();
  auto identity = http::tls::Identity::load("injector",
                                            {.certificate = (files / "tls.crt").string(),
                                             .key = (files / "tls.key").string(),
                                             .client_ca = ""},
                                            clock_);
  if (!identity) throw std::runtime_error(identity.error().message);
  http::Options options;
  options.address = "127.0.0.1";
  options.tls = *identity;
  auto server =
      http::Server::create(options, [this](http::Request request, http::Responder responder) {
        ++calls_;
        http::Response response;
        response.body = answer(request.body);
        responder.send(std::move(response));
      });
  if (!server) throw std::runtime_error(server.error().message);
  server_ = std::move(*server);
  cluster_.remove(kPath);
  cluster_.create(kFolder, registration(server_->port()));
}

Injector::~Injector() { cluster_.remove(kPath); }

}  // namespace tangram::e2e
