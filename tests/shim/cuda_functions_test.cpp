// Every function that allocates or frees, in each of its versions: what is accounted is what the
// driver has given.
#include "tests/shim/stand_in_rig.hpp"

#include <gtest/gtest.h>

namespace tangram::shim {
namespace {

/// A version of a function: the CUDA version and the flags that a program asks for.
struct Version {
  int since;
  int flags = 0;  ///< 2: each thread has a null stream of its own
};

std::string as(const Version& version) {
  return "as " + std::to_string(version.since) + " " + std::to_string(version.flags) + " ";
}

class Container {
 public:
  Container() : rig_({{.limit = 1000 * kMiB}}), client_(rig_) {
    EXPECT_EQ(client_.run("init").result, 0) << client_.errors();
  }
  std::uint64_t run(const std::string& command) {
    const auto answer = client_.run(command);
    EXPECT_EQ(answer.result, 0) << command;
    return answer.value();
  }
  std::uint64_t accounted() { return rig_.accounted(); }
  /// What is accounted, which must be what the driver has given.
  std::uint64_t used() {
    EXPECT_EQ(rig_.accounted(), rig_.really_used());
    return rig_.really_used();
  }

 private:
  StandInRig rig_;
  Client client_;
};

/// Two calls, the first of which allocates.
struct Pair {
  const char* name;
  Version allocate_as;
  const char* allocate;
  Version free_as;
  const char* free;  ///< of what the first returned
};

class CudaPairTest : public ::testing::TestWithParam<Pair> {};

TEST_P(CudaPairTest, BothAreAccounted) {
  const Pair& pair = GetParam();
  Container container;
  const auto made = container.run(as(pair.allocate_as) + pair.allocate);
  EXPECT_EQ(container.used(), 4 * kMiB);
  container.run(as(pair.free_as) + pair.free + " " + std::to_string(made));
  EXPECT_EQ(container.used(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaPairTest,
    ::testing::Values(
        Pair{"PointerV1", {2000}, "alloc 4194304", {2000}, "free"},
        Pair{"PointerV2", {3020}, "alloc 4194304", {3020}, "free"},
        Pair{"PointerV2FreedInAStream", {3020}, "alloc 4194304", {11020}, "free-async"},
        Pair{"PointerV2FreedInAStreamOfAThread", {3020}, "alloc 4194304", {11020, 2}, "free-async"},
        Pair{"PitchV1", {2000}, "alloc-pitch 512 8192", {2000}, "free"},
        Pair{"PitchV2", {3020}, "alloc-pitch 512 8192", {3020}, "free"},
        Pair{"Managed", {6000}, "alloc-managed 4194304", {3020}, "free"},
        Pair{"ArrayV1", {2000}, "array-2d-v1 1024 1024", {2000}, "destroy-array"},
        Pair{"ArrayV2", {3020}, "array-2d 1024 1024", {2000}, "destroy-array"},
        Pair{"VolumeV1", {2000}, "array-v1 1024 32 32 0", {2000}, "destroy-array"},
        Pair{"VolumeV2", {3020}, "array 1024 32 32 0", {2000}, "destroy-array"},
        Pair{"Mipmap", {5000}, "mipmap 1024 1024 0 1 0", {5000}, "destroy-mipmap"},
        Pair{"Handle", {10020}, "create 4194304 1 0", {10020}, "release"},
        Pair{"Stream", {11020}, "alloc-async 4194304", {11020}, "free-async"},
        Pair{"StreamOfAThread", {11020, 2}, "alloc-async 4194304", {11020, 2}, "free-async"},
        Pair{"StreamFreedAsAPointer", {11020}, "alloc-async 4194304", {3020}, "free"},
        Pair{"Pool", {11020}, "alloc-from-default 4194304", {11020}, "free-async"},
        Pair{"PoolOfAThread", {11020, 2}, "alloc-from-default 4194304", {11020, 2}, "free-async"}),
    [](const auto& row) { return std::string(row.param.name); });

/// A call that ends a context with all that it has.
struct End {
  const char* name;
  const char* begin;
  Version version;
  const char* end;
  bool of_device = false;
};

class CudaEndTest : public ::testing::TestWithParam<End> {};

TEST_P(CudaEndTest, GivesBackWhatTheContextHad) {
  const End& end = GetParam();
  Container container;
  const auto context = container.run(end.begin);
  container.run("alloc 4194304");
  ASSERT_EQ(container.used(), 4 * kMiB);
  container.run(as(end.version) + end.end + " " + (end.of_device ? "0" : std::to_string(context)));
  EXPECT_EQ(container.used(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaEndTest,
    ::testing::Values(End{"DestroyV1", "context 0", {2000}, "destroy-context"},
                      End{"DestroyV2", "context 0", {4000}, "destroy-context"},
                      End{"Detach", "context 0", {2000}, "detach"},
                      End{"ReleaseV1", "primary 0", {7000}, "release-primary", true},
                      End{"ReleaseV2", "primary 0", {11000}, "release-primary", true},
                      End{"ResetV1", "primary 0", {7000}, "reset-primary", true},
                      End{"ResetV2", "primary 0", {11000}, "reset-primary", true}),
    [](const auto& row) { return std::string(row.param.name); });

/// How a graph comes to run.
struct Graph {
  const char* name;
  Version node_as{11040};
  const char* node = "node";
  Version instantiate_as{11040};
  const char* instantiate = "instantiate";
  Version run_as{10000};
  const char* run = "launch";
};

class CudaGraphTest : public ::testing::TestWithParam<Graph> {};

TEST_P(CudaGraphTest, IsAccountedAllTheWay) {
  const Graph& how = GetParam();
  Container container;
  const std::string graph = std::to_string(container.run("graph"));
  container.run(as(how.node_as) + how.node + " " + graph + " 4194304");
  EXPECT_EQ(container.accounted(), 4 * kMiB);
  std::vector<std::string> execs;
  for (int i = 0; i < 2; ++i) {
    const auto exec = container.run(as(how.instantiate_as) + how.instantiate + " " + graph);
    execs.push_back(std::to_string(exec));
  }
  container.run("destroy-graph " + graph);
  EXPECT_EQ(container.accounted(), 4 * kMiB) << "what was instantiated keeps the node";
  for (const auto& exec : execs) container.run(as(how.run_as) + how.run + " " + exec);
  EXPECT_EQ(container.used(), 8 * kMiB) << "each has memory of its own now";
  for (const auto& exec : execs) container.run("destroy-exec " + exec);
  container.run("trim-graphs 0");
  EXPECT_EQ(container.used(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaGraphTest,
    ::testing::Values(
        Graph{.name = "Plain"}, Graph{.name = "NodeV1", .node_as = {12020}, .node = "add-node-v1"},
        Graph{.name = "NodeV2", .node_as = {12030}, .node = "add-node"},
        Graph{.name = "NodeV3", .node_as = {13050}, .node = "add-node"},
        Graph{.name = "InstantiateV1", .instantiate_as = {10000}, .instantiate = "instantiate-v1"},
        Graph{.name = "InstantiateV2", .instantiate_as = {11000}, .instantiate = "instantiate-v1"},
        Graph{
            .name = "WithParameters", .instantiate_as = {12000}, .instantiate = "instantiate-with"},
        Graph{.name = "WithParametersOfAThread",
              .instantiate_as = {12000, 2},
              .instantiate = "instantiate-with"},
        Graph{.name = "LaunchOfAThread", .run_as = {10000, 2}},
        Graph{.name = "Upload", .run_as = {11010}, .run = "upload"},
        Graph{.name = "UploadOfAThread", .run_as = {11010, 2}, .run = "upload"}),
    [](const auto& row) { return std::string(row.param.name); });

/// What a program is told, by both versions.
TEST(CudaQueriesTest, BothVersionsShowTheShare) {
  Container container;
  for (const int version : {2000, 3020}) {
    EXPECT_EQ(container.run(as({version}) + "info"), 1000 * kMiB);
    EXPECT_EQ(container.run(as({version}) + "total 0"), 1000 * kMiB);
  }
}

}  // namespace
}  // namespace tangram::shim
