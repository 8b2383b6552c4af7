#include "http/router.hpp"

#include <stdexcept>
#include <utility>

namespace tangram::http {
namespace {

/// A path may be as long as the header limit; a message should not be.
constexpr std::size_t kLongestQuotedPath = 120;

Response not_found(std::string_view path) {
  std::string sentence = "nothing is served at \"";
  sentence.append(path.substr(0, kLongestQuotedPath));
  sentence.append(path.size() > kLongestQuotedPath ? "...\"" : "\"");
  return text_response(404, sentence);
}

Response method_not_allowed(const std::string& method, const std::string& path,
                            const std::string& allowed) {
  auto response = text_response(405, path + " does not take " + method + "; use " + allowed);
  response.headers.push_back({"Allow", allowed});
  return response;
}

/// Only browsers send Origin with a POST: a web page must not bind pods through the browser of a
/// visitor who can reach this server.
bool posted_by_a_page(const Request& request) {
  return request.method == "POST" && !request.header("Origin").empty();
}

}  // namespace

void Router::add(std::string method, std::string path, Handler handler) {
  const std::string name = method + " " + path;
  const bool added = paths_[std::move(path)].emplace(std::move(method), std::move(handler)).second;
  if (!added) throw std::logic_error("two handlers for " + name);
}

void Router::operator()(Request request, Responder responder) const {
  const auto methods = paths_.find(request.path);
  if (methods == paths_.end()) return responder.send(not_found(request.path));
  const std::string wanted = request.method == "HEAD" ? "GET" : request.method;
  const auto handler = methods->second.find(wanted);
  if (handler != methods->second.end()) {
    if (posted_by_a_page(request)) {
      return responder.send(
          text_response(403, "web pages may not post here; send the request without a browser"));
    }
    return handler->second(std::move(request), std::move(responder));
  }
  std::string allowed;
  for (const auto& [method, unused] : methods->second) {
    allowed.append(allowed.empty() ? "" : ", ").append(method);
    if (method == "GET") allowed.append(", HEAD");
  }
  responder.send(method_not_allowed(request.method, request.path, allowed));
}

}  // namespace tangram::http
