#include "extender/node_walk.hpp"

#include "model/ledger.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/dice.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tangram::extender {
namespace {

using testing::card;
using testing::inventory;

class NodeWalkTest : public ::testing::Test {
 protected:
  void put(const std::string& name) { ledger_.put_node(inventory(name, {card("GPU-" + name)})); }
  [[nodiscard]] model::NodeIndex index_of(const std::string& name) {
    return ledger_.snapshot()->lookup(name).value().index;
  }
  /// One request that names these nodes.
  void walk(const std::vector<std::string>& names) {
    const auto cluster = ledger_.snapshot();
    const PodView view(*cluster);
    NodeWalk walk(view, *order_);
    for (const std::string& name : names) ASSERT_TRUE(walk.find(name)) << name;
  }
  [[nodiscard]] bool follows(const std::string& name, const std::string& other) {
    return order_->after(index_of(name)) == index_of(other);
  }

  testing::ManualClock clock_;
  model::Ledger ledger_{clock_};
  std::unique_ptr<NodeOrder> order_ = std::make_unique<NodeOrder>();
};

TEST_F(NodeWalkTest, BeginsWithTheOrderOfTheBooks) {
  for (const char* name : {"a", "b", "c"}) put(name);
  EXPECT_TRUE(follows("a", "b"));
  EXPECT_TRUE(follows("b", "c"));
}

TEST_F(NodeWalkTest, LearnsTheOrderInWhichNodesAreNamed) {
  for (const char* name : {"a", "b", "c", "d"}) put(name);
  walk({"d", "b", "c", "a"});
  EXPECT_TRUE(follows("d", "b"));
  EXPECT_TRUE(follows("b", "c"));
  EXPECT_TRUE(follows("c", "a"));
  walk({"a", "d", "c", "b"});
  EXPECT_TRUE(follows("a", "d"));
  EXPECT_TRUE(follows("c", "b"));
}

TEST_F(NodeWalkTest, DoesNotUnlearnANodeThatIsLeftOutOnce) {
  for (const char* name : {"a", "b", "c", "d"}) put(name);
  walk({"d", "b", "c", "a"});
  walk({"d", "c", "a"});
  EXPECT_TRUE(follows("d", "b"));
}

// Whatever was learned of other requests and other clusters, the same is found as without it.
TEST_F(NodeWalkTest, FindsWhatIsThere) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;  // at once: a sanitizer ends the program
  testing::Dice dice(seed);
  constexpr int kNames = 100;
  std::vector<std::string> names;
  for (int i = 0; i < kNames; ++i) names.push_back("node-" + std::to_string(i));
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 10; ++i) {
      const std::string& name = dice.one_of(names);
      if (dice.chance(70)) {
        put(name);
      } else {
        ledger_.remove_node(name);
      }
    }
    for (int i = 0; i < 5; ++i)
      std::swap(names.at(static_cast<std::size_t>(dice.below(kNames))),
                names.at(static_cast<std::size_t>(dice.below(kNames))));
    const auto cluster = ledger_.snapshot();
    PodView view(*cluster);
    for (int i = 0; i < 3; ++i) {
      if (const auto* node = view.find(dice.one_of(names))) view.replace(*node);
    }
    NodeWalk walk(view, *order_);
    for (const std::string& name : names) {
      if (dice.chance(20)) continue;
      const auto found = walk.find(name);
      const auto expected = view.lookup(name);
      ASSERT_EQ(found.has_value(), expected.has_value()) << name;
      if (!found) continue;
      EXPECT_EQ(found->node, expected->node) << name;
      EXPECT_EQ(found->version, expected->version) << name;
      EXPECT_EQ(found->index, expected->index) << name;
    }
  }
}

}  // namespace
}  // namespace tangram::extender
