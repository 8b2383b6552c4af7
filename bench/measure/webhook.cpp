#include "base/clock.hpp"
#include "base/file.hpp"
#include "bench/extender_client.hpp"
#include "bench/measure/latency.hpp"
#include "bench/measure/measure.hpp"
#include "bench/objects.hpp"
#include "config/config.hpp"
#include "extender/admission/service.hpp"
#include "extender/setup/certificates_command.hpp"
#include "http/router.hpp"
#include "http/server.hpp"
#include "http/tls/identity.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

namespace tangram::bench {
namespace {

/// A temporary folder.
class Folder {
 public:
  Folder() {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = std::filesystem::temp_directory_path().string() + "/tangram-webhook-XXXXXX";
};

/// Takes a body and answers with that many bytes.
http::Handler null_handler(std::size_t size) {
  return [size](const http::Request&, http::Responder responder) {
    responder.send(http::json_response(std::string(size, ' ')));
  };
}

struct Call {
  std::string path;
  std::string null_path;
  std::string body;
};

Result<VerbTimes> time_call(ExtenderClient& client, const Call& call, const WebhookRun& run) {
  VerbTimes warm_up;
  VerbTimes times{call.path.substr(call.path.rfind('/') + 1)};
  for (int i = 0; i < run.warm_up + run.rounds; ++i) {
    VerbTimes& into = i < run.warm_up ? warm_up : times;
    const auto null = into.null.time([&] { return client.post(call.null_path, call.body); });
    if (!null) return null.error();
    const auto real = into.real.time([&] { return client.post(call.path, call.body); });
    if (!real) return real.error();
  }
  return times;
}

}  // namespace

Result<Report> measure(const WebhookRun& run) {
  const SystemClock clock;
  const Folder folder;
  auto made = extender::make_certificates({.folder = folder.path()}, clock);
  if (!made) return made.error();
  auto identity = http::tls::Identity::load(
      "webhook", {folder.file("tls.crt"), folder.file("tls.key"), ""}, clock);
  if (!identity) return identity.error();
  const auto ca = read_file(folder.file("ca.crt"));
  if (!ca) return ca.error();

  const extender::AdmissionService service(extender::admission_settings(config::Config()), clock,
                                           nullptr);
  const std::string body = admission_review(run.sidecars);
  const std::array calls{Call{"/admission/mutate", "/null/mutate", body},
                         Call{"/admission/validate", "/null/validate", body}};
  http::Router router;
  add_admission_routes(router, service);
  router.add("POST", calls[0].null_path, null_handler(service.mutate(body).body.size()));
  router.add("POST", calls[1].null_path, null_handler(service.validate(body, {}).body.size()));

  http::Options options;
  options.address = "127.0.0.1";
  options.tls = *identity;
  auto server = http::Server::create(options, std::ref(router));
  if (!server) return server.error();
  auto client = ExtenderClient::connect("127.0.0.1", (*server)->port(),
                                        http::ClientTls{.ca = *ca, .server_name = "localhost"});
  if (!client) return client.error();
  std::vector<VerbTimes> all;
  for (const Call& call : calls) {
    auto times = time_call(*client, call, run);
    if (!times) return times.error();
    all.push_back(std::move(*times));
  }
  return Report{.text = latency_table(all), .json = latency_json(all)};
}

}  // namespace tangram::bench
