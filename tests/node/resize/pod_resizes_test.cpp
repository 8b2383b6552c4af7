// What the agent says of resizes.

#include "node/resize/pod_resizes.hpp"

#include "tests/node/resize/resize_rig.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tangram::node {
namespace {

TEST(PodResizesTest, ForWantOfSpaceLeavesOutFirstWhatTheGrantsSay) {
  ResizeRig rig;
  // A thousand pods with long names take more than there is.
  constexpr int kPods = 1'000;
  const auto name = [](int i) { return std::string(80, 'p') + std::to_string(10'000 + i); };
  for (int i = 0; i < kPods; ++i) {
    rig.run(name(i), ResizeRig::grant(name(i), 1, {share(1'000, 100)}));
  }
  for (const int put_back : {kPods - 2, kPods - 1}) {
    rig.annotate(name(put_back), ResizeRig::grant(name(put_back), 0, {share(500, 50)}));
  }
  const auto answers = pod_resizes(rig.pods, *rig.journal, {}, {}, {}).answers;
  EXPECT_EQ(answers.size(), kPods);
  EXPECT_LE(encode_resizes(answers).size(), model::kMaxResizesBytes);
  EXPECT_FALSE(answers.at("uid-" + name(kPods - 1)).held.empty());
  EXPECT_FALSE(answers.at("uid-" + name(kPods - 2)).held.empty());
  EXPECT_TRUE(answers.at("uid-" + name(kPods - 3)).held.empty());
  EXPECT_FALSE(answers.at("uid-" + name(0)).held.empty()) << "as much as there is room for";
}

}  // namespace
}  // namespace tangram::node
