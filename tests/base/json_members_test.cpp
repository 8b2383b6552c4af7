#include "base/json_members.hpp"

#include <gtest/gtest.h>

namespace tangram::json {
namespace {

struct Thing {
  std::string name = "unset";
  bool open = false;
  int count = 7;
  std::vector<std::string> tags = {};
  std::vector<Thing> parts = {};
};

Thing read_thing(Reader& in) {
  Thing thing;
  read_members(in, "name", thing.name, "open", thing.open, "count", thing.count, "tags", thing.tags,
               "parts", each(thing.parts, read_thing));
  return thing;
}

TEST(JsonMembersTest, ReadsMembersByNameAndSkipsOthers) {
  std::string text =
      R"({"parts":[{"name":"a"},{"count":3,"new":{"x":[1]}}],"tags":["t","u"],"open":true,"name":null})";
  Reader in(text);
  const Thing thing = read_thing(in);
  ASSERT_TRUE(in.finish());
  EXPECT_EQ(thing.name, "") << "null";
  EXPECT_TRUE(thing.open);
  EXPECT_EQ(thing.count, 7) << "not given";
  EXPECT_EQ(thing.tags, (std::vector<std::string>{"t", "u"}));
  ASSERT_EQ(thing.parts.size(), 2U);
  EXPECT_EQ(thing.parts[0].name, "a");
  EXPECT_EQ(thing.parts[1].count, 3);
}

TEST(JsonMembersTest, CallsFunctions) {
  std::string text = R"({"outer":{"inner":5}})";
  Reader in(text);
  int inner = 0;
  const auto read_outer = [&](Reader& outer) { read_members(outer, "inner", inner); };
  read_members(in, "outer", read_outer);
  ASSERT_TRUE(in.finish());
  EXPECT_EQ(inner, 5);
}

TEST(JsonMembersTest, ReadsNestedObjectsMapsAndOptionals) {
  std::string text =
      R"({"status":{"phase":"Running","more":1},"labels":{"a":"1","b":null},"limit":null,"most":4})";
  Reader in(text);
  std::string phase;
  std::map<std::string, std::string> labels;
  std::optional<int> limit = 9;
  std::optional<int> most;
  read_members(in, "status", members("phase", phase), "labels", labels, "limit", limit, "most",
               most);
  ASSERT_TRUE(in.finish());
  EXPECT_EQ(phase, "Running");
  EXPECT_EQ(labels, (std::map<std::string, std::string>{{"a", "1"}, {"b", ""}}));
  EXPECT_EQ(limit, 9) << "null";
  EXPECT_EQ(most, 4);
}

TEST(JsonMembersTest, ReportsANumberThatDoesNotFit) {
  std::string text = R"({"count":2147483648})";
  Reader in(text);
  const Thing thing = read_thing(in);
  EXPECT_EQ(thing.count, 7);
  const auto done = in.finish();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("count: the number is out of range"), std::string::npos)
      << done.error().message;
}

TEST(JsonMembersTest, ReportsAValueOfAnotherType) {
  std::string text = R"({"count":"many"})";
  Reader in(text);
  (void)read_thing(in);
  EXPECT_EQ(in.finish().error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace tangram::json
