#include "http/target.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tangram::http {
namespace {

using Query = std::map<std::string, std::string, std::less<>>;

struct TargetCase {
  std::string name;
  std::string target;
  std::string want_path;
  Query want_query = {};

  friend void PrintTo(const TargetCase& c, std::ostream* out) { *out << c.name; }
};

class HttpTargetTest : public ::testing::TestWithParam<TargetCase> {};

TEST_P(HttpTargetTest, IsTakenApartAndDecoded) {
  const auto target = parse_target(GetParam().target);
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->path, GetParam().want_path);
  EXPECT_EQ(target->query, GetParam().want_query);
}

INSTANTIATE_TEST_SUITE_P(
    Table, HttpTargetTest,
    ::testing::ValuesIn(std::vector<TargetCase>{
        {"Root", "/", "/"},
        {"Path", "/api/v1/cluster", "/api/v1/cluster"},
        {"Query", "/e?namespace=ml&pod=a", "/e", {{"namespace", "ml"}, {"pod", "a"}}},
        {"EmptyQuery", "/e?", "/e"},
        {"EmptyPairs", "/e?&&a=1&", "/e", {{"a", "1"}}},
        {"NameAlone", "/e?a", "/e", {{"a", ""}}},
        {"FirstOfEqualNames", "/e?a=1&a=2", "/e", {{"a", "1"}}},
        {"EqualSignInValue", "/e?a=b=c", "/e", {{"a", "b=c"}}},
        {"EscapesInPath", "/%41%2f%7e+", "/A/~+"},
        {"EscapesInQuery", "/?%61=%26%3D+%2B", "/", {{"a", "&= +"}}},
        {"Absolute", "http://host:80/x?a=1", "/x", {{"a", "1"}}},
        {"AbsoluteWithoutPath", "http://host", "/"},
    }),
    [](const auto& test) { return test.param.name; });

class HttpBadTargetTest : public ::testing::TestWithParam<const char*> {};

TEST_P(HttpBadTargetTest, IsRefused) {
  const auto target = parse_target(GetParam());
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code, Errc::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Table, HttpBadTargetTest,
                         ::testing::Values("", "*", "x", "host:443", "/%", "/%4", "/%g1", "/?%",
                                           "/?a=%1x"));

struct GzipCase {
  std::string name;
  std::string header;
  bool want = false;

  friend void PrintTo(const GzipCase& c, std::ostream* out) { *out << c.name; }
};

class AcceptsGzipTest : public ::testing::TestWithParam<GzipCase> {};

TEST_P(AcceptsGzipTest, ReadsTheHeader) {
  EXPECT_EQ(accepts_gzip(GetParam().header), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Table, AcceptsGzipTest,
                         ::testing::ValuesIn(std::vector<GzipCase>{
                             {"None", "", false},
                             {"Plain", "gzip", true},
                             {"AmongOthers", "deflate, gzip;q=0.5, br", true},
                             {"Others", "deflate, br", false},
                             {"Refused", "gzip;q=0", false},
                             {"RefusedLongForm", "gzip; q=0.000", false},
                             {"LowQuality", "gzip;q=0.001", true},
                             {"Any", "*", true},
                             {"AnyButGzip", "*, gzip;q=0", false},
                             {"NothingElse", "gzip, *;q=0", true},
                             {"NotPartOfAName", "gzipped", false},
                         }),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tangram::http
