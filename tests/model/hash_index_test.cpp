#include "model/hash_index.hpp"

#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>

namespace tangram::model {
namespace {

TEST(HashIndexTest, FindsNothingInNothing) {
  const HashIndex empty;
  EXPECT_FALSE(empty.find(7, [](std::uint32_t) { return true; }));
  EXPECT_EQ(empty.size(), 0U);
}

TEST(HashIndexTest, TellsThingsOfOneHashApart) {
  HashIndex index;
  index.add(7, 1);
  index.add(7, 2);
  EXPECT_EQ(index.find(7, [](std::uint32_t at) { return at == 2; }), 2U);
  EXPECT_FALSE(index.find(7, [](std::uint32_t at) { return at == 3; }));
  EXPECT_FALSE(index.find(8, [](std::uint32_t) { return true; }));
  index.remove(7, 1);
  EXPECT_EQ(index.find(7, [](std::uint32_t) { return true; }), 2U);
}

// Few hashes, so that many things lie in the way of each other.
TEST(HashIndexPropertyTest, FindsWhatIsThere) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;  // at once: a sanitizer ends the program
  testing::Random random(seed);
  constexpr int kThings = 200;
  HashIndex index;
  std::map<std::uint32_t, std::uint32_t> hash_of_thing;
  for (int round = 0; round < 5'000; ++round) {
    const auto thing = static_cast<std::uint32_t>(random.below(kThings));
    if (const auto known = hash_of_thing.find(thing); known != hash_of_thing.end()) {
      index.remove(known->second, thing);
      hash_of_thing.erase(known);
    } else {
      // Also at the end of the places, from where a search goes on at their beginning.
      const auto hash = static_cast<std::uint32_t>(random.below(40)) - 20U;
      index.add(hash, thing);
      hash_of_thing.emplace(thing, hash);
    }
    ASSERT_EQ(index.size(), hash_of_thing.size());
    const auto sought = static_cast<std::uint32_t>(random.below(kThings));
    const auto known = hash_of_thing.find(sought);
    const std::uint32_t hash = known == hash_of_thing.end() ? 3 : known->second;
    const auto found = index.find(hash, [&](std::uint32_t at) { return at == sought; });
    ASSERT_EQ(found.has_value(), known != hash_of_thing.end()) << "round " << round;
  }
}

// Names of nodes differ in a few digits; a search for one of 20,000 must not meet many others.
TEST(HashOfTest, SpreadsNamesThatDifferInADigit) {
  for (const std::string prefix : {"", "n", "gpu-node-", "ip-10-0-1-", "a-name-that-is-so-long-"}) {
    for (const std::string suffix : {"", ".eu-west-1.compute.internal"}) {
      std::set<std::uint32_t> places;
      constexpr int kNames = 20'000;
      constexpr std::uint32_t kPlaces = 1U << 16U;
      for (int i = 0; i < kNames; ++i) {
        places.insert(hash_of(prefix + std::to_string(i) + suffix) % kPlaces);
      }
      // By chance, 65,536 (1 - e^(-20,000 / 65,536)).
      EXPECT_GT(places.size(), 17'000U) << prefix << "N" << suffix;
    }
  }
}

TEST(HashOfTest, DependsOnEachByteAndOnTheLength) {
  std::set<std::uint32_t> hashes;
  std::size_t texts = 0;
  for (std::size_t length = 0; length <= 50; ++length) {
    const std::string text(length, 'a');
    hashes.insert(hash_of(text));
    ++texts;
    for (std::size_t at = 0; at < length; ++at) {
      std::string other = text;
      other[at] = 'b';
      hashes.insert(hash_of(other));
      ++texts;
    }
  }
  EXPECT_EQ(hashes.size(), texts);
}

}  // namespace
}  // namespace tangram::model
