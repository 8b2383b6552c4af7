#include "base/json.hpp"
#include "tests/testing/colliding_keys.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

/// What somebody who wishes us ill may send.
namespace tangram::json {
namespace {

/// Reads any document, every value of it.
void read_all(Reader& in) {
  switch (in.kind()) {
    case Kind::kObject:
      return in.object([&](std::string_view) { read_all(in); });
    case Kind::kArray:
      return in.array([&] { read_all(in); });
    case Kind::kString:
      return static_cast<void>(in.string());
    case Kind::kBool:
      return static_cast<void>(in.boolean());
    case Kind::kNumber:
      return static_cast<void>(in.scalar_text());
    case Kind::kNull:
    case Kind::kNone:
      return in.skip();
  }
}

Result<void> read(std::string text) {
  // Exactly as large as the text: a byte read past it is one that the sanitizer sees.
  std::string tight(text);
  tight.shrink_to_fit();
  Reader in(tight);
  read_all(in);
  return in.finish();
}

std::string error_of(const std::string& text) {
  const auto done = read(text);
  return done ? "" : done.error().message;
}

constexpr std::string_view kDocument =
    R"({"a":[1,-2.5e3,"te\u00e9\ud83d\ude00xt",{"b":null,"c":true}],"d":"é€😀","e":{},"f":[]})";

TEST(JsonHostileTest, EveryTruncationIsRefused) {
  ASSERT_EQ(error_of(std::string(kDocument)), "");
  for (std::size_t size = 0; size < kDocument.size(); ++size) {
    const std::string message = error_of(std::string(kDocument.substr(0, size)));
    EXPECT_TRUE(message.starts_with("not valid JSON: ")) << size << ": " << message;
  }
}

TEST(JsonHostileTest, EveryChangedByteIsReadOrRefused) {
  int refused = 0;
  for (std::size_t at = 0; at < kDocument.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string text(kDocument);
      text[at] = static_cast<char>(value);
      refused += error_of(text).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 256);
}

TEST(JsonHostileTest, SkippingAndReadingAgreeOnWhatIsValid) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::string_view kAlphabet = R"({}[]:,"\u0aE+-.1tf n)";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto size = random() % 12; size > 0; --size)
      text += kAlphabet[random() % kAlphabet.size()];
    std::string copy = text;
    Reader in(copy);
    in.skip();
    const bool skipped = in.finish().has_value();
    const std::string message = error_of(text);
    const bool beyond_syntax = message.find("stands twice") != std::string::npos;
    EXPECT_TRUE(beyond_syntax || message.empty() == skipped) << text << ": " << message;
  }
}

struct RefusedCase {
  std::string name;
  std::string text;
  std::string says;
};

class JsonRefusedTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(JsonRefusedTest, IsRefusedWithTheReason) {
  const std::string message = error_of(GetParam().text);
  EXPECT_NE(message.find(GetParam().says), std::string::npos) << message;
}

/// So long that no string keeps it in itself, where a read past the end would go unnoticed.
const std::string kOnHeap = '"' + std::string(62, 'x');

INSTANTIATE_TEST_SUITE_P(
    All, JsonRefusedTest,
    ::testing::Values(RefusedCase{"Empty", "", "The document is empty (byte 0)"},
                      RefusedCase{"Blank", " \n\t ", "The document is empty"},
                      RefusedCase{"TrailingText", "{} x", "(byte 3)"},
                      RefusedCase{"TwoValues", "1 2", "byte 2"},
                      RefusedCase{"TrailingComma", "[1,]", "not valid JSON"},
                      RefusedCase{"TrailingCommaInObject", R"({"a":1,})", "not valid JSON"},
                      RefusedCase{"Comment", "/**/1", "not valid JSON"},
                      RefusedCase{"SingleQuotes", "{'a':1}", "not valid JSON"},
                      RefusedCase{"NaN", "NaN", "not valid JSON"},
                      RefusedCase{"Plus", "+1", "not valid JSON"},
                      RefusedCase{"LeadingZero", "01", "not valid JSON"},
                      RefusedCase{"TooBigNumber", "1e999", "too big"},
                      RefusedCase{"TooBigOnlyAsAWhole", "[1561e308]", "too big"},
                      RefusedCase{"NulAfter", std::string("{}\0", 3), "NUL byte follows"},
                      RefusedCase{"NulAfterAndMore", std::string("{}\0{}", 5), "NUL byte follows"},
                      RefusedCase{"NulInString", std::string("\"a\0b\"", 5), "not valid JSON"},
                      RefusedCase{"NulInObject", std::string("{\"a\":\0 1}", 9), "not valid JSON"},
                      RefusedCase{"ControlInString", "\"a\nb\"", "Control character"},
                      RefusedCase{"BareContinuation", "\"\x80\"", "encoding"},
                      RefusedCase{"Overlong", "\"\xc0\xaf\"", "encoding"},
                      RefusedCase{"OverlongThree", "\"\xe0\x80\xaf\"", "encoding"},
                      RefusedCase{"Surrogate", "\"\xed\xa0\x80\"", "encoding"},
                      RefusedCase{"BeyondUnicode", "\"\xf4\x90\x80\x80\"", "encoding"},
                      RefusedCase{"NeverUtf8", "\"\xff\"", "encoding"},
                      RefusedCase{"CutTwoByte", kOnHeap + "\xc3", "encoding"},
                      RefusedCase{"CutThreeByte", kOnHeap + "\xe2", "encoding"},
                      RefusedCase{"CutThreeByteLater", kOnHeap + "\xe2\x82", "encoding"},
                      RefusedCase{"CutFourByte", kOnHeap + "\xf0", "encoding"},
                      RefusedCase{"CutFourByteLater", kOnHeap + "\xf0\x9f", "encoding"},
                      RefusedCase{"CutFourByteLast", kOnHeap + "\xf0\x9f\x98", "encoding"},
                      RefusedCase{"InvalidKey", "{\"\xff\":1}", "encoding"},
                      RefusedCase{"LoneHighSurrogate", R"("\ud83d")", "surrogate"},
                      RefusedCase{"LoneLowSurrogate", R"("a\udc00b")", "surrogate"},
                      RefusedCase{"LoneLowSurrogateUpperCase", R"(["x","\uDFFF"])", "surrogate"},
                      RefusedCase{"LoneLowSurrogateInKey", R"({"\uDC00":1})", "surrogate"},
                      RefusedCase{"BadEscape", R"("\x41")", "not valid JSON"},
                      RefusedCase{"ShortEscape", R"("\u12")", "not valid JSON"}),
    [](const auto& row) { return row.param.name; });

TEST(JsonHostileTest, AcceptsTextBeyondAscii) {
  EXPECT_EQ(error_of("\"\xed\x9f\xbf \xee\x80\x80 \xf4\x8f\xbf\xbf\""), "");
  EXPECT_EQ(error_of(R"(["\ud83d\ude00 \uD7FF","í"])"), "");
  EXPECT_EQ(error_of(R"("\u0000")"), "");
}

std::string nested(int depth, const std::string& open, const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += "1";
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(JsonHostileTest, ReadsAHundredLevelsAndNotOneMore) {
  const std::string too_deep = "nested deeper than 100 levels";
  EXPECT_EQ(error_of(nested(100, "[", "]")), "");
  EXPECT_EQ(error_of(nested(101, "[", "]")), too_deep);
  EXPECT_EQ(error_of(nested(100, "{\"a\":", "}")), "");
  EXPECT_EQ(error_of(nested(101, "{\"a\":", "}")), too_deep);
}

TEST(JsonHostileTest, AMillionBracketsCostNoStack) {
  EXPECT_EQ(error_of(std::string(1'000'000, '[')), "nested deeper than 100 levels");
}

// What they cost is for scripts/check-cost.
TEST(JsonHostileTest, KeysOfOneHashAreTakenApart) {
  std::vector<std::string> keys = testing::colliding_keys(500);
  std::set<std::size_t> hashes;
  for (const std::string& key : keys) hashes.insert(std::hash<std::string_view>()(key));
  EXPECT_EQ(hashes.size(), 1U) << "this is not the hash that the keys were made for";
  const auto text_of = [&] {
    std::string text;
    for (const std::string& key : keys) text += (text.empty() ? "{\"" : ",\"") + key + "\":1";
    return text + "}";
  };
  EXPECT_EQ(error_of(text_of()), "");
  keys.push_back(keys[100]);
  EXPECT_NE(error_of(text_of()).find("stands twice"), std::string::npos);
}

TEST(JsonHostileTest, ManySiblingsAreNotDepth) {
  std::string text = "[";
  for (int i = 0; i < 10'000; ++i) text += "[],{},";
  EXPECT_EQ(error_of(text + "0]"), "");
}

TEST(JsonHostileTest, NoKeyCanForgeAMessage) {
  const std::string key = std::string(100'000, 'k') + "\\n";
  const std::string twice = error_of("{\"" + key + "\":1,\"" + key + "\":2}");
  EXPECT_LE(twice.size(), 100U);
  std::string text = R"({"a\nb":1})";
  Reader in(text);
  in.object([&](std::string_view) { static_cast<void>(in.string()); });
  EXPECT_EQ(in.finish().error().message, R"("a\x0ab": expected a string, found a number)");
}

TEST(JsonHostileTest, SpanIsThePartOfTheOriginalText) {
  const std::string original = R"( {"x":"\u0041", "keep": {"a":[1,"\n"]} , "list":[ ] } )";
  std::string text = original;
  Reader in(text);
  std::vector<std::string> parts;
  in.object([&](std::string_view) {
    const Reader::Span span = in.span();
    parts.push_back(original.substr(span.begin, span.end - span.begin));
    in.skip();
  });
  ASSERT_TRUE(in.finish());
  EXPECT_EQ(parts, (std::vector<std::string>{"", R"({"a":[1,"\n"]})", "[ ]"}));
}

}  // namespace
}  // namespace tangram::json
