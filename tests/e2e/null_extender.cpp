#include "tests/e2e/null_extender.hpp"

#include "base/json.hpp"
#include "base/rapidjson.hpp"
#include "kube/client.hpp"

#include <stdexcept>

namespace tangram::e2e {

namespace {

std::string prioritize(const std::string& body) {
  rapidjson::Document request;
  request.Parse(body.c_str());
  std::string text;
  json::Writer out(text);
  out.begin_array();
  for (const auto& name : request["NodeNames"].GetArray()) {
    out.begin_object().member("Host", name.GetString()).member("Score", 0).end_object();
  }
  out.end_array();
  return text;
}

}  // namespace

NullExtender::NullExtender(kube::KubeApi& api, int short_list)
    : api_(api), short_list_(static_cast<std::size_t>(short_list)) {
  http::Options options;
  options.address = "127.0.0.1";
  // Each bind blocks a thread. kube-scheduler has about as many binds in flight as the API server
  // can serve on this machine.
  options.threads = 32;
  auto server =
      http::Server::create(options, [this](http::Request request, http::Responder responder) {
        responder.send(answer(request));
      });
  if (!server) throw std::runtime_error(server.error().message);
  server_ = std::move(*server);
}

std::string NullExtender::url() const {
  return "http://127.0.0.1:" + std::to_string(server_->port());
}

http::Response NullExtender::answer(http::Request& request) {
  if (request.path == "/filter") return http::json_response(filter(request.body));
  if (request.path == "/prioritize") return http::json_response(prioritize(request.body));
  if (request.path == "/bind") return http::json_response(bind(request.body));
  return http::text_response(404, "no such verb");
}

std::string NullExtender::filter(std::string& body) {
  rapidjson::Document request;
  request.ParseInsitu(body.data());
  const auto names = request["NodeNames"].GetArray();
  const std::size_t count = names.Size();
  const std::size_t kept = short_list_ == 0 ? count : std::min(short_list_, count);
  const std::size_t first = kept == count ? 0 : turn_.fetch_add(kept);
  std::string text;
  json::Writer out(text);
  out.begin_object().key("NodeNames").begin_array();
  for (std::size_t i = 0; i < kept; ++i) {
    out.string(names[static_cast<rapidjson::SizeType>((first + i) % count)].GetString());
  }
  out.end_array().end_object();
  return text;
}

std::string NullExtender::bind(const std::string& body) {
  rapidjson::Document request;
  request.Parse(body.c_str());
  const auto bound = kube::bind_pod(api_,
                                    {.ns = request["PodNamespace"].GetString(),
                                     .name = request["PodName"].GetString(),
                                     .uid = request["PodUID"].GetString(),
                                     .node = request["Node"].GetString(),
                                     .annotations = {}},
                                    std::chrono::seconds(4));
  std::string text;
  json::Writer out(text);
  out.begin_object().member("Error", bound ? "" : bound.error().message).end_object();
  return text;
}

}  // namespace tangram::e2e
