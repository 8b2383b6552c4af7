#include "kube/object_scan.hpp"

#include "tests/testing/odd_fields.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tangram::kube {
namespace {

constexpr const char* kPod =
    R"({"kind":"Pod","metadata":{"name":"p","namespace":"ml","uid":"u-1"},"spec":{}})";

std::string id_of(std::string_view object) {
  const ObjectId id = scan_id(object);
  return id.ns + "/" + id.name + " " + id.uid;
}

TEST(ObjectScanTest, FindsTheIdWhateverElseIsInTheObject) {
  EXPECT_EQ(id_of(kPod), "ml/p u-1");
  EXPECT_EQ(id_of(testing::with_odd_fields(kPod)), "ml/p u-1");
  EXPECT_EQ(id_of(" {\n\t\"metadata\" : {\"uid\" : \"u\" , \"name\":\"\\u0070\\\"\"} } "),
            "/p\" u");
}

TEST(ObjectScanTest, TakesNoOtherObjectsMetadata) {
  EXPECT_EQ(id_of(R"({"spec":{"template":{"metadata":{"uid":"no"}}},)"
                  R"("list":[{"metadata":{"uid":"no"}}],"text":"\"metadata\":{\"uid\":\"no\"}",)"
                  R"("metadata":{"annotations":{"a":"}\",\"uid\":\"no\",{","uid":"no"},)"
                  R"("ownerReferences":[{"uid":"no","name":"no"}],"uid":"yes"},)"
                  R"("status":{"uid":"no"}})"),
            "/ yes");
  for (const char* none :
       {"", "null", "[]", "not JSON", R"({"metadata":[{"uid":"no"}]})", R"({"metadata":"uid"})",
        R"(["metadata",{"uid":"no"}])", R"({"spec":{"metadata":{"uid":"no"}}})",
        R"({"metadata":{"uid":7,"name":null,"namespace":{"uid":"no"}}})"}) {
    EXPECT_EQ(id_of(none), "/ ") << none;
  }
}

TEST(ObjectScanTest, TellsOfAPodWhatPlacingItNeeds) {
  const auto pod = scan_pod(testing::with_odd_fields(
      R"({"metadata":{"name":"p","namespace":"ml","uid":"u","deletionTimestamp":"t","annotations":)"
      R"({"other":"x","tangram.dev/gpu-grant":"{\"a\":[\"}\"]}"},"labels":{"a\u0062":"c"}},)"
      R"("spec":{"containers":[{"nodeName":"no"}],"nodeName":"n1","priority":-7},)"
      R"("status":{"phase":"Running"}})"));
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->full_name(), "ml/p");
  EXPECT_EQ(pod->uid, "u");
  EXPECT_EQ(pod->node, "n1");
  EXPECT_EQ(pod->priority, -7);
  EXPECT_TRUE(pod->deleting);
  EXPECT_FALSE(pod->finished);
  EXPECT_EQ(pod->annotations, (model::Annotations{{"gpu-grant", R"({"a":["}"]})"}}));
  EXPECT_EQ(pod->labels, (model::Labels{{"ab", "c"}}));
}

TEST(ObjectScanTest, TellsWhatThereIs) {
  EXPECT_FALSE(scan_pod(R"({"metadata":{"name":"p"}})"));
  EXPECT_FALSE(scan_pod("not JSON"));
  const auto pod = scan_pod(
      R"({"metadata":{"uid":"u","labels":[],"annotations":null},"spec":{"priority":99999999999},)"
      R"("status":{"phase":"Failed")");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->priority, 0);
  EXPECT_TRUE(pod->node.empty());
  EXPECT_TRUE(pod->finished);
}

TEST(ObjectScanTest, ReadsTexts) {
  EXPECT_EQ(scan_text(R"("plain")"), "plain");
  EXPECT_EQ(scan_text(R"("a\u00e9\\\"b")"), "a\xc3\xa9\\\"b");
  for (const char* none : {"", "7", "null", "{}", "\"", "\"\xff\"", R"("\ud800")"}) {
    EXPECT_EQ(scan_text(none), "") << none;
  }
}

/// Would take hours if each part were looked at again for each other one.
TEST(ObjectScanTest, TakesLinearTime) {
  constexpr std::size_t kSize = 4'000'000;
  const auto repeated = [](std::string_view part) {
    std::string text;
    while (text.size() < kSize) text += part;
    return text;
  };
  for (const std::string& hostile :
       {repeated("{\"metadata\":"), repeated("["), repeated("\\"), repeated("\\\""),
        repeated("\"a\":1,"), repeated("{}"), repeated("\"\\\\")}) {
    EXPECT_EQ(id_of(hostile), "/ ");
    EXPECT_EQ(id_of(R"({"x":)" + hostile), "/ ");
    EXPECT_EQ(id_of(R"({"metadata":{"x":")" + hostile), "/ ");
    EXPECT_LE(scan_text("\"" + hostile).size(), hostile.size());
  }
}

TEST(ObjectScanTest, LeavesOutManagedFieldsAndNothingElse) {
  EXPECT_EQ(without_managed_fields(kPod), kPod);
  EXPECT_EQ(without_managed_fields("not JSON"), "not JSON");
  EXPECT_EQ(without_managed_fields(
                R"({"a":{"managedFields":1},"metadata":{"x":1,"managedFields":[{}],"y":2}})"),
            R"({"a":{"managedFields":1},"metadata":{"x":1,"managedFields":null,"y":2}})");
  const std::string cut = without_managed_fields(testing::with_odd_fields(kPod));
  EXPECT_EQ(cut.size(),
            std::string_view(kPod).size() + std::string_view(R"("managedFields":null,)").size());
}

}  // namespace
}  // namespace tangram::kube
