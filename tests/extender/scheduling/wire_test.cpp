#include "extender/scheduling/wire.hpp"

#include "tests/testing/golden.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/odd_fields.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::golden;
using testing::json_at;
using Names = std::vector<std::string_view>;

FilterArgs filter_args(Body& body) {
  auto args = decode_filter_args(body);
  if (!args) throw std::runtime_error(args.error().message);
  return std::move(*args);
}

PreemptArgs preempt_args(const std::string& text) {
  Body body(text);
  auto args = decode_preempt_args(body);
  if (!args) throw std::runtime_error(args.error().message);
  return std::move(*args);
}

// ---- What kube-scheduler sends; the files are written by its own types (see README.md there).

TEST(WireTest, ReadsAFilterRequestThatNamesNodes) {
  Body body(golden("extender/filter_node_names.json"));
  const FilterArgs args = filter_args(body);
  EXPECT_EQ(args.node_names, (Names{"gpu-a-01", "gpu-b-02", "gpu-c-03"}));
  EXPECT_FALSE(args.full_nodes);
  EXPECT_TRUE(args.node_texts.empty());
  EXPECT_EQ(args.pod.full_name(), "ml/train-x2k9z");
  EXPECT_EQ(args.pod.uid, "0f7a2c1e-4f0b-4d6e-9b1a-7c3d5e8f9a01");
  EXPECT_EQ(args.pod.annotations,
            (model::Annotations{{"gpu-container", "main"}, {"gpu-fraction", "0.5"}}));
  EXPECT_EQ(args.pod.priority, 1000);
  EXPECT_EQ(args.pod.node, "");
  EXPECT_FALSE(args.pod.never_preempts);
  EXPECT_FALSE(args.pod.finished);
}

TEST(WireTest, ReadsThePodsContainersAndWhatTheyRequest) {
  Body body(golden("extender/filter_node_names.json"));
  const kube::Pod pod = filter_args(body).pod;
  ASSERT_EQ(pod.containers.size(), 3U);
  EXPECT_EQ(pod.containers[0].name, "main");
  EXPECT_EQ(pod.containers[0].slots, 1);
  EXPECT_EQ(pod.containers[1].name, "logs");
  EXPECT_EQ(pod.containers[1].slots, 0);
  EXPECT_EQ(pod.containers[2].name, "fetch");
  EXPECT_TRUE(pod.containers[2].ordinary_init);
  // main 4 + logs 0.1 cores; 16 GiB + 64 MiB. fetch needs less, before them.
  EXPECT_EQ(pod.footprint.cpu, MilliCpu(4'100));
  EXPECT_EQ(pod.footprint.memory, Mebibytes(16'448));
}

TEST(WireTest, ReadsAFilterRequestWithWholeNodes) {
  const std::string text = golden("extender/filter_full_nodes.json");
  Body body(text);
  const FilterArgs args = filter_args(body);
  EXPECT_TRUE(args.full_nodes);
  EXPECT_EQ(args.node_names, (Names{"gpu-a-01", "gpu-b-02", "gpu-c-03"}));
  ASSERT_EQ(args.node_texts.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string node(args.node_texts[i]);
    EXPECT_NE(text.find(node), std::string::npos);
    EXPECT_EQ(json_at(node, "metadata.name"), args.node_names[i]);
    EXPECT_EQ(json_at(node, "status.allocatable.cpu"), "63770m");
  }
}

TEST(WireTest, ReadsAnEmptyListOfWholeNodes) {
  Body body(golden("extender/filter_no_nodes.json"));
  const FilterArgs args = filter_args(body);
  EXPECT_TRUE(args.full_nodes);
  EXPECT_TRUE(args.node_names.empty());
  EXPECT_EQ(json_at(encode(args, {}), "Nodes.items"), "[]");
}

TEST(WireTest, ReadsAPodThatSaysNothing) {
  Body body(golden("extender/filter_bare_pod.json"));
  const FilterArgs args = filter_args(body);
  EXPECT_EQ(args.pod.full_name(), "default/bare");
  EXPECT_TRUE(args.pod.annotations.empty());
  EXPECT_EQ(args.pod.footprint, model::Footprint{});
}

TEST(WireTest, ReadsTheNodeThatWasNominated) {
  Body body(golden("extender/filter_nominated_node.json"));
  const FilterArgs args = filter_args(body);
  EXPECT_EQ(args.pod.nominated_node, "gpu-b-02");
  EXPECT_EQ(args.node_names, Names{"gpu-b-02"});
}

TEST(WireTest, ReadsAPrioritizeRequestInTheOrderAsked) {
  Body body(golden("extender/prioritize_node_names.json"));
  EXPECT_EQ(filter_args(body).node_names, (Names{"gpu-c-03", "gpu-a-01"}));
}

TEST(WireTest, ReadsABindRequest) {
  Body body(golden("extender/bind.json"));
  const auto args = decode_bind_args(body);
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(args->ns, "ml");
  EXPECT_EQ(args->name, "train-x2k9z");
  EXPECT_EQ(args->uid, "0f7a2c1e-4f0b-4d6e-9b1a-7c3d5e8f9a01");
  EXPECT_EQ(args->node, "gpu-a-01");
}

TEST(WireTest, ReadsAPreemptRequestWithTheVictimsUids) {
  const PreemptArgs args = preempt_args(golden("extender/preempt_meta_victims.json"));
  EXPECT_EQ(args.pod.name, "train-x2k9z");
  ASSERT_EQ(args.nodes.size(), 2U);
  EXPECT_EQ(args.nodes.at("gpu-a-01").uids,
            std::vector<std::string>{"22222222-0000-4000-8000-000000000001"});
  EXPECT_EQ(args.nodes.at("gpu-a-01").pdb_violations, 1);
  EXPECT_EQ(args.nodes.at("gpu-b-02").uids,
            (std::vector<std::string>{"22222222-0000-4000-8000-000000000002",
                                      "22222222-0000-4000-8000-000000000003"}));
  EXPECT_EQ(args.nodes.at("gpu-b-02").pdb_violations, 0);
}

TEST(WireTest, ReadsAPreemptRequestWithWholeVictims) {
  const PreemptArgs args = preempt_args(golden("extender/preempt_victims.json"));
  ASSERT_EQ(args.nodes.size(), 2U);
  EXPECT_EQ(args.nodes.at("gpu-a-01").uids,
            std::vector<std::string>{"22222222-0000-4000-8000-000000000001"});
  EXPECT_EQ(args.nodes.at("gpu-a-01").pdb_violations, 1);
  EXPECT_EQ(args.nodes.at("gpu-b-02").uids,
            std::vector<std::string>{"22222222-0000-4000-8000-000000000002"});
}

TEST(WireTest, TakesNilVictimsAsNone) {
  const PreemptArgs args = preempt_args(golden("extender/preempt_nil_victims.json"));
  ASSERT_EQ(args.nodes.size(), 2U);
  EXPECT_TRUE(args.nodes.at("gpu-a-01").uids.empty());
  EXPECT_TRUE(args.nodes.at("gpu-b-02").uids.empty());
}

/// kube-scheduler takes managedFields out of the pods that it keeps; nothing says that it must.
TEST(WireTest, PassesOverManagedFields) {
  for (const char* name : {"extender/filter_node_names.json", "extender/filter_full_nodes.json"}) {
    const std::string text = golden(name);
    Body plain(text);
    Body odd(testing::with_odd_fields(text));
    const FilterArgs wanted = filter_args(plain);
    const FilterArgs args = filter_args(odd);
    EXPECT_EQ(args.pod, wanted.pod) << name;
    EXPECT_EQ(args.node_names, wanted.node_names) << name;
  }
  for (const char* name : {"extender/preempt_meta_victims.json", "extender/preempt_victims.json"}) {
    const PreemptArgs wanted = preempt_args(golden(name));
    const PreemptArgs args = preempt_args(testing::with_odd_fields(golden(name)));
    EXPECT_EQ(args.pod, wanted.pod) << name;
    EXPECT_EQ(args.nodes.at("gpu-a-01").uids, wanted.nodes.at("gpu-a-01").uids) << name;
    EXPECT_EQ(args.nodes.at("gpu-a-01").pdb_violations, 1) << name;
  }
}

TEST(WireTest, IgnoresMembersOfNewerSchedulers) {
  Body body(R"({"Pod":{"metadata":{"uid":"u"},"new":{"a":[1]}},"NodeNames":["n"],"Hints":[{}]})");
  EXPECT_EQ(filter_args(body).node_names, Names{"n"});
  Body bind(R"({"PodName":"p","PodNamespace":"s","PodUID":"u","Node":"n","Reason":null})");
  EXPECT_TRUE(decode_bind_args(bind));
}

// ---- What goes back, byte for byte.

TEST(WireTest, WritesAFilterResultOfNames) {
  Body body(R"({"Pod":{},"Nodes":null,"NodeNames":["n1","n2","n3","n4"]})");
  const FilterArgs args = filter_args(body);
  const FilterResult result{
      .kept = {2, 0}, .failed = {{"n2", "no room"}}, .unresolvable = {{"n4", "no \"cards\""}}};
  EXPECT_EQ(encode(args, result),
            R"({"Nodes":null,"NodeNames":["n3","n1"],"FailedNodes":{"n2":"no room"},)"
            R"("FailedAndUnresolvableNodes":{"n4":"no \"cards\""},"Error":""})");
}

/// How the names stood in the request makes no difference, whatever is kept of them.
TEST(WireTest, WritesTheSameNamesInOnePieceAndOneByOne) {
  Body plain(R"({"Pod":{},"NodeNames":["n1","n2","n3","","n5"]})");
  Body spaced("{\"Pod\":{},\"NodeNames\":[ \"n1\" ,\"n2\",\n\t\"n3\", \"\" , \"n5\" ]}");
  Body escaped(R"({"Pod":{},"NodeNames":["n1","n2","n\u0033","","n5"]})");
  const FilterArgs in_one_piece = filter_args(plain);
  const FilterArgs with_spaces = filter_args(spaced);
  const FilterArgs one_by_one = filter_args(escaped);
  EXPECT_TRUE(in_one_piece.plain_names);
  EXPECT_TRUE(with_spaces.plain_names);
  EXPECT_FALSE(one_by_one.plain_names);
  for (const std::vector<std::uint32_t>& kept : std::vector<std::vector<std::uint32_t>>{
           {}, {0}, {4}, {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {3, 0, 1, 2, 4}, {1, 2, 4}, {0, 2, 3}}) {
    const FilterResult result{.kept = kept, .failed = {}, .unresolvable = {}};
    const std::string reply = encode(one_by_one, result);
    EXPECT_EQ(encode(in_one_piece, result), reply);
    std::string compact = encode(with_spaces, result);
    std::erase_if(compact, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
    EXPECT_EQ(compact, reply);
  }
}

TEST(WireTest, WritesAnEmptyListAndNotNullWhenNoNodeFits) {
  Body body(R"({"Pod":{},"NodeNames":[]})");
  EXPECT_EQ(encode(filter_args(body), {}), R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},)"
                                           R"("FailedAndUnresolvableNodes":{},"Error":""})");
}

TEST(WireTest, HandsWholeNodesBackAsTheyCame) {
  const std::string text = golden("extender/filter_full_nodes.json");
  Body body(text);
  const FilterArgs args = filter_args(body);
  const std::string reply = encode(args, {.kept = {2, 1}, .failed = {}, .unresolvable = {}});
  const auto span_text = [&](std::size_t i) { return std::string(args.node_texts[i]); };
  EXPECT_EQ(reply,
            R"({"NodeNames":null,"Nodes":{"kind":"NodeList","apiVersion":"v1","metadata":{},)"
            R"("items":[)" +
                span_text(2) + "," + span_text(1) +
                R"(]},"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""})");
  // The node with tabs, quotes, HTML, letters beyond ASCII and U+2028 in an annotation.
  EXPECT_NE(span_text(1).find(R"(\u003chtml\u003e \u0026)"), std::string::npos);
  EXPECT_NE(span_text(1).find("\xe5\x8d\xa1"), std::string::npos);
}

TEST(WireTest, KeepsTheWhitespaceInsideWholeNodes) {
  const std::string node = "{ \"metadata\" :\n\t{ \"name\" : \"n1\" , \"x\" : [ 1.50 , 1e3 ] } }";
  Body body(R"({"Pod":{},"Nodes":{"items":[ )" + node + " ]}}");
  const FilterArgs args = filter_args(body);
  EXPECT_EQ(args.node_names, Names{"n1"});
  EXPECT_NE(encode(args, {.kept = {0}, .failed = {}, .unresolvable = {}}).find(node),
            std::string::npos);
}

TEST(WireTest, WritesAFilterError) {
  EXPECT_EQ(encode_filter_error("line\nbreak"),
            R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,)"
            R"("FailedAndUnresolvableNodes":null,"Error":"line\nbreak"})");
}

TEST(WireTest, WritesScores) {
  EXPECT_EQ(encode({{"n1", 10}, {"n2", 0}}),
            R"([{"Host":"n1","Score":10},{"Host":"n2","Score":0}])");
  EXPECT_EQ(encode(std::vector<HostScore>{}), "[]");
}

TEST(WireTest, WritesABindResult) {
  EXPECT_EQ(encode_bind_result(""), R"({"Error":""})");
  EXPECT_EQ(encode_bind_result("no \"room\""), R"({"Error":"no \"room\""})");
}

TEST(WireTest, WritesThePreemptResultInTheMetaForm) {
  EXPECT_EQ(encode_preempt_result({{"n2", {{"u1", "u2"}, 3}}, {"n1", {{}, 0}}}),
            R"({"NodeNameToMetaVictims":{"n1":{"Pods":[],"NumPDBViolations":0},)"
            R"("n2":{"Pods":[{"UID":"u1"},{"UID":"u2"}],"NumPDBViolations":3}}})");
  EXPECT_EQ(encode_preempt_result({}), R"({"NodeNameToMetaVictims":{}})");
}

}  // namespace
}  // namespace tangram::extender
