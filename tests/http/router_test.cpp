#include "http/router.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace tangram::http {
namespace {

Handler says(std::string text) {
  return [text = std::move(text)](const Request&, Responder responder) {
    responder.send(text_response(200, text));
  };
}

Router example() {
  Router router;
  router.add("POST", "/filter", says("filter"));
  router.add("GET", "/state", says("read state"));
  router.add("POST", "/state", says("write state"));
  return router;
}

struct RouteCase {
  std::string name;
  std::string method;
  std::string path;
  int want_status = 200;
  std::string want_body;
  std::string want_allow = {};

  friend void PrintTo(const RouteCase& c, std::ostream* out) { *out << c.name; }
};

class RouterTest : public ::testing::TestWithParam<RouteCase> {};

TEST_P(RouterTest, FindsTheHandlerOrSaysWhatToAsk) {
  const RouteCase& c = GetParam();
  Request request;
  request.method = c.method;
  request.path = c.path;
  std::vector<Response> sent;
  example()(std::move(request),
            Responder([&](Response response) { sent.push_back(std::move(response)); }));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].status, c.want_status);
  EXPECT_EQ(sent[0].body, c.want_body + "\n");
  std::string allow;
  for (const auto& [name, value] : sent[0].headers) {
    if (name == "Allow") allow = value;
  }
  EXPECT_EQ(allow, c.want_allow);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RouterTest,
    ::testing::ValuesIn(std::vector<RouteCase>{
        {"Post", "POST", "/filter", 200, "filter"},
        {"SamePathByMethodGet", "GET", "/state", 200, "read state"},
        {"SamePathByMethodPost", "POST", "/state", 200, "write state"},
        {"HeadIsGet", "HEAD", "/state", 200, "read state"},
        {"HeadNeedsGet", "HEAD", "/filter", 405, "/filter does not take HEAD; use POST", "POST"},
        {"WrongMethod", "DELETE", "/state", 405, "/state does not take DELETE; use GET, HEAD, POST",
         "GET, HEAD, POST"},
        {"MethodsAreExact", "post", "/filter", 405, "/filter does not take post; use POST", "POST"},
        {"UnknownPath", "GET", "/fitler", 404, "nothing is served at \"/fitler\""},
        {"PathsAreExact", "POST", "/filter/", 404, "nothing is served at \"/filter/\""},
        {"LongPathIsCut", "GET", "/" + std::string(500, 'x'), 404,
         "nothing is served at \"/" + std::string(119, 'x') + "...\""},
    }),
    [](const auto& test) { return test.param.name; });

TEST(RouterTest, TakesNoPostsOfWebPages) {
  const auto ask = [](const char* method) {
    Request request;
    request.method = method;
    request.path = "/state";
    request.headers = {{"Host", "localhost:9898"}, {"origin", "http://localhost:9898"}};
    int status = 0;
    example()(std::move(request), Responder([&](const Response& sent) { status = sent.status; }));
    return status;
  };
  EXPECT_EQ(ask("POST"), 403);
  EXPECT_EQ(ask("GET"), 200) << "it says what it is allowed to read";
}

TEST(RouterTest, RefusesASecondHandlerForTheSameRoute) {
  Router router = example();
  EXPECT_THROW(router.add("POST", "/filter", says("other")), std::logic_error);
}

}  // namespace
}  // namespace tangram::http
