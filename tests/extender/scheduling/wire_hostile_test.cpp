#include "extender/scheduling/wire.hpp"
#include "tests/testing/golden.hpp"
#include "tests/testing/json_mutations.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace tangram::extender {
namespace {

using testing::golden;

/// What a decoder says to a text: "" if it takes it. What it takes must be writable again.
std::string filter_says(std::string text) {
  Body body(std::move(text));
  const auto args = decode_filter_args(body);
  if (!args) {
    EXPECT_EQ(args.error().code, Errc::kInvalidArgument);
    return args.error().message;
  }
  FilterResult all;
  for (std::uint32_t i = 0; i < args->node_names.size(); ++i) all.kept.push_back(i);
  EXPECT_FALSE(encode(*args, all).empty());
  return "";
}

std::string bind_says(std::string text) {
  Body body(std::move(text));
  const auto args = decode_bind_args(body);
  if (args) return "";
  EXPECT_EQ(args.error().code, Errc::kInvalidArgument);
  return args.error().message;
}

std::string preempt_says(std::string text) {
  Body body(std::move(text));
  const auto args = decode_preempt_args(body);
  if (!args) {
    EXPECT_EQ(args.error().code, Errc::kInvalidArgument);
    return args.error().message;
  }
  EXPECT_FALSE(encode_preempt_result(args->nodes).empty());
  return "";
}

using Decoder = std::string (*)(std::string);

// Whether two texts that are taken are read alike.

bool same_filter(const std::string& a, const std::string& b) {
  Body first(a);
  Body second(b);
  const auto one = decode_filter_args(first);
  const auto other = decode_filter_args(second);
  return one->pod == other->pod && one->node_names == other->node_names;
}

bool same_bind(const std::string& a, const std::string& b) {
  Body first(a);
  Body second(b);
  const auto one = decode_bind_args(first);
  const auto other = decode_bind_args(second);
  return std::tie(one->ns, one->name, one->uid, one->node) ==
         std::tie(other->ns, other->name, other->uid, other->node);
}

bool same_preempt(const std::string& a, const std::string& b) {
  Body first(a);
  Body second(b);
  const auto one = decode_preempt_args(first);
  const auto other = decode_preempt_args(second);
  return one->pod == other->pod &&
         encode_preempt_result(one->nodes) == encode_preempt_result(other->nodes);
}

struct Refused {
  std::string name;
  Decoder decode;
  std::string text;
  std::string says;  ///< part of the message
};
void PrintTo(const Refused& row, std::ostream* out) { *out << row.name; }

/// A text in which the member has 200 levels.
std::string deep(const std::string& member) {
  std::string text = "{\"" + member + "\":";
  for (int i = 0; i < 200; ++i) text += R"({"labels":)";
  text += "1";
  for (int i = 0; i < 200; ++i) text += "}";
  return text + "}";
}

const std::vector<Refused> kRefused{
    {"FilterOfNothing", filter_says, "", "not valid JSON"},
    {"FilterOfAnArray", filter_says, "[]", "expected an object, found an array"},
    {"FilterOfNull", filter_says, "null", "Pod is missing"},
    {"FilterWithoutPod", filter_says, R"({"NodeNames":["n"]})", "Pod is missing"},
    {"FilterWithNullPod", filter_says, R"({"Pod":null,"NodeNames":["n"]})", "Pod is missing"},
    {"PodIsText", filter_says, R"({"Pod":"p"})", "Pod: expected an object, found a string"},
    {"NodeNamesIsText", filter_says, R"({"Pod":{},"NodeNames":"n"})",
     "NodeNames: expected an array"},
    {"NodeNameIsNumber", filter_says, R"({"Pod":{},"NodeNames":[1]})",
     "NodeNames: expected a string"},
    {"NodeNameIsNull", filter_says, R"({"Pod":{},"NodeNames":[null]})",
     "NodeNames: expected a string"},
    {"NodesIsArray", filter_says, R"({"Pod":{},"Nodes":[]})", "Nodes: expected an object"},
    {"ItemsIsObject", filter_says, R"({"Pod":{},"Nodes":{"items":{}}})",
     "Nodes.items: expected an array"},
    {"NodeIsText", filter_says, R"({"Pod":{},"Nodes":{"items":["n"]}})", "Nodes.items"},
    {"NodeIsNull", filter_says, R"({"Pod":{},"Nodes":{"items":[null]}})", "Nodes.items"},
    {"NodeWithoutName", filter_says, R"({"Pod":{},"Nodes":{"items":[{"metadata":{}}]}})",
     "Nodes.items"},
    {"NodeNameInNodeIsNumber", filter_says,
     R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":4}}]}})",
     "Nodes.items.metadata.name: expected a string"},
    {"BothForms", filter_says,
     R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":"n"}}]},"NodeNames":["n"]})",
     "send one of them"},
    {"BothFormsNamesFirst", filter_says, R"({"Pod":{},"NodeNames":["n"],"Nodes":{"items":[]}})",
     "send one of them"},
    {"UidIsNumber", filter_says, R"({"Pod":{"metadata":{"uid":7}}})",
     "Pod.metadata.uid: expected a string"},
    {"AnnotationIsNumber", filter_says,
     R"({"Pod":{"metadata":{"annotations":{"tangram.dev/gpu-fraction":0.5}}}})",
     "expected a string"},
    {"CpuIsNoQuantity", filter_says,
     R"({"Pod":{"spec":{"containers":[{"resources":{"requests":{"cpu":"lots"}}}]}}})", "cpu"},
    {"TwoPods", filter_says, R"({"Pod":{},"Pod":{}})", R"(key "Pod" stands twice)"},
    {"TwoNodeNames", filter_says, R"({"Pod":{},"NodeNames":[],"NodeNames":[]})", "stands twice"},
    {"TwoItems", filter_says, R"({"Pod":{},"Nodes":{"items":[],"items":[]}})", "stands twice"},
    {"TwoUids", filter_says, R"({"Pod":{"metadata":{"uid":"a","uid":"b"}}})", "stands twice"},
    {"TooDeep", filter_says, deep("NodeNames"), "nested deeper than"},
    {"NotUtf8", filter_says, "{\"Pod\":{},\"NodeNames\":[\"n\xff\"]}", "not valid JSON"},
    {"CutUtf8", filter_says, "{\"Pod\":{},\"NodeNames\":[\"n\xe5\x8d", "not valid JSON"},
    {"NulInside", filter_says, std::string("{\"Pod\":{\0},\"NodeNames\":[]}", 26),
     "not valid JSON"},
    {"NulBehind", filter_says, std::string("{\"Pod\":{}}\0", 11), "NUL"},
    {"TwoValues", filter_says, R"({"Pod":{}}{"Pod":{}})", "not valid JSON"},
    {"BindOfNothing", bind_says, "", "not valid JSON"},
    {"BindOfNull", bind_says, "null", "must all be set"},
    {"BindWithoutUid", bind_says, R"({"PodName":"p","PodNamespace":"s","Node":"n"})",
     "must all be set"},
    {"BindWithEmptyNode", bind_says, R"({"PodName":"p","PodNamespace":"s","PodUID":"u","Node":""})",
     "must all be set"},
    {"BindToNull", bind_says, R"({"PodName":"p","PodNamespace":"s","PodUID":"u","Node":null})",
     "Node: expected a string, found null"},
    {"BindToNumber", bind_says, R"({"PodName":"p","PodNamespace":"s","PodUID":"u","Node":5})",
     "Node: expected a string"},
    {"BindTwoUids", bind_says,
     R"({"PodName":"p","PodNamespace":"s","PodUID":"u","PodUID":"v","Node":"n"})", "stands twice"},
    {"BindOfAPathAway", bind_says, R"({"PodName":"..","PodNamespace":"s","PodUID":"u","Node":"n"})",
     "names that Kubernetes"},
    {"BindThatWritesALineOfTheLog", bind_says,
     R"({"PodName":"p","PodNamespace":"s","PodUID":"u","Node":"n\n[error] all is lost"})",
     "names that Kubernetes"},
    {"BindTooDeep", bind_says, deep("PodName"), "nested deeper than"},
    {"BindNotUtf8", bind_says, "{\"PodName\":\"\xc0\xaf\"}", "not valid JSON"},
    {"PreemptWithoutPod", preempt_says, R"({"NodeNameToMetaVictims":{}})", "Pod is missing"},
    {"VictimsAreArray", preempt_says, R"({"Pod":{},"NodeNameToMetaVictims":[]})",
     "NodeNameToMetaVictims: expected an object"},
    {"VictimUidIsNumber", preempt_says,
     R"({"Pod":{},"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":4}]}}})", "UID: expected a string"},
    {"VictimWithoutUid", preempt_says, R"({"Pod":{},"NodeNameToMetaVictims":{"n":{"Pods":[{}]}}})",
     "UID"},
    {"VictimIsNull", preempt_says, R"({"Pod":{},"NodeNameToMetaVictims":{"n":{"Pods":[null]}}})",
     "UID"},
    {"WholeVictimWithoutUid", preempt_says,
     R"({"Pod":{},"NodeNameToVictims":{"n":{"Pods":[{"metadata":{"name":"p"}}]}}})", "UID"},
    {"ViolationsAreText", preempt_says,
     R"({"Pod":{},"NodeNameToMetaVictims":{"n":{"NumPDBViolations":"1"}}})",
     "expected a whole number"},
    {"ViolationsAreHuge", preempt_says,
     R"({"Pod":{},"NodeNameToVictims":{"n":{"NumPDBViolations":99999999999999999999}}})",
     "outside of"},
    {"TwoEqualNodes", preempt_says, R"({"Pod":{},"NodeNameToMetaVictims":{"n":{},"n":{}}})",
     "stands twice"},
};

class WireRefusesTest : public ::testing::TestWithParam<Refused> {};

TEST_P(WireRefusesTest, WithAMessageThatNamesThePlace) {
  const std::string message = GetParam().decode(GetParam().text);
  EXPECT_NE(message.find(GetParam().says), std::string::npos) << "it said: \"" << message << '"';
}

INSTANTIATE_TEST_SUITE_P(Wire, WireRefusesTest, ::testing::ValuesIn(kRefused),
                         [](const auto& row) { return row.param.name; });

TEST(WireHostileTest, RefusesItemsThatAreSpelledWithEscapes) {
  // The same key to any JSON reader, and no client writes it so: nodes are cut out unread.
  const std::string text =
      "{\"Pod\":{},\"Nodes\":{\"\\u0069tems\":[{\"metadata\":{\"name\":\"n\"}}]}}";
  EXPECT_NE(filter_says(text).find("plain letters"), std::string::npos);
}

// ---- Whole requests, damaged everywhere.

struct Whole {
  std::string name;
  Decoder decode;
  bool (*same)(const std::string& a, const std::string& b);
  std::string text = golden("extender/" + name + ".json");
};
void PrintTo(const Whole& row, std::ostream* out) { *out << row.name; }

const std::vector<Whole> kWholes{
    {"filter_node_names", filter_says, same_filter},
    {"filter_full_nodes", filter_says, same_filter},
    {"filter_bare_pod", filter_says, same_filter},
    {"bind", bind_says, same_bind},
    {"preempt_meta_victims", preempt_says, same_preempt},
    {"preempt_victims", preempt_says, same_preempt},
    {"preempt_nil_victims", preempt_says, same_preempt},
    // Small ones, which are damaged at every byte.
    {"small_full_nodes", filter_says, same_filter,
     R"({"Pod":{"metadata":{"uid":"u"},"spec":{"nodeName":""}},"Nodes":{"metadata":{},"items":[)"
     R"({"metadata":{"name":"n"},"x":"\u00e9","status":{"capacity":{"cpu":"1"}}},{"metadata":{"name":"m"}}]}})"},
    {"small_victims", preempt_says, same_preempt,
     R"({"Pod":{},"NodeNameToVictims":{"n":{"Pods":[{"metadata":{"uid":"u"}}],"NumPDBViolations":1}}})"},
    {"small_meta_victims", preempt_says, same_preempt,
     R"({"Pod":{},"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":"u"},{"UID":"v"}],"NumPDBViolations":0}}})"},
};

/// Every byte of the small texts, some 250 of the large ones: cutting all of those takes minutes
/// under a sanitizer, and the parser does not know what a byte belongs to.
std::size_t step_of(const std::string& text) { return 1 + text.size() / 250; }

class WireDamageTest : public ::testing::TestWithParam<Whole> {
 protected:
  std::string text() const { return GetParam().text; }
};

TEST_P(WireDamageTest, RefusesTheTextCutShort) {
  const std::string whole = text();
  ASSERT_EQ(GetParam().decode(whole), "");
  for (std::size_t size = 0; size < whole.size(); size += step_of(whole)) {
    const std::string message = GetParam().decode(whole.substr(0, size));
    ASSERT_NE(message.find("not valid JSON"), std::string::npos) << "cut at byte " << size;
  }
}

TEST_P(WireDamageTest, TakesOrExplainsAnyValueOfAnotherType) {
  const std::string whole = text();
  int refused = 0;
  const auto values = testing::json_values(whole);
  for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / 60) {
    for (const std::string_view other :
         {"null", "true", "-0.5", "18446744073709551616", "\"x\"", "[[]]", "{\"\":{}}"}) {
      const std::string message = GetParam().decode(testing::with(whole, values[i], other));
      if (!message.empty()) ++refused;
      ASSERT_EQ(message.find("not valid JSON"), std::string::npos)
          << message << ": " << testing::with(whole, values[i], other);
    }
  }
  EXPECT_GT(refused, 0);
}

TEST_P(WireDamageTest, TakesAByteThatIsNoUtf8OnlyWhereItIsNotRead) {
  // What is passed over ends by these, of which no client writes one without the other.
  constexpr std::string_view kPairs = "\"\\{}[]";
  const std::string whole = text();
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += step_of(whole)) {
    // Whole Nodes are not read; they go back to who sent them.
    const bool in_nodes = at > whole.find("\"Nodes\":{") && at < whole.rfind(']');
    if (in_nodes) continue;
    std::string damaged = whole;
    for (const char byte : {'\xff', '\0'}) {
      damaged[at] = byte;
      const bool taken = GetParam().decode(damaged).empty();
      if (!taken) ++refused;
      if (kPairs.find(whole[at]) != std::string_view::npos) continue;
      ASSERT_TRUE(!taken || GetParam().same(whole, damaged)) << "byte " << at;
    }
  }
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Wire, WireDamageTest, ::testing::ValuesIn(kWholes),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tangram::extender
