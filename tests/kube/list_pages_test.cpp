#include "kube/list_pages.hpp"

#include "kube/local/api.hpp"
#include "tests/testing/bounded_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/kube_scripted_api.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::kube {
namespace {

using testing::BoundedApi;
using testing::json_at;
using testing::ScriptedApi;
using Limits = std::vector<int>;

class ListPagesTest : public ::testing::Test {
 protected:
  void create(int pods, std::size_t bytes) {
    for (int i = 0; i < pods; ++i) {
      const std::string name = std::to_string(1000 + ++pods_);
      const auto made = server.call(testing::write_request(
          Method::kPost, "/api/v1/namespaces/ml/pods",
          testing::pod_json({.name = name, .annotations = {{"a", std::string(bytes, 'x')}}})));
      ASSERT_EQ(made->status, 201) << made->body;
    }
  }
  /// @returns the names of all, in order; or the error's code
  static Result<std::vector<std::string>> read_all(KubeApi& api, int page_size) {
    ListPages pages(api, {.path = "/api/v1/pods"}, page_size);
    std::vector<std::string> names;
    while (!pages.ended()) {
      const auto page = pages.next([&](std::string_view pod) {
        names.push_back(json_at(std::string(pod), "metadata.name"));
      });
      if (!page) return page.error();
      EXPECT_EQ(page->status, 200);
    }
    return names;
  }
  void expect_all(const Result<std::vector<std::string>>& names) const {
    ASSERT_TRUE(names) << names.error().message;
    EXPECT_EQ(names->size(), static_cast<std::size_t>(pods_));
    EXPECT_TRUE(std::is_sorted(names->begin(), names->end()));
    EXPECT_EQ(std::adjacent_find(names->begin(), names->end()), names->end());
  }

  testing::ManualClock clock;
  LocalApi server{clock};

 private:
  int pods_ = 0;
};

TEST_F(ListPagesTest, HalvesAPageThatIsTooLongUntilItFits) {
  create(10, 5'000);
  BoundedApi api(server, 20'000);  // three pods
  expect_all(read_all(api, 16));
  EXPECT_EQ(api.limits(), (Limits{16, 8, 4, 2, 4, 2, 4, 2, 4, 2, 4}));
}

TEST_F(ListPagesTest, GrowsAgainBehindLargeObjects) {
  create(2, 15'000);
  create(60, 10);
  BoundedApi api(server, 20'000);
  expect_all(read_all(api, 16));
  EXPECT_EQ(api.limits(), (Limits{16, 8, 4, 2, 1, 2, 4, 8, 16, 16, 16}));
}

/// A page of so many objects of one megabyte.
std::string page_of(int objects, const std::string& more) {
  std::string text =
      R"({"metadata":{"resourceVersion":"7","continue":")" + more + R"("},"items":[)";
  for (int i = 0; i < objects; ++i) {
    text += std::string(i == 0 ? "" : ",") + R"({"a":")" + std::string(1'000'000, 'x') + R"("})";
  }
  return text + "]}";
}

TEST_F(ListPagesTest, PagesOfLargeObjectsStayBelowTheirTarget) {
  ScriptedApi api;
  api.will_answer(200, page_of(20, "a"));
  api.will_answer(200, page_of(16, "b"));
  api.will_answer(200, page_of(4, ""));
  ListPages pages(api, {.path = "/x"}, 20);
  int objects = 0;
  while (!pages.ended()) ASSERT_TRUE(pages.next([&](std::string_view) { ++objects; }));
  EXPECT_EQ(objects, 40);
  EXPECT_EQ(pages.version(), "7");
  ASSERT_EQ(api.calls().size(), 3U);
  EXPECT_EQ(api.calls()[0].query.at("limit"), "20");
  EXPECT_EQ(api.calls()[1].query.at("limit"), "16");
  EXPECT_EQ(api.calls()[2].query.at("limit"), "16");
  EXPECT_EQ(api.calls()[2].query.at("continue"), "b");
}

TEST_F(ListPagesTest, AnObjectThatAloneIsTooLongIsAnError) {
  create(3, 5'000);
  BoundedApi api(server, 4'000);
  EXPECT_EQ(read_all(api, 4).error().code, Errc::kTooLarge);
  EXPECT_EQ(api.limits(), (Limits{4, 2, 1}));
}

TEST_F(ListPagesTest, ErrorsAndRefusalsAreHandedOn) {
  ScriptedApi api;
  api.will_answer(fail(Errc::kTimeout, "cut"));
  api.will_answer(410, "gone");
  ListPages pages(api, {.path = "/x"}, 500);
  const auto none = [](std::string_view) { FAIL(); };
  EXPECT_EQ(pages.next(none).error().code, Errc::kTimeout);
  const auto refused = pages.next(none);
  EXPECT_EQ(refused->status, 410);
  EXPECT_EQ(refused->body, "gone");
  EXPECT_FALSE(pages.ended());
  for (const Request& request : api.calls()) EXPECT_EQ(request.query.at("limit"), "500");
}

}  // namespace
}  // namespace tangram::kube
