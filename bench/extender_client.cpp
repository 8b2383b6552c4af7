#include "bench/extender_client.hpp"

#include "base/json_members.hpp"

#include <utility>

namespace tangram::bench {

Result<ExtenderClient> ExtenderClient::connect(const std::string& host, std::uint16_t port,
                                               const std::optional<http::ClientTls>& tls) {
  ExtenderClient client(tls ? http::Client(*tls) : http::Client());
  if (auto connected = client.http_.connect(host, port); !connected) return connected.error();
  return client;
}

Result<std::string> ExtenderClient::post(std::string_view path, std::string body) {
  auto reply = http_.request("POST", path, std::move(body));
  if (!reply) return reply.error();
  if (reply->status != 200) {
    return fail(Errc::kInvalidArgument, "POST " + std::string(path) + " returned " +
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
  json::read_members(in, "NodeNames", filtered.nodes, "FailedNodes", filtered.failed,
                     "FailedAndUnresolvableNodes", filtered.unresolvable, "Error", filtered.error);
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
    Score& score = scores.emplace_back();
    json::read_members(in, "Host", score.host, "Score", score.score);
  });
  if (auto done = in.finish(); !done) return done.error();
  return scores;
}

Result<std::string> ExtenderClient::bind(const PodName& pod, const std::string& node) {
  auto body = post("/bind", bind_body(pod, node));
  if (!body) return body.error();
  std::string error;
  json::Reader in(*body);
  json::read_members(in, "Error", error);
  if (auto done = in.finish(); !done) return done.error();
  return error;
}

Result<ExtenderClient::Page> ExtenderClient::get(const std::string& target) {
  auto reply = http_.request("GET", target);
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
