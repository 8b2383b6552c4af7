#include "bench/extender_client.hpp"

#include "base/json.hpp"

namespace tangram::bench {

Result<ExtenderClient> ExtenderClient::connect(std::uint16_t port) {
  extender::HttpClient client;
  if (auto connected = client.connect("127.0.0.1", port); !connected) return connected.error();
  return ExtenderClient(std::move(client));
}

Result<std::string> ExtenderClient::post(std::string_view path, std::string body) {
  auto reply = client_.request("POST", path, std::move(body));
  if (!reply) return reply.error();
  if (reply->status != 200) {
    return fail(Errc::kUnavailable, std::string(path) + " answered " +
                                        std::to_string(reply->status) + ": " + reply->body);
  }
  return std::move(reply->body);
}

Result<std::vector<std::string>> ExtenderClient::filter(
    std::string_view pod_json, const std::vector<std::string_view>& nodes) {
  auto reply = post("/filter", filter_body(pod_json, nodes));
  if (!reply) return reply.error();
  std::vector<std::string> kept;
  std::string error;
  json::Reader in(*reply);
  in.object([&](std::string_view key) {
    if (key == "NodeNames") {
      in.array([&] { kept.emplace_back(in.string()); });
    } else if (key == "Error") {
      error = in.string();
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  if (!error.empty()) return fail(Errc::kConflict, error);
  return kept;
}

Result<std::vector<ExtenderClient::Score>> ExtenderClient::prioritize(
    std::string_view pod_json, const std::vector<std::string_view>& nodes) {
  auto reply = post("/prioritize", filter_body(pod_json, nodes));
  if (!reply) return reply.error();
  std::vector<Score> scores;
  json::Reader in(*reply);
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

Result<void> ExtenderClient::bind(const PodName& pod, std::string_view node) {
  auto reply = post("/bind", bind_body(pod, node));
  if (!reply) return reply.error();
  std::string error;
  json::Reader in(*reply);
  in.object([&](std::string_view key) {
    if (key == "Error") {
      error = in.string();
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  if (!error.empty()) return fail(Errc::kConflict, error);
  return {};
}

std::string bind_body(const ExtenderClient::PodName& pod, std::string_view node) {
  std::string body;
  json::Writer(body)
      .begin_object()
      .member("PodName", pod.name)
      .member("PodNamespace", pod.ns)
      .member("PodUID", pod.uid)
      .member("Node", node)
      .end_object();
  return body;
}

std::string filter_body(std::string_view pod_json, const std::vector<std::string_view>& nodes) {
  std::string body;
  body.reserve(pod_json.size() + 64 + nodes.size() * 24);
  json::Writer out(body);
  out.begin_object().key("Pod").raw(pod_json).key("Nodes").null().key("NodeNames").begin_array();
  for (const std::string_view node : nodes) out.string(node);
  out.end_array().end_object();
  return body;
}

}  // namespace tangram::bench
