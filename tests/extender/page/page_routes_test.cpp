#include "extender/page/page_routes.hpp"

#include "extender/page/page_files.hpp"
#include "http/router.hpp"
#include "http/tls/client_guard.hpp"
#include "source_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace tangram::extender {
namespace {

http::Response ask(const std::string& path, std::vector<http::Header> headers = {}) {
  http::Router router;
  add_page_routes(router);
  http::Response answer;
  http::Request request;
  request.method = "GET";
  request.path = path;
  request.headers = std::move(headers);
  router(std::move(request),
         http::Responder([&](http::Response response) { answer = std::move(response); }));
  return answer;
}

std::string header(const http::Response& response, std::string_view name) {
  const auto found = std::ranges::find(response.headers, name, &http::Header::name);
  return found == response.headers.end() ? "" : found->value;
}

std::string path_of(const PageFile& file) {
  return file.name == "index.html" ? "/" : "/page/" + std::string(file.name);
}

TEST(PageRoutesTest, ServeEveryFileAsItStandsInTheTree) {
  ASSERT_FALSE(page_files().empty());
  for (const PageFile& file : page_files()) {
    std::ifstream in(std::string(TANGRAM_SOURCE_DIR "/extender/page/") + std::string(file.name));
    std::stringstream text;
    text << in.rdbuf();
    const auto answer = ask(path_of(file));
    EXPECT_EQ(answer.status, 200) << file.name;
    EXPECT_EQ(answer.body, text.str()) << file.name;
    EXPECT_EQ(answer.content_type, file.media_type);
    EXPECT_TRUE(answer.gzip);
  }
}

TEST(PageRoutesTest, LetThePageDoNothingButAskThisServer) {
  for (const PageFile& file : page_files()) {
    const auto answer = ask(path_of(file));
    const std::string policy = header(answer, "Content-Security-Policy");
    EXPECT_TRUE(policy.starts_with("default-src 'none';")) << file.name;
    for (const std::string_view open : {"unsafe", "http:", "https:", "data:", "*"}) {
      EXPECT_EQ(policy.find(open), std::string::npos) << policy;
    }
    EXPECT_EQ(header(answer, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(header(answer, "Referrer-Policy"), "no-referrer");
  }
}

TEST(PageRoutesTest, SendNothingTwice) {
  const std::string tag = header(ask("/page/main.js"), "ETag");
  ASSERT_FALSE(tag.empty());
  EXPECT_EQ(header(ask("/page/main.js"), "Cache-Control"), "no-cache");
  for (const std::string& known : {tag, tag.substr(2), "\"x\", " + tag}) {
    const auto answer = ask("/page/main.js", {{"If-None-Match", known}});
    EXPECT_EQ(answer.status, 304) << known;
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(header(answer, "ETag"), tag);
  }
  EXPECT_EQ(ask("/page/main.js", {{"If-None-Match", "\"x\""}}).status, 200);
  std::set<std::string_view> tags;
  for (const PageFile& file : page_files()) EXPECT_TRUE(tags.insert(file.hash).second) << file.name;
}

TEST(PageRoutesTest, AreAskedForOnlyByWhoMayReadThem) {
  const http::Gate gate = http::tls::verified_clients({"system:kube-scheduler"});
  const http::TlsClient someone;
  for (const std::string target :
       {"/", "/page/main.js", "/api/v1/packing", "/api/v1/events?after=x", "/api/v1/cluster"}) {
    EXPECT_TRUE(gate({.method = "GET", .target = target}).has_value()) << target;
    EXPECT_FALSE(gate({.method = "GET", .target = target, .client = &someone}).has_value());
    EXPECT_FALSE(gate({.method = "GET", .target = target, .local = true}).has_value());
  }
}

/// The page sends no request elsewhere, and no text of it becomes HTML.
TEST(PageRoutesTest, HoldNoAddressesAndNoHtmlFromText) {
  for (const PageFile& file : page_files()) {
    for (const std::string_view word :
         {"https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("}) {
      EXPECT_EQ(file.text.find(word), std::string_view::npos) << file.name << ": " << word;
    }
  }
}

}  // namespace
}  // namespace tangram::extender
