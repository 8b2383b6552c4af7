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
std::string patch(const std::string& name) {
  return R"([{"op":"add","path":"/spec/containers/0","value":{"name":")" + name +
         R"(","image":"registry.example/proxy:1"}}])";
}

bool has_container(const rapidjson::Value& pod, const std::string& name) {
  for (const auto& container : pod["spec"]["containers"].GetArray()) {
    if (text_of(container, "name") == name) return true;
  }
  return false;
}

/// @param name  of the container, which is added where there is none of that name, as correct
///              injectors do
std::string answer(const std::string& review, const std::string& name) {
  const auto call = parse_json(review);
  const std::string uid = text_of(call["request"], "uid");
  std::string reply = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
                      R"("response":{"uid":")" +
                      uid + R"(","allowed":true)";
  if (!has_container(call["request"]["object"], name)) {
    reply += R"(,"patchType":"JSONPatch","patch":")" + base64_encode(patch(name)) + "\"";
  }
  return reply + "}}";
}

std::string registration(const std::string& name, int port, const std::string& ns,
                         Injector::Adds adds) {
  const auto ca = base64_encode(read_file((webhook_certificates() / "ca.crt").string()).value());
  return R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration",)"
         R"("metadata":{"name":")" +
         name +
         R"("},"webhooks":[{"name":"injector.example.com",)"
         R"("admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Fail",)"
         R"("reinvocationPolicy":")" +
         std::string(adds == Injector::Adds::kAgain ? "IfNeeded" : "Never") +
         R"(",)"
         R"("rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],)"
         R"("resources":["pods"]}],"namespaceSelector":{"matchLabels":)"
         R"({"kubernetes.io/metadata.name":")" +
         ns + R"("}},"clientConfig":{"url":"https://127.0.0.1:)" + std::to_string(port) +
         R"(/inject","caBundle":")" + ca + R"("}}]})";
}

}  // namespace

Injector::Injector(Cluster& cluster, const std::string& ns, Adds adds)
    : cluster_(cluster), name_(adds == Adds::kAgain ? "zzz-injector" : "zz-injector") {
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
      http::Server::create(options, [this, adds](http::Request request, http::Responder responder) {
        const int call = ++calls_;
        http::Response response;
        response.body = answer(
            request.body, adds == Adds::kOnce ? "injected" : "injected-" + std::to_string(call));
        responder.send(std::move(response));
      });
  if (!server) throw std::runtime_error(server.error().message);
  server_ = std::move(*server);
  cluster_.remove(std::string(kFolder) + "/" + name_);
  cluster_.create(kFolder, registration(name_, server_->port(), ns, adds));
}

Injector::~Injector() { cluster_.remove(std::string(kFolder) + "/" + name_); }

}  // namespace tangram::e2e
