#include "extender/page/page_routes.hpp"

#include "extender/page/page_files.hpp"

#include <string>

namespace tangram::extender {
namespace {

constexpr std::string_view kIndex = "index.html";

/// Weak, because the same tag names the compressed form.
std::string tag_of(const PageFile& file) { return "W/\"" + std::string(file.hash) + "\""; }

/// Of a list of tags it is enough that ours is among them; hashes do not occur by chance.
bool has_it(const http::Request& request, const PageFile& file) {
  return request.header("If-None-Match").find(file.hash) != std::string_view::npos;
}

http::Response page_response(const PageFile& file, const http::Request& request) {
  http::Response response;
  response.headers = {
      // Revalidated each time, so that a page never mixes files of two versions.
      {"Cache-Control", "no-cache"},
      {"ETag", tag_of(file)},
      {"Content-Security-Policy", std::string(kPagePolicy)},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
  };
  if (has_it(request, file)) {
    response.status = 304;
    response.content_type.clear();
    return response;
  }
  response.content_type = file.media_type;
  response.body = file.text;
  response.gzip = true;
  return response;
}

}  // namespace

void add_page_routes(http::Router& router) {
  for (const PageFile& file : page_files()) {
    const std::string path = file.name == kIndex ? "/" : "/page/" + std::string(file.name);
    router.add("GET", path, [&file](const http::Request& request, http::Responder responder) {
      responder.send(page_response(file, request));
    });
  }
}

}  // namespace tangram::extender
