#include "base/json_scan.hpp"

#include "base/json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::json {
namespace {

using Parts = std::vector<std::string>;

Parts members(std::string_view object) {
  Parts parts;
  const bool good = for_each_member(object, [&](std::string_view key, std::string_view value) {
    parts.push_back(std::string(key) + " -> " + std::string(value));
  });
  if (!good) parts.emplace_back("broken");
  return parts;
}

Parts elements(std::string_view array) {
  Parts parts;
  if (!for_each_element(array, [&](std::string_view value) { parts.emplace_back(value); })) {
    parts.emplace_back("broken");
  }
  return parts;
}

TEST(JsonScanTest, CutsAnObjectIntoItsMembers) {
  EXPECT_EQ(members(R"( { "a" : 1 ,"b":{"x":[1,2,{"y":"}"}]}, "c":"q\"}\\","d":null } )"),
            (Parts{"a -> 1", R"(b -> {"x":[1,2,{"y":"}"}]})", R"(c -> "q\"}\\")", "d -> null"}));
  EXPECT_EQ(members("{}"), Parts{});
  EXPECT_EQ(members(" { } "), Parts{});
  EXPECT_EQ(members("null"), Parts{});
}

TEST(JsonScanTest, CutsAnArrayIntoItsElements) {
  EXPECT_EQ(elements(R"([1, "a,]" ,[[]],{"k":"]"},true])"),
            (Parts{"1", R"("a,]")", "[[]]", R"({"k":"]"})", "true"}));
  EXPECT_EQ(elements("[]"), Parts{});
  EXPECT_EQ(elements("null"), Parts{});
}

TEST(JsonScanTest, FindsTheFirstValueOfAPath) {
  constexpr std::string_view kText =
      R"( { "x" : [ {"a":1}, "}" ], "a" : { "b" : 7 , "c" : "d\"" }, "a" : 2, "e": {} } )";
  EXPECT_EQ(find(kText, {"a", "b"}), "7");
  EXPECT_EQ(find(kText, {"a", "c"}), R"("d\"")");
  EXPECT_EQ(find(kText, {"a"}), R"({ "b" : 7 , "c" : "d\"" })");
  EXPECT_EQ(find(kText, {"e"}), "{}");
  EXPECT_EQ(find(R"({"a":1 what follows is not read)", {"a"}), "1");
}

TEST(JsonScanTest, FindsNothingWhereThereIsNothing) {
  for (const char* text : {"", " ", "null", "[]", "{}", "{", "{\"a\"", "{\"a\":", "{\"b\":1}",
                           "{\"b\":1,}", "{\"b\" 1,\"a\":2}", "{\"b\":1 \"a\":2}"}) {
    EXPECT_EQ(find(text, {"a"}), "") << text;
  }
  EXPECT_EQ(find(R"({"a":[1]})", {"a", "b"}), "");
  EXPECT_EQ(find(R"({"a":{"c":1}})", {"a", "b"}), "");
}

TEST(JsonScanTest, SaysWhenATextIsNotWhatItShouldBe) {
  for (const char* text :
       {"", "{", "}", "[]", "1", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\":1 \"b\":2}",
        "{\"a\":1}}", "{\"a\":[1}", "{\"a\":\"x}", "{a:1}", "{\"a\":1} {}", "{\"a\\\":1}"}) {
    const Parts parts = members(text);
    ASSERT_FALSE(parts.empty()) << text;
    EXPECT_EQ(parts.back(), "broken") << text;
  }
  for (const char* text : {"", "[", "{}", "[1,]", "[,1]", "[1 2]", "[[1]", "[1]]", "[\"]"}) {
    const Parts parts = elements(text);
    ASSERT_FALSE(parts.empty()) << text;
    EXPECT_EQ(parts.back(), "broken") << text;
  }
}

TEST(JsonScanTest, RawStringsKeepTheirEscapes) {
  EXPECT_EQ(raw_string(R"("a\"b")"), R"(a\"b)");
  EXPECT_EQ(raw_string("12"), "");
  EXPECT_EQ(raw_string("\""), "");
}

/// What the Reader finds in a text, the scanner finds in the same places.
TEST(JsonScanTest, AgreesWithTheReaderAboutSpans) {
  const std::string text =
      R"({"metadata":{"name":"n","x":"\\\\\"{"},"items":[ {"a":[1,{"b":"]"}]}, {} ,{"c":"\u007d"}]})";
  std::vector<std::string> read;
  std::string copy = text;
  Reader in(copy);
  in.object([&](std::string_view key) {
    if (key != "items") return in.skip();
    in.array([&] {
      const auto span = in.span();
      read.push_back(text.substr(span.begin, span.end - span.begin));
      in.skip();
    });
  });
  ASSERT_TRUE(in.finish());
  Parts scanned;
  ASSERT_TRUE(for_each_member(text, [&](std::string_view key, std::string_view value) {
    if (key == "items") scanned = elements(value);
  }));
  EXPECT_EQ(scanned, read);
}

}  // namespace
}  // namespace tangram::json
