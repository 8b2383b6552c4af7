#include "base/json_scan.hpp"

#include "base/json.hpp"
#include "base/json_brackets.hpp"

#include <gtest/gtest.h>

#include <random>
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

int levels_at(char c) {
  if (c == '{' || c == '[') return 1;
  return c == '}' || c == ']' ? -1 : 0;
}

/// Where an object or array ends, byte by byte. A backslash outside of strings, where JSON has
/// none, hides a quote as it does inside.
std::size_t end_by_bytes(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view two = text.substr(i, 2);
    if (two == R"(\")" || two == R"(\\)") {
      ++i;
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else {
      depth += in_string ? 0 : levels_at(text[i]);
    }
    if (depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

TEST(JsonScanTest, FindsTheEndWhereverBlocksBegin) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int found = 0;
  for (int i = 0; i < 20'000; ++i) {
    // Of few letters, so that brackets, quotes and runs of backslashes meet in every way.
    const std::string letters = std::string(random() % 40, 'x') + "{{}}[]\"\"\\\\";
    std::string text = "{";
    for (auto size = random() % 300; size > 0; --size) text += letters[random() % letters.size()];
    if (i % 2 == 0) text += std::string(100, '}');
    const std::size_t end = end_by_bytes(text);
    ASSERT_EQ(end_of_value(text, 0), end) << text;
    ASSERT_EQ(end_of_container_without_avx2(text, 0), end) << text;
    ASSERT_EQ(end_of_value("xx" + text, 2), end + (end == std::string::npos ? 0 : 2)) << text;
    if (end != std::string::npos && end > 64) ++found;
  }
  EXPECT_GT(found, 1000);
}

using Strings = std::vector<std::string_view>;

std::size_t read_plain(std::string_view text, Strings& strings) {
  strings.clear();
  return read_plain_strings(text, 0, strings);
}

TEST(ReadPlainStringsTest, ReadsNamesAndSaysWhereTheyEnd) {
  Strings strings;
  constexpr std::string_view kText = R"(["a","node-1.eu-west-1.compute.internal",""],"x":1})";
  EXPECT_EQ(kText.substr(read_plain(kText, strings)), R"(,"x":1})");
  EXPECT_EQ(strings, (Strings{"a", "node-1.eu-west-1.compute.internal", ""}));
  EXPECT_EQ(read_plain("[]", strings), 2U);
  EXPECT_EQ(strings, Strings{});
  EXPECT_EQ(read_plain("[ \"a\" ,\n\t\"b\"\r]", strings), 14U);
  EXPECT_EQ(strings, (Strings{"a", "b"}));
  strings.clear();
  EXPECT_EQ(read_plain_strings(R"({"x":["a"]})", 5, strings), 10U);
  EXPECT_EQ(strings, Strings{"a"});
}

TEST(ReadPlainStringsTest, LeavesAllElseToTheReader) {
  Strings strings;
  for (const std::string_view text : {"",
                                      "[",
                                      "null",
                                      "{}",
                                      "\"a\"",
                                      "[1]",
                                      "[null]",
                                      "[[\"a\"]]",
                                      "[\"a\"",
                                      "[\"a",
                                      "[\"a\",",
                                      "[\"a\",]",
                                      "[,]",
                                      "[\"a\" \"b\"]",
                                      "[\"a\"}",
                                      R"(["a\n"])",
                                      R"(["a\"])",
                                      R"(["\u0061"])",
                                      "[\"a\x01\"]",
                                      "[\"a\n\"]",
                                      "[\"a\xc3\xa9\"]",
                                      "[\"a\xff\"]",
                                      "[\x01]"}) {
    EXPECT_EQ(read_plain(text, strings), std::string_view::npos) << text;
  }
  EXPECT_EQ(read_plain(std::string_view("[\"a\0\"]", 6), strings), std::string_view::npos);
  EXPECT_EQ(read_plain_strings("[]", 2, strings), std::string_view::npos);
  EXPECT_EQ(read_plain_strings("[]", std::string_view::npos, strings), std::string_view::npos);
}

// Sixty-four bytes are looked at at a time.
TEST(ReadPlainStringsTest, FindsStringsWhereverTheyLie) {
  for (std::size_t before = 0; before < 70; ++before) {
    for (std::size_t size = 0; size < 140; ++size) {
      const std::string first(before, 'a');
      const std::string second(size, 'b');
      const std::string text = "[\"" + first + "\",\"" + second + "\",\"c\"]";
      Strings strings;
      ASSERT_EQ(read_plain_strings(text, 0, strings), text.size()) << before << ", " << size;
      ASSERT_EQ(strings, (Strings{first, second, "c"}));
      const std::string_view cut = std::string_view(text).substr(0, text.size() - 2);
      ASSERT_EQ(read_plain_strings(cut, 0, strings), std::string_view::npos);
    }
  }
}

TEST(ReadPlainStringsTest, SeesASpecialByteWhereverItLies) {
  const std::string good = "[\"" + std::string(70, 'a') + "\",\"" + std::string(70, 'b') + "\"]";
  const std::size_t quote = good.find('"', 2);
  for (std::size_t at = 2; at + 2 < good.size(); ++at) {
    if (at >= quote && at <= quote + 2) continue;
    std::string bad = good;
    bad[at] = '\\';
    Strings strings;
    EXPECT_EQ(read_plain_strings(bad, 0, strings), std::string_view::npos) << at;
  }
}

// Each byte at each place of a word, between the lowest and the highest plain ones.
TEST(ReadPlainStringsTest, TakesExactlyThePlainBytes) {
  Strings strings;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool plain = byte >= ' ' && byte < 0x80 && c != '"' && c != '\\';
    for (std::size_t before = 0; before < 20; ++before) {
      const std::string name = std::string(before, ' ') + c + std::string(20 - before, '~');
      const std::string text = "[\"" + name + "\"]";
      const std::size_t end = read_plain(text, strings);
      ASSERT_EQ(end != std::string_view::npos, plain) << byte << " after " << before;
      if (plain) {
        EXPECT_EQ(strings, Strings{name}) << byte;
      }
    }
  }
}

}  // namespace
}  // namespace tangram::json
