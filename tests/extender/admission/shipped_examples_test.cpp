// The examples for people in deploy/, as the shipped webhook receives them.

#include "kube/local/yaml_to_json.hpp"
#include "source_dir.hpp"
#include "tests/extender/admission/reviews.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tangram::extender {
namespace {

using testing::at;
using testing::Webhook;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The pods of a file, as the API server submits them: of workloads, those of their template; of a
/// RayCluster, those of its first group of workers.
std::vector<std::string> pods_in(const std::string& file) {
  auto objects = kube::yaml_to_json(text_of(std::string(TANGRAM_SOURCE_DIR "/deploy/") + file));
  if (!objects) throw std::runtime_error(file + ": " + objects.error().message);
  std::vector<std::string> pods;
  for (const auto& object : *objects) {
    for (const char* place : {"spec.template", "spec.workerGroupSpecs.0.template"}) {
      const std::string pod = at(object.json, place);
      if (!pod.empty()) pods.push_back(pod);
    }
    if (at(object.json, "kind") == "Pod") pods.push_back(object.json);
  }
  return pods;
}

class ShippedExamplesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ShippedExamplesTest, IsAllowedAndGetsASlot) {
  const auto pods = pods_in(GetParam());
  ASSERT_FALSE(pods.empty());
  const Webhook webhook;
  for (const std::string& pod : pods) {
    EXPECT_EQ(webhook.refusal(pod), "");
    const std::string mutated = webhook.mutated(pod);
    EXPECT_EQ(at(mutated, "spec.containers.0.resources.limits.tangram:dev|gpu-slot"), "1")
        << mutated;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedExamplesTest,
                         ::testing::Values("examples/jax.yaml", "examples/kuberay.yaml",
                                           "examples/kueue.yaml", "examples/pytorch.yaml",
                                           "examples/triton.yaml", "examples/vllm.yaml",
                                           "node/example-pods.yaml", "scheduler/example-pod.yaml"),
                         [](const auto& file) {
                           std::string name = file.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

TEST(ShippedExamplesTest, ThePageNamesEachExample) {
  const std::string page = text_of(TANGRAM_SOURCE_DIR "/docs/frameworks.md");
  const std::string folder = TANGRAM_SOURCE_DIR "/deploy/examples";
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = "deploy/examples/" + file.path().filename().string();
    EXPECT_NE(page.find(name), std::string::npos) << name;
    ++count;
  }
  EXPECT_EQ(count, 6U) << "of the test above, too";
}

}  // namespace
}  // namespace tangram::extender
