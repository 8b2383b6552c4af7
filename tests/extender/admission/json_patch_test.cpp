#include "extender/admission/json_patch.hpp"

#include "tests/extender/admission/json_patch_applier.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::apply_json_patch;

TEST(JsonPatchTest, IsEmptyWithoutOperations) {
  const JsonPatch patch;
  EXPECT_TRUE(patch.empty());
  EXPECT_EQ(patch.text(), "");
}

TEST(JsonPatchTest, WritesAListOfOperations) {
  JsonPatch patch;
  patch.add("/spec/schedulerName", "tangram \"1\"");
  patch.add_json("/spec/x", "[1]");
  patch.remove("/spec/y");
  EXPECT_EQ(patch.text(),
            R"([{"op":"add","path":"/spec/schedulerName","value":"tangram \"1\""},)"
            R"({"op":"add","path":"/spec/x","value":[1]},{"op":"remove","path":"/spec/y"}])");
}

TEST(JsonPatchTest, EscapesTheStepsOfAPath) {
  EXPECT_EQ(JsonPatch::step("nvidia.com/gpu"), "/nvidia.com~1gpu");
  EXPECT_EQ(JsonPatch::step("a~b/c~1"), "/a~0b~1c~01");
  JsonPatch patch;
  patch.edit_map("/m", {{"a~/b", "old"}, {"~1", "gone"}}, {{"a~/b", "new"}}, {"~1"});
  EXPECT_EQ(apply_json_patch(R"({"m":{"a~/b":"old","~1":"gone"}})", patch.text()),
            R"({"m":{"a~/b":"new"}})");
}

TEST(JsonPatchTest, MakesAMapThatIsNotThere) {
  JsonPatch patch;
  patch.edit_map("/m", {}, {{"a", "1"}, {"b", "2"}});
  for (const char* before : {"{}", R"({"m":{}})", R"({"m":null})"}) {
    EXPECT_EQ(apply_json_patch(before, patch.text()), R"({"m":{"a":"1","b":"2"}})") << before;
  }
}

TEST(JsonPatchTest, PassesOverWhatIsNotThereToRemove) {
  JsonPatch patch;
  patch.edit_map("/m", {{"a", "1"}}, {}, {"b"});
  EXPECT_TRUE(patch.empty());
}

}  // namespace
}  // namespace tangram::extender
