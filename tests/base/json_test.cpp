#include "base/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace tangram::json {
namespace {

struct Wheel {
  std::string name;
  std::int64_t size = 0;
};

struct Car {
  std::string name;
  bool electric = false;
  std::vector<Wheel> wheels;
};

/// A decoder as the project writes them.
Result<Car> decode_car(std::string text) {
  Reader in(text);
  Car car;
  const auto read_wheel = [&] {
    Wheel& wheel = car.wheels.emplace_back();
    in.object([&](std::string_view key) {
      if (key == "name") {
        wheel.name = in.string_or_null();
      } else if (key == "size") {
        wheel.size = in.integer();
      } else {
        in.skip();
      }
    });
  };
  in.object([&](std::string_view key) {
    if (key == "name") {
      car.name = in.string();
    } else if (key == "electric") {
      car.electric = in.boolean();
    } else if (key == "wheels") {
      in.array(read_wheel);
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  return car;
}

std::string car_error(std::string text) {
  const auto car = decode_car(std::move(text));
  if (car) return "";
  EXPECT_EQ(car.error().code, Errc::kInvalidArgument);
  return car.error().message;
}

TEST(JsonReaderTest, ReadsWhatItKnowsAndSkipsTheRest) {
  const auto car = decode_car(R"( {"new":[1,{"a":[]},"x",null,true,-1.5e3], "name":"T\u00e9",
      "electric":true, "more":{"deep":{"er":[[[]]]}}, "wheels":[{"name":"fl","size":19},
      {"name":null,"x":[]}, null, {}]} )");
  ASSERT_TRUE(car) << car.error().message;
  EXPECT_EQ(car->name, "T\xc3\xa9");
  EXPECT_TRUE(car->electric);
  ASSERT_EQ(car->wheels.size(), 4U);
  EXPECT_EQ(car->wheels[0].name, "fl");
  EXPECT_EQ(car->wheels[0].size, 19);
  EXPECT_EQ(car->wheels[1].name, "");
  EXPECT_EQ(car->wheels[3].size, 0);
}

TEST(JsonReaderTest, NullCountsAsEmptyObjectAndArray) {
  EXPECT_EQ(car_error("null"), "");
  const auto car = decode_car(R"({"wheels":null,"name":"x"})");
  ASSERT_TRUE(car);
  EXPECT_TRUE(car->wheels.empty());
  EXPECT_EQ(car->name, "x");
}

struct WrongCase {
  std::string name;
  std::string text;
  std::string message;
};

class JsonWrongTypeTest : public ::testing::TestWithParam<WrongCase> {};

TEST_P(JsonWrongTypeTest, NamesThePlaceAndBothTypes) {
  EXPECT_EQ(car_error(GetParam().text), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, JsonWrongTypeTest,
    ::testing::Values(
        WrongCase{"ArrayForObject", "[]", "expected an object, found an array"},
        WrongCase{"StringForObject", "\"x\"", "expected an object, found a string"},
        WrongCase{"NumberForString", R"({"name":1})", "name: expected a string, found a number"},
        WrongCase{"NullForString", R"({"name":null})", "name: expected a string, found null"},
        WrongCase{"ObjectForString", R"({"name":{}})", "name: expected a string, found an object"},
        WrongCase{"StringForBool", R"({"electric":"true"})",
                  "electric: expected true or false, found a string"},
        WrongCase{"NumberForBool", R"({"electric":1})",
                  "electric: expected true or false, found a number"},
        WrongCase{"ObjectForArray", R"({"wheels":{}})",
                  "wheels: expected an array, found an object"},
        WrongCase{"StringForElement", R"({"wheels":[{},"x"]})",
                  "wheels: expected an object, found a string"},
        WrongCase{"BoolForInteger", R"({"wheels":[{"size":true}]})",
                  "wheels.size: expected a whole number, found a boolean"},
        WrongCase{"FractionForInteger", R"({"wheels":[{"size":1.5}]})",
                  "wheels.size: expected a whole number, found a number"},
        WrongCase{"Uint64ForInteger", R"({"wheels":[{"size":9223372036854775808}]})",
                  "wheels.size: the number is outside of -2^63 to 2^63-1"},
        WrongCase{"HugeForInteger", R"({"wheels":[{"size":123456789012345678901234567890}]})",
                  "wheels.size: the number is outside of -2^63 to 2^63-1"},
        WrongCase{"HugeNegative", R"({"wheels":[{"size":-9223372036854775809}]})",
                  "wheels.size: the number is outside of -2^63 to 2^63-1"},
        WrongCase{"NumberForNullableString", R"({"wheels":[{"name":3}]})",
                  "wheels.name: expected a string, found a number"},
        WrongCase{"DuplicateKey", R"({"name":"a","name":"b"})", "key \"name\" stands twice"},
        WrongCase{"DuplicateUnknownKey", R"({"x":1,"y":2,"x":3})", "key \"x\" stands twice"},
        WrongCase{"DuplicateByEscape", R"({"name":"a","na\u006de":"b"})",
                  "key \"name\" stands twice"},
        WrongCase{"DuplicateInside", R"({"wheels":[{"size":1,"size":2}]})",
                  "wheels: key \"size\" stands twice"}),
    [](const auto& row) { return row.param.name; });

TEST(JsonReaderTest, DuplicatesInSkippedObjectsAreNobodysMatter) {
  EXPECT_EQ(car_error(R"({"other":{"a":1,"a":2}})"), "");
}

TEST(JsonReaderTest, ReadsTheWholeRangeOfIntegers) {
  std::string text = "[-9223372036854775808,9223372036854775807,0,-0,4294967296,-2147483649]";
  Reader in(text);
  std::vector<std::int64_t> numbers;
  in.array([&] { numbers.push_back(in.integer()); });
  ASSERT_TRUE(in.finish());
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(),
                                                std::numeric_limits<std::int64_t>::max(), 0, 0,
                                                4294967296, -2147483649}));
}

TEST(JsonReaderTest, GivesScalarsAsTextThatQuantitiesCanRead) {
  std::string text = R"(["8Gi",4,0.5,1e3,1e-7,-1.25,1e22,0.1])";
  Reader in(text);
  std::vector<std::string> scalars;
  in.array([&] { scalars.push_back(in.scalar_text()); });
  ASSERT_TRUE(in.finish());
  EXPECT_EQ(scalars, (std::vector<std::string>{"8Gi", "4", "0.5", "1000", "0.0000001", "-1.25",
                                               "10000000000000000000000", "0.1"}));
}

TEST(JsonReaderTest, GivesTheSmallestAndTheLargestNumberAsText) {
  std::string text = "[5e-324,-2.2250738585072011e-308,1.7976931348623157e308]";
  Reader in(text);
  std::vector<std::string> scalars;
  in.array([&] { scalars.push_back(in.scalar_text()); });
  ASSERT_TRUE(in.finish());
  ASSERT_EQ(scalars.size(), 3U);
  for (const std::string& scalar : scalars) EXPECT_GE(scalar.size(), 309U) << scalar;
}

TEST(JsonReaderTest, RefusesOtherThingsAsScalarText) {
  for (std::string text : {"null", "true", "{}", "[]"}) {
    Reader in(text);
    EXPECT_EQ(in.scalar_text(), "");
    EXPECT_FALSE(in.finish());
  }
  std::string large = "18446744073709551615";
  Reader in(large);
  EXPECT_EQ(in.scalar_text(), "");
  EXPECT_EQ(in.finish().error().message, "the number is outside of -2^63 to 2^63-1");
}

TEST(JsonReaderTest, SaysWhatComesNext) {
  std::string text = R"([null,true,1,1.5,"s",{},[]])";
  Reader in(text);
  std::vector<Kind> kinds;
  in.array([&] {
    kinds.push_back(in.kind());
    in.skip();
  });
  EXPECT_EQ(in.kind(), Kind::kNone);
  ASSERT_TRUE(in.finish());
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kNull, Kind::kBool, Kind::kNumber, Kind::kNumber,
                                      Kind::kString, Kind::kObject, Kind::kArray}));
}

TEST(JsonReaderTest, KeepsTheFirstError) {
  std::string text = R"({"a":1,"b":2})";
  Reader in(text);
  int members = 0;
  in.object([&](std::string_view key) {
    ++members;
    if (key == "a") in.fail("must be even");
    in.skip();
    in.fail("later");
  });
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(members, 1) << "nothing is read after an error";
  EXPECT_EQ(in.string(), "");
  EXPECT_EQ(in.integer(), 0);
  EXPECT_FALSE(in.boolean());
  EXPECT_EQ(in.kind(), Kind::kNone);
  EXPECT_EQ(in.finish().error().message, "a: must be even");
}

TEST(JsonReaderTest, ADecoderThatForgetsAMemberFailsInsteadOfMisreading) {
  std::string object = R"({"a":1,"b":2})";
  Reader first(object);
  first.object([](std::string_view) {});
  EXPECT_EQ(first.finish().error().message, "the member before this value was not read");

  std::string array = "[1,2]";
  Reader second(array);
  second.array([] {});
  EXPECT_EQ(second.finish().error().message, "an element was not read");
}

TEST(JsonReaderTest, ADecoderThatReadsTwoValuesFails) {
  std::string text = R"({"a":1,"b":2})";
  Reader in(text);
  in.object([&](std::string_view) {
    in.skip();
    in.skip();
  });
  EXPECT_EQ(in.finish().error().message, "a: expected a value, found nothing");
}

TEST(JsonReaderTest, UnreadTextIsAnError) {
  std::string text = "[1]";
  Reader in(text);
  EXPECT_EQ(in.finish().error().message, "text goes on after the value");
}

TEST(JsonReaderTest, MakesTextsLines) {
  std::string text =
      R"({"a\nb":"c\nd","e":["\u001b[2J","\u202ef\u009b",7],"g":{"h":"","i":"t\u00e9xt"}} )";
  Reader in(text);
  in.make_texts_lines();
  std::vector<std::string> read;
  const auto keep = [&] { read.emplace_back(in.scalar_text()); };
  in.object([&](std::string_view key) {
    read.emplace_back(key);
    if (key == "e") return in.array(keep);
    if (key == "g") return in.object([&](std::string_view) { keep(); });
    keep();
  });
  EXPECT_TRUE(in.finish().has_value());
  EXPECT_EQ(read, (std::vector<std::string>{"a\nb", "c?d", "e", "?[2J", "?f?", "7", "g", "",
                                            "t\xc3\xa9xt"}));
}

TEST(JsonReaderTest, MakesNoLinesOfWhatIsNoJson) {
  std::string text = R"({"a":"b\n",)";
  Reader in(text);
  in.make_texts_lines();
  EXPECT_EQ(in.finish().error().message.substr(0, 15), "not valid JSON:");
}

TEST(JsonReaderTest, FindsDuplicatesAmongManyKeys) {
  // 24 keys are compared one by one, more are hashed: both sides of the step, and far behind it.
  for (const int keys : {1, 23, 24, 25, 26, 100}) {
    for (const int again : {0, keys / 2, keys - 1}) {
      std::string text = "{";
      for (int i = 0; i < keys; ++i) text += "\"k" + std::to_string(i) + "\":0,";
      std::string fine = text + "\"last\":0}";
      text += "\"k" + std::to_string(again) + "\":0}";
      Reader in(text);
      in.object([&](std::string_view) { in.skip(); });
      EXPECT_EQ(in.finish().error().message, "key \"k" + std::to_string(again) + "\" stands twice");
      Reader good(fine);
      int seen = 0;
      good.object([&](std::string_view) {
        ++seen;
        good.skip();
      });
      EXPECT_TRUE(good.finish());
      EXPECT_EQ(seen, keys + 1);
    }
  }
}

TEST(JsonWriterTest, WritesTheDocumentInOrder) {
  std::string text;
  Writer out(text);
  out.begin_object()
      .member("a", "text")
      .member("b", std::int64_t{-5})
      .member("c", true)
      .member("d", 0.25)
      .member("e", 7)
      .key("f")
      .null()
      .key("g")
      .begin_array()
      .integer(1)
      .begin_object()
      .end_object()
      .begin_array()
      .end_array()
      .end_array()
      .key("h")
      .raw(R"({"x":[1]})")
      .member("i", std::string_view())
      .end_object();
  EXPECT_EQ(text, R"({"a":"text","b":-5,"c":true,"d":0.25,"e":7,"f":null,"g":[1,{},[]],)"
                  R"("h":{"x":[1]},"i":""})");
}

TEST(JsonWriterTest, WritesNoNumberAsNull) {
  std::string text;
  Writer out(text);
  out.begin_array()
      .number(std::nan(""))
      .number(std::numeric_limits<double>::infinity())
      .number(1.0)
      .end_array();
  EXPECT_EQ(text, "[null,null,1.0]");
}

TEST(JsonWriterTest, EveryByteOfATextSurvives) {
  std::string every;
  for (int c = 0; c < 128; ++c) every += static_cast<char>(c);
  every += "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  std::string text = "kept ";
  Writer out(text);
  out.begin_object().member(every, every).end_object();
  EXPECT_EQ(text.substr(0, 5), "kept ") << "appends to what the caller has";
  for (const char c : text) EXPECT_GE(static_cast<unsigned char>(c), 0x20);

  std::string json = text.substr(5);
  Reader in(json);
  std::string key;
  std::string value;
  in.object([&](std::string_view k) {
    key = k;
    value = in.string();
  });
  ASSERT_TRUE(in.finish());
  EXPECT_EQ(key, every);
  EXPECT_EQ(value, every);
}

Outline outline() { return {.members = {{"name"}, {"list", {{"a"}, {"b", {{"c"}}}}}, {"whole"}}}; }

/// The members that are left, in the order of the text, and how many are in lists and objects.
std::string names_in(Reader& in) {
  std::string names;
  const auto add = [&](std::string_view key) { names += std::string(key) + " "; };
  const std::function<void()> read = [&] {
    if (in.kind() == Kind::kArray) return in.array(read);
    if (in.kind() != Kind::kObject) return in.skip();
    in.object([&](std::string_view key) {
      add(key);
      read();
    });
  };
  read();
  return names;
}

TEST(JsonOutlineTest, LeavesOutOtherMembers) {
  std::string text =
      R"({"x":1,"name":"n","y":{"name":"no"},"z":[{"a":1}],"list":[{"a":1,"x":2},{"b":{"c":[],"d":{}}},)"
      R"(3],"whole":{"x":{"y":[{"z":true}]}}})";
  Reader in(text, outline());
  EXPECT_EQ(names_in(in), "name list a b c whole x y z ");
  EXPECT_TRUE(in.finish().has_value());
}

TEST(JsonOutlineTest, KnowsTheMembersOfAMap) {
  std::string text = R"({"map":{"x":{"name":1,"other":2},"*":{"other":3},"y":{"name":4}}})";
  Reader in(text, {.members = {{"map", {{Outline::kAny, {{"name"}}}}}}});
  EXPECT_EQ(names_in(in), "map x name * y name ");
  EXPECT_TRUE(in.finish().has_value());
}

TEST(JsonOutlineTest, IsReadTwiceAfterRewind) {
  std::string text = R"({"x":1,"name":"n"})";
  Reader in(text, outline());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(names_in(in), "name ");
    EXPECT_TRUE(in.finish().has_value());
    in.rewind();
  }
}

std::string error_with_outline(std::string text, const Outline& outline) {
  Reader in(text, outline);
  in.skip();
  const auto done = in.finish();
  return done ? "" : done.error().message;
}

std::string lists(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonOutlineTest, WhatIsLeftOutMayHaveAnyDepth) {
  const auto member = [](const char* name, std::size_t depth) {
    return "{\"" + std::string(name) + "\":" + lists(depth) + ",\"name\":\"n\"}";
  };
  EXPECT_EQ(error_with_outline(member("other", 1'000'000), outline()), "");
  EXPECT_EQ(error_with_outline(member("whole", 100), outline()), "nested deeper than 100 levels");
}

TEST(JsonOutlineTest, WhatIsLeftOutMayBeAnything) {
  for (const char* other :
       {"\"\xff\\\"\"", "{\"f:a\xff\xfe\":{\"\xc0\":[\"]\"]}}", R"(["\ud800",{"\udc00":0}])",
        "1e999", "-0.5", "0", "true", "null", R"({"a":1,"a":2})", "\"\"", "{ }"}) {
    const std::string value = other;
    std::string text = "{\"other\" : " + value + " , \"list\":[{\"x\":" + value +
                       ",\"a\":1,\"y\":" + value + "}],\"name\":\"n\",\"z\":" + value + "}";
    Reader in(text, outline());
    EXPECT_EQ(names_in(in), "list a name ") << value;
    EXPECT_TRUE(in.finish().has_value()) << value;
  }
}

TEST(JsonOutlineTest, BoundsWhatIsRead) {
  Outline few = outline();
  few.most_tokens = 6;  // both brackets of the object are two, a member is two more
  const std::string other = R"("other":[1,2,3,4,5,6,7,8,9])";
  EXPECT_EQ(error_with_outline("{" + other + R"(,"name":1,"whole":[]})", few), "");
  EXPECT_EQ(error_with_outline(R"({"name":1,"whole":[1,2,3]})", few),
            "too large: more than 6 values are to be read");
}

TEST(JsonOutlineTest, StillRefusesWhatIsNoJson) {
  for (const char* text :
       {R"({"other":})", R"({"other"})", R"({"other":1 2})", R"({"other":[]]})",
        "{\"name\":\"\xff\"}", "{\"\xff\":1}", R"({"other":{)", R"({"other":"a)", R"({"other":1)",
        R"({"other":)", R"({"other":[].5})", R"({"other":"a"5,"name":1})",
        R"({"other":{}e5 ,"name":1})", R"({"other":x{,"name":1})", R"({"other":1"}","name":1})",
        R"({"other":x[1]})"}) {
    EXPECT_EQ(error_with_outline(text, outline()).substr(0, 15), "not valid JSON:") << text;
  }
}

TEST(JsonOutlineTest, RefusesAValueWithoutAnEndAtOnce) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += R"({"other":)";
  EXPECT_EQ(error_with_outline(text, outline()), "not valid JSON: Invalid value (byte 900000)");
}

}  // namespace
}  // namespace tangram::json
