#include "extender/scheduling/node_walk.hpp"

#include "model/ledger.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
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
    NodeWalk walk(view, order_);
    for (const std::string& name : names) ASSERT_TRUE(walk.find(name)) << name;
  }
  [[nodiscard]] bool follows(const std::string& name, const std::string& other) {
    return order_.after(index_of(name)) == index_of(other);
  }

  testing::ManualClock clock_;
  model::Ledger ledger_{clock_};
  NodeOrder order_;
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

/// Nodes come and go, and are named in an order that changes.
class NodeWalkPropertyTest : public NodeWalkTest {
 protected:
  static constexpr int kNames = 100;

  NodeWalkPropertyTest() {
    names_.reserve(kNames);
    for (int i = 0; i < kNames; ++i) names_.push_back("node-" + std::to_string(i));
  }
  std::string& any_name() { return names_.at(static_cast<std::size_t>(random_.below(kNames))); }
  void change_cluster() {
    for (int i = 0; i < 10; ++i) {
      if (random_.chance(70)) {
        put(any_name());
      } else {
        ledger_.remove_node(any_name());
      }
    }
  }
  /// What this pod sees otherwise.
  void replace_some(PodView& view) {
    for (int i = 0; i < 3; ++i) {
      if (const auto* node = view.find(any_name())) view.replace(*node);
    }
  }
  void expect_what_is_there(const PodView& view, NodeWalk& walk, const std::string& name) {
    const auto found = walk.find(name);
    const auto expected = view.lookup(name);
    ASSERT_EQ(found.has_value(), expected.has_value()) << name;
    if (!found) return;
    EXPECT_EQ(found->node, expected->node) << name;
    EXPECT_EQ(found->version, expected->version) << name;
    EXPECT_EQ(found->index, expected->index) << name;
  }

  const unsigned seed_ = std::random_device{}();
  testing::Random random_{seed_};
  std::vector<std::string> names_;
};

TEST_F(NodeWalkPropertyTest, FindsWhatIsThereWhateverWasLearned) {
  std::cout << "seed " << seed_ << std::endl;  // at once: a sanitizer ends the program
  for (int round = 0; round < 200; ++round) {
    change_cluster();
    for (int i = 0; i < 5; ++i) std::swap(any_name(), any_name());
    const auto cluster = ledger_.snapshot();
    PodView view(*cluster);
    replace_some(view);
    NodeWalk walk(view, order_);
    for (const std::string& name : names_) {
      if (!random_.chance(20)) expect_what_is_there(view, walk, name);
    }
  }
}

}  // namespace
}  // namespace tangram::extender
