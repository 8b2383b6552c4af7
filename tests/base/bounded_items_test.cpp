#include "base/bounded_items.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram {
namespace {

/// Its name is its key.
struct Text {
  std::string name;
  std::size_t size = 0;
  bool outline = false;
};
using TextPtr = std::shared_ptr<const Text>;
using Texts = BoundedItems<Text>;

constexpr std::size_t kOutline = 100;

Texts texts(std::size_t most) {
  return Texts({.most = most,
                .weight = [](const Text& text) { return kOutline + text.size; },
                .outline =
                    [](const Text& text) {
                      return Text{text.name, 0, true};
                    }});
}
TextPtr text(const std::string& name, std::size_t size) {
  return std::make_shared<const Text>(Text{name, size});
}

/// The keys, with '*' after those of outlines.
std::string kept(const Texts& all) {
  std::string keys;
  for (const auto& [key, item] : all.all()) keys += key + (item->outline ? "*" : "");
  return keys;
}

/// Puts them in. @returns the names of those that were left out, in order
std::string put(Texts& all, const std::vector<TextPtr>& items) {
  std::string left_out;
  for (const TextPtr& item : items) {
    for (const TextPtr& out : all.put(item->name, item)) left_out += out->name;
  }
  return left_out;
}

TEST(BoundedItemsTest, KeepWhatThereIsRoomFor) {
  Texts all = texts(2 * kOutline + 3'000);
  EXPECT_EQ(put(all, {text("a", 1'000), text("b", 2'000)}), "");
  EXPECT_EQ(all.weight(), 2 * kOutline + 3'000);
  EXPECT_EQ(put(all, {text("a", 500)}), "") << "instead of the former one";
  EXPECT_EQ(all.weight(), 2 * kOutline + 2'500);
  all.erase("b");
  all.erase("none");
  EXPECT_EQ(all.weight(), kOutline + 500);
  EXPECT_TRUE(all.complete());
  EXPECT_EQ(all.find("a")->size, 500U);
  EXPECT_EQ(all.find("b"), nullptr);
}

TEST(BoundedItemsTest, LeaveOutTheHeaviestAndOfEqualOnesTheFirst) {
  Texts all = texts(5 * kOutline + 3'000);
  EXPECT_EQ(put(all, {text("a", 1'000), text("b", 2'000)}), "");
  EXPECT_EQ(put(all, {text("c", 2'000)}), "b");
  EXPECT_EQ(put(all, {text("d", 5'000)}), "d");
  EXPECT_EQ(kept(all), "ab*cd*");
  EXPECT_FALSE(all.complete());
  EXPECT_TRUE(all.has_outlines());
  EXPECT_EQ(put(all, {text("b", 0)}), "") << "it has changed";
  EXPECT_EQ(kept(all), "abcd*");
  all.clear();
  EXPECT_TRUE(all.complete());
  EXPECT_EQ(all.weight(), 0U);
}

TEST(BoundedItemsTest, AChangeOfALightOneLeavesOutNoneButTheHeaviest) {
  Texts all = texts(3 * kOutline + 3'000);
  EXPECT_EQ(put(all, {text("a", 500), text("b", 2'000), text("c", 2'000)}), "b");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(put(all, {text("a", 500)}), "");
  EXPECT_EQ(put(all, {text("a", 1'500)}), "c");
  EXPECT_EQ(kept(all), "ab*c*");
}

TEST(BoundedItemsTest, HaveRoomAgainOnceOthersAreGone) {
  Texts all = texts(4'000);
  put(all, {text("a", 1'500), text("b", 2'000)});
  EXPECT_FALSE(all.has_room_again()) << "none was left out";
  put(all, {text("c", 2'500)});
  EXPECT_EQ(kept(all), "abc*");
  EXPECT_FALSE(all.has_room_again());
  all.erase("b");
  EXPECT_TRUE(all.has_room_again());

  Texts names = texts(800);
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"})
    put(names, {text(name, 0)});
  EXPECT_FALSE(names.has_outlines());
  EXPECT_FALSE(names.has_room_again());
  for (const char* name : {"h", "i"}) names.erase(name);
  EXPECT_TRUE(names.has_room_again()) << "as soon as there is room for a name";
}

TEST(BoundedItemsTest, TheOrderDoesNotMatter) {
  std::vector<TextPtr> items{text("a", 400), text("b", 300), text("c", 300), text("d", 200),
                             text("e", 100)};
  do {
    Texts all = texts(5 * kOutline + 650);
    put(all, items);
    EXPECT_EQ(kept(all), "a*b*cde");
  } while (std::next_permutation(items.begin(), items.end()));
}

TEST(BoundedItemsTest, NeverTakeMoreThoughOutlinesAreLeftOut) {
  Texts all = texts(2 * kOutline + 99);
  EXPECT_EQ(put(all, {text("a", 50), text("b", 900)}), "b");
  EXPECT_TRUE(all.has_outlines());
  EXPECT_EQ(put(all, {text("c", 900)}), "caa");
  EXPECT_FALSE(all.has_outlines());
  EXPECT_EQ(kept(all), "b*c*");
  Texts none = texts(10);
  EXPECT_EQ(put(none, {text("a", 50)}), "aa");
  EXPECT_TRUE(none.all().empty());
}

}  // namespace
}  // namespace tangram
