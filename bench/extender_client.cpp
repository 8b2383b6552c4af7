#include "bench/extender_client.hpp"

#include "base/json.hpp"
#include "http/client.hpp"

#include <utility>

namespace tangram::bench {

namespace {

ExtenderClient::Reasons read_reasons(json::Reader& in) {
  ExtenderClient::Reasons reasons;
  in.object([&](std::string_view node) { reasons.emplace(node, in.string()); });
  return reasons;
}

}  // namespace

struct ExtenderClient::Connection {
  http::Client http;
};

ExtenderClient::ExtenderClient(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
ExtenderClient::~ExtenderClient() = default;
ExtenderClient::ExtenderClient(ExtenderClient&&) noexcept = default;
ExtenderClient& ExtenderClient::operator=(ExtenderClient&&) noexcept = default;

Result<ExtenderClient> ExtenderClient::connect(const std::string& host, std::uint16_t port) {
  auto connection = std::make_unique<Connection>();
  if (auto connected = connection->http.connect(host, port); !connected) return connected.error();
  return ExtenderClient(std::move(connection));
}

Result<std::string> ExtenderClient::post(std::string_view path, std::string body) {
  auto reply = connection_->http.request("POST", path, std::move(body));
  if (!reply) return reply.error();
  if (reply->status != 200) {
    return fail(Errc::kInvalidArgument, "POST " + std::string(path) + " was answered with " +
                                            std::to_string(reply->status) + ": " + reply->body);
  }
  return std::move(reply->body);
}

Result<ExtenderClient::Filtered> ExtenderClient::filter(std::string_view pod,
                                                        const std::vector<std::string>& nodes) {
  auto body = post("/filter", filter_body(pod, nodes));
  if (!body) return body.error();
  return decode_filter_reply(std::move(*body));
}

Result<ExtenderClient::Filtered> decode_filter_reply(std::string reply) {
  ExtenderClient::Filtered filtered;
  json::Reader in(reply);
  in.object([&](std::string_view key) {
    if (key == "NodeNames") {
      in.array([&] { filtered.nodes.emplace_back(in.string()); });
    } else if (key == "FailedNodes") {
      filtered.failed = read_reasons(in);
    } else if (key == "FailedAndUnresolvableNodes") {
      filtered.unresolvable = read_reasons(in);
    } else if (key == "Error") {
      filtered.error = in.string_or_null();
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  return filtered;
}

Result<std::vector<ExtenderClient::Score>> ExtenderClient::prioritize(
    std::string_view pod, const std::vector<std::string>& nodes) {
  auto body = post("/prioritize", filter_body(pod, nodes));
  if (!body) return body.error();
  std::vector<Score> scores;
  json::Reader in(*body);
  in.array([&] {
    Score score;
    in.object([&](std::string_view key) {
      if (key == "Host") {
        score.host = in.string();
      } else if (key == "Score") {
        score.score = in.integer();
      } else {
        in.skip();
      }
    });
    scores.push_back(std::move(score));
  });
  if (auto done = in.finish(); !done) return done.error();
  return scores;
}

Result<std::string> ExtenderClient::bind(const PodName& pod, const std::string& node) {
  auto body = post("/bind", bind_body(pod, node));
  if (!body) return body.error();
  std::string error;
  json::Reader in(*body);
  in.object([&](std::string_view key) {
    if (key == "Error") {
      error = in.string_or_null();
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  return error;
}

Result<ExtenderClient::Page> ExtenderClient::get(const std::string& target) {
  auto reply = connection_->http.request("GET", target);
  if (!reply) return reply.error();
  return Page{reply->status, std::move(reply->body)};
}

std::string filter_body(std::string_view pod, const std::vector<std::string>& nodes) {
  constexpr std::size_t kPerName = 24;
  std::string text;
  text.reserve(pod.size() + 64 + nodes.size() * kPerName);
  json::Writer out(text);
  out.begin_object().key("Pod").raw(pod).key("Nodes").null().key("NodeNames").begin_array();
  for (const std::string& node : nodes) out.string(node);
  out.end_array().end_object();
  return text;
}

std::string bind_body(const ExtenderClient::PodName& pod, std::string_view node) {
  std::string text;
  json::Writer(text)
      .begin_object()
      .member("PodName", pod.name)
      .member("PodNamespace", pod.ns)
      .member("PodUID", pod.uid)
      .member("Node", node)
      .end_object();
  return text;
}

}  // namespace tangram::bench
