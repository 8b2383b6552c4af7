#include "tests/e2e/webhook.hpp"

#include "base/base64.hpp"
#include "base/file.hpp"
#include "base/rapidjson.hpp"
#include "kube/local/yaml_to_json.hpp"
#include "source_dir.hpp"
#include "tests/e2e/environment.hpp"
#include "tests/e2e/raw_json.hpp"

#include <stdexcept>
#include <thread>

namespace tangram::e2e {

namespace {

using namespace std::chrono_literals;
using rapidjson::Document;
using rapidjson::Value;

std::string to_text(const Value& value) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> writer(text);
  value.Accept(writer);
  return text.GetString();
}

/// The API path where objects of this kind are created.
std::string folder_of(const Value& object) {
  static const std::map<std::string, std::string> kFolders = {
      {"MutatingWebhookConfiguration", "mutatingwebhookconfigurations"},
      {"ValidatingWebhookConfiguration", "validatingwebhookconfigurations"},
      {"ValidatingAdmissionPolicy", "validatingadmissionpolicies"},
      {"ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"}};
  const auto found = kFolders.find(text_of(object, "kind"));
  if (found == kFolders.end()) {
    throw std::runtime_error("the tests do not know where a " + text_of(object, "kind") + " goes");
  }
  return "/apis/admissionregistration.k8s.io/v1/" + found->second;
}

std::vector<std::string> with_listener(int port, std::vector<std::string> settings) {
  settings.push_back("webhook.listen=127.0.0.1:" + std::to_string(port));
  return settings;
}

}  // namespace

const std::filesystem::path& webhook_certificates() {
  static const std::filesystem::path kFolder = [] {
    const auto folder = environment().state / "webhook-certificates";
    auto made = Process::start({environment().extender, "certificates", "--dir", folder.string()},
                               environment().state / "logs" / "certificates.log");
    if (!made) throw std::runtime_error(made.error().message);
    while (made->running()) std::this_thread::sleep_for(10ms);
    if (!std::filesystem::exists(folder / "tls.key")) {
      throw std::runtime_error("no certificates:\n" +
                               tail(environment().state / "logs" / "certificates.log"));
    }
    return folder;
  }();
  return kFolder;
}

Applied::Applied(Cluster& cluster, const std::string& file,
                 const std::function<std::string(const std::string&)>& change)
    : cluster_(cluster) {
  const auto text = read_file(std::string(TANGRAM_SOURCE_DIR "/") + file).value();
  for (const auto& object : kube::yaml_to_json(text).value()) {
    const std::string json = change ? change(object.json) : object.json;
    const Document read = parse_json(json);
    const std::string folder = folder_of(read);
    paths_.push_back(folder + "/" + text_of(read["metadata"], "name"));
    cluster_.remove(paths_.back());
    cluster_.create(folder, json);
  }
}

Applied::~Applied() {
  for (const auto& path : paths_) cluster_.remove(path);
}

std::function<std::string(const std::string&)> on_loopback(
    int port, const std::filesystem::path& certificates) {
  const auto ca = base64_encode(read_file((certificates / "ca.crt").string()).value());
  return [port, ca](const std::string& json) {
    Document object = parse_json(json);
    auto& memory = object.GetAllocator();
    for (Value& webhook : object["webhooks"].GetArray()) {
      Value& client = webhook["clientConfig"];
      const std::string path = text_of(client["service"], "path");
      const std::string url = "https://127.0.0.1:" + std::to_string(port) + path;
      client.RemoveAllMembers();
      client.AddMember("url", Value(url.c_str(), memory), memory);
      client.AddMember("caBundle", Value(ca.c_str(), memory), memory);
    }
    return to_text(object);
  };
}

Webhook::Webhook(Cluster& cluster, Options options)
    : certificates_(options.certificates.empty() ? webhook_certificates() : options.certificates),
      port_(free_port()),
      extender_({.name = "webhook",
                 .settings = with_listener(port_, std::move(options.settings)),
                 .certificates = certificates_}) {
  extender_.start_ready();
  options.files.insert(options.files.begin(), "webhook.yaml");
  for (const auto& file : options.files) {
    registrations_.emplace_back(cluster, "deploy/webhook/" + file,
                                on_loopback(port_, certificates_));
  }
  PodSpec wrong = fraction_pod("wrong", "2");
  wait_until_refused(cluster.api(), pod_json(wrong));
}

Process Webhook::scheduler() const {
  return start_scheduler({.extender_url = extender_.url(), .certificates = certificates_});
}

void wait_until_refused(kube::KubeApi& api, const std::string& pod_json) {
  kube::Request request;
  request.method = kube::Method::kPost;
  request.path = "/api/v1/namespaces/default/pods";
  request.query["dryRun"] = "All";
  request.body = pod_json;
  request.timeout = 30s;
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  std::string last;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto answer = api.call(request);
    // Status 500: the API server could not call the webhook.
    if (answer && answer->status >= 400 && answer->status < 500) return;
    last = answer ? std::to_string(answer->status) + " " + answer->body : answer.error().message;
    std::this_thread::sleep_for(50ms);  // the API server does not report that it has read them
  }
  throw std::runtime_error("still not refused: " + last);
}

}  // namespace tangram::e2e
