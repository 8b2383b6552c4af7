#include "extender/page/packing_changes.hpp"

#include "base/rapidjson.hpp"
#include "cluster/packing_json.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace tangram::extender {
namespace {

using rapidjson::Document;
using rapidjson::Value;

std::string text_of(const Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return buffer.GetString();
}

Document parse(const std::string& text) {
  Document document;
  document.Parse(text.c_str());
  if (document.HasParseError()) throw std::runtime_error("not JSON: " + text);
  return document;
}

/// What a page makes of what it is reported: texts, by names. Another one than the page's own, by
/// the rules that the header states.
struct Picture {
  struct Node {
    std::map<std::string, std::string> facts;  ///< members but for the cards
    std::vector<std::pair<std::string, std::string>> cards;
    friend bool operator==(const Node&, const Node&) = default;
  };
  std::map<std::string, Node> nodes;
  std::map<std::string, std::string> waiting;  ///< by UID
  friend bool operator==(const Picture&, const Picture&) = default;

  void take_node(const Value& reported) {
    const bool partial = reported.HasMember("partial");
    Node& node = nodes[reported["name"].GetString()];
    const auto before = std::exchange(node.facts, {});
    for (const auto& member : reported.GetObject()) {
      const std::string name = member.name.GetString();
      if (name != "cards" && name != "partial") node.facts[name] = text_of(member.value);
    }
    ASSERT_TRUE(!partial || !before.empty()) << "only a part of a node that is not known";
    if (!partial) node.cards.clear();
    for (const Value& card : reported["cards"].GetArray()) {
      const std::string uuid = card["uuid"].GetString();
      const auto known =
          std::ranges::find(node.cards, uuid, &std::pair<std::string, std::string>::first);
      if (known != node.cards.end()) {
        known->second = text_of(card);
      } else {
        ASSERT_FALSE(partial) << "a card that is not known";
        node.cards.emplace_back(uuid, text_of(card));
      }
    }
  }
  void take_waiting(const Value& pods) {
    for (const Value& pod : pods.GetArray()) waiting[pod["uid"].GetString()] = text_of(pod);
  }
  void apply(const std::string& text) {
    const Document reported = parse(text);
    for (const Value& name : reported["gone"].GetArray()) nodes.erase(name.GetString());
    for (const Value& node : reported["nodes"].GetArray()) take_node(node);
    for (const Value& uid : reported["settled"].GetArray()) waiting.erase(uid.GetString());
    take_waiting(reported["waiting"]);
  }
  static Picture of(const PackingChanges::Reported& reported) {
    Picture picture;
    const Document all = parse(cluster::packing_json("x", reported.nodes, reported.waiting));
    for (const Value& node : all["nodes"].GetArray()) picture.take_node(node);
    picture.take_waiting(all["pending"]);
    return picture;
  }
};

kube::Pod waiting_pod(const std::string& name) {
  kube::Pod pod;
  pod.uid = name;
  pod.ns = "ml";
  pod.name = name;
  return pod;
}

void put_node(Rig& rig, const std::string& name, int cards, std::int64_t mib = 81'920) {
  std::vector<model::Card> all;
  for (int i = 0; i < cards; ++i) {
    all.push_back(testing::card(name + "-" + std::to_string(i), "A100", Mebibytes(mib)));
  }
  rig.ledger.apply(
      [&](model::Ledger& ledger) { ledger.put_node(testing::inventory(name, std::move(all))); });
}

class PackingChangesTest : public ::testing::Test {
 protected:
  PackingChangesTest() {
    put_node("a", 2);
    put_node("b", 1);
    changes_.catch_up(*rig_.ledger.snapshot(), rig_.table);
  }
  void put_node(const std::string& name, int cards, std::int64_t mib = 81'920) {
    extender::put_node(rig_, name, cards, mib);
  }
  void remove_node(const std::string& name) {
    rig_.ledger.apply([&](model::Ledger& ledger) { ledger.remove_node(name); });
  }
  void bind(const std::string& uid, const std::string& node, const std::string& card) {
    rig_.ledger.apply([&](model::Ledger& ledger) {
      ledger.observe(testing::allocation(uid, node, {testing::granted(card, 1'024, 100)}));
    });
  }
  void end(const std::string& uid) {
    rig_.ledger.apply([&](model::Ledger& ledger) { ledger.release(uid); });
  }
  std::string next() { return changes_.next(*rig_.ledger.snapshot(), rig_.table); }
  Document reported() {
    const std::string text = next();
    EXPECT_NE(text, "");
    return parse(text);
  }

  Rig rig_;
  PackingChanges changes_;
};

TEST_F(PackingChangesTest, SayNothingWhereNothingChanged) { EXPECT_EQ(next(), ""); }

TEST_F(PackingChangesTest, TellOnlyTheCardThatChanged) {
  bind("p", "a", "a-1");
  const Document text = reported();
  ASSERT_EQ(text["nodes"].Size(), 1U);
  const Value& node = text["nodes"][0];
  EXPECT_STREQ(node["name"].GetString(), "a");
  EXPECT_TRUE(node["partial"].GetBool());
  EXPECT_EQ(node["pods"].GetInt(), 1);
  ASSERT_EQ(node["cards"].Size(), 1U);
  EXPECT_STREQ(node["cards"][0]["uuid"].GetString(), "a-1");
  EXPECT_EQ(node["cards"][0]["pods"].Size(), 1U);
  EXPECT_EQ(next(), "");
  end("p");
  EXPECT_EQ(reported()["nodes"][0]["cards"][0]["pods"].Size(), 0U);
}

TEST_F(PackingChangesTest, TellWhatCameAndWentAsItIsNow) {
  bind("p", "a", "a-0");
  bind("q", "a", "a-0");
  end("p");
  const Document text = reported();
  ASSERT_EQ(text["nodes"][0]["cards"].Size(), 1U);
  EXPECT_STREQ(text["nodes"][0]["cards"][0]["pods"][0]["uid"].GetString(), "q");
}

TEST_F(PackingChangesTest, TellAPodThatTakesTheExactPlaceOfAnother) {
  bind("p", "a", "a-0");
  (void)next();
  end("p");
  bind("q", "a", "a-0");
  EXPECT_STREQ(reported()["nodes"][0]["cards"][0]["pods"][0]["uid"].GetString(), "q");
}

TEST_F(PackingChangesTest, SayNothingOfRoomThatIsMerelyHeld) {
  const auto hold = [&](model::Ledger& ledger) {
    auto allocation = testing::allocation("p", "a", {testing::granted("a-0", 1'024, 100)});
    return ledger.reserve(std::move(allocation), std::chrono::seconds(5));
  };
  ASSERT_TRUE(rig_.ledger.apply(hold));
  EXPECT_EQ(next(), "");
  rig_.ledger.apply([](model::Ledger& ledger) { ledger.release_reservation("p"); });
  EXPECT_EQ(next(), "");
}

TEST_F(PackingChangesTest, TellAPodWithoutCardsByItsNodeAlone) {
  rig_.ledger.apply([](model::Ledger& ledger) {
    auto allocation = testing::allocation("cpu", "a", {});
    allocation.footprint.cpu = MilliCpu(1'000);
    ledger.observe(std::move(allocation));
  });
  const Document text = reported();
  EXPECT_EQ(text["nodes"][0]["cards"].Size(), 0U);
  EXPECT_EQ(text["nodes"][0]["freeCpuMilli"].GetInt(), 63'000);
}

TEST_F(PackingChangesTest, TellNodesThatComeChangeAndGo) {
  put_node("c", 1);
  put_node("b", 1, 40'960);
  const Document text = reported();
  ASSERT_EQ(text["nodes"].Size(), 2U);
  for (const Value& node : text["nodes"].GetArray()) EXPECT_FALSE(node.HasMember("partial"));
  remove_node("c");
  const Document later = reported();
  EXPECT_EQ(later["nodes"].Size(), 0U);
  ASSERT_EQ(later["gone"].Size(), 1U);
  EXPECT_STREQ(later["gone"][0].GetString(), "c");
}

TEST_F(PackingChangesTest, TellANodeThatLeftButStillHoldsPods) {
  bind("p", "a", "a-0");
  (void)next();
  remove_node("a");
  const Document text = reported();
  EXPECT_EQ(text["gone"].Size(), 0U);
  EXPECT_FALSE(text["nodes"][0]["present"].GetBool());
  EXPECT_EQ(text["nodes"][0]["strayGrants"].GetInt(), 1);
}

TEST_F(PackingChangesTest, TellWhoBeginsAndWhoCeasesToWait) {
  testing::put_pending(rig_.table, waiting_pod("p"));
  const Document text = reported();
  ASSERT_EQ(text["waiting"].Size(), 1U);
  EXPECT_STREQ(text["waiting"][0]["name"].GetString(), "p");
  EXPECT_EQ(next(), "");
  rig_.table.erase("p");
  const Document later = reported();
  EXPECT_STREQ(later["settled"][0].GetString(), "p");
  EXPECT_EQ(later["waiting"].Size(), 0U);
}

TEST_F(PackingChangesTest, LeaveWhatIsTooMuchForTheNextTexts) {
  PackingChanges few(1'000);  // a node takes some 500 bytes
  few.catch_up(*rig_.ledger.snapshot(), rig_.table);
  for (int i = 0; i < 20; ++i) put_node("n" + std::to_string(i), 1);
  std::set<std::string> seen;
  int texts = 0;
  for (std::string text = few.next(*rig_.ledger.snapshot(), rig_.table); !text.empty();
       text = few.next(*rig_.ledger.snapshot(), rig_.table)) {
    ++texts;
    EXPECT_LT(text.size(), 2'500U);
    const Document document = parse(text);
    for (const Value& node : document["nodes"].GetArray()) {
      EXPECT_TRUE(seen.insert(node["name"].GetString()).second) << "reported twice";
    }
  }
  EXPECT_EQ(seen.size(), 20U);
  EXPECT_GE(texts, 5);
}

TEST_F(PackingChangesTest, StarveNobodyWhereOneNodeAlwaysChanges) {
  PackingChanges few(100);  // one node in a text
  few.catch_up(*rig_.ledger.snapshot(), rig_.table);
  bind("p", "b", "b-0");
  std::set<std::string> seen;
  for (int i = 0; i < 4; ++i) {
    bind("q" + std::to_string(i), "a", "a-0");
    const Document text = parse(few.next(*rig_.ledger.snapshot(), rig_.table));
    for (const Value& node : text["nodes"].GetArray()) seen.insert(node["name"].GetString());
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST_F(PackingChangesTest, LeaveManyWaitingPodsForTheNextText) {
  const auto pods = PackingChanges::kWaitingPods + 5;
  for (std::size_t i = 0; i < pods; ++i)
    testing::put_pending(rig_.table, waiting_pod("p" + std::to_string(i)));
  EXPECT_EQ(reported()["waiting"].Size(), PackingChanges::kWaitingPods);
  EXPECT_EQ(reported()["waiting"].Size(), 5U);
  EXPECT_EQ(next(), "");
}

/// A cluster of few nodes and pods, whose nodes change, leave and return, and whose pods come and
/// end.
class RandomCluster {
 public:
  explicit RandomCluster(std::uint64_t seed) : random(seed) {}

  void change() {
    const std::string node = "n" + std::to_string(random.below(6));
    const std::string uid = "p" + std::to_string(random.below(12));
    switch (random.below(7)) {
      case 0:
        return put_node(rig, node, static_cast<int>(random.below(4)));
      case 1:
        return rig.ledger.apply([&](model::Ledger& ledger) { ledger.remove_node(node); });
      case 2:
        return testing::put_pending(rig.table, waiting_pod(uid));
      case 3:
        rig.table.erase(uid);
        rig.ledger.apply([&](model::Ledger& ledger) { ledger.release(uid); });
        return;
      default:
        return bind(uid, node);
    }
  }
  void change(std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) change();
  }

  testing::Random random;
  Rig rig;

 private:
  void bind(const std::string& uid, const std::string& node) {
    const std::string card = node + "-" + std::to_string(random.below(3));
    const auto granted = testing::granted(card, random.between(1, 50), 10);
    rig.ledger.apply(
        [&](model::Ledger& ledger) { ledger.observe(testing::allocation(uid, node, {granted})); });
  }
};

/// Applies all that is left to report.
void apply_rest(PackingChanges& changes, const Rig& rig, Picture& picture) {
  for (std::string text = changes.next(*rig.ledger.snapshot(), rig.table); !text.empty();
       text = changes.next(*rig.ledger.snapshot(), rig.table)) {
    picture.apply(text);
  }
}

/// Whatever happens, and however much goes into a text: who reads them all sees what was reported.
TEST(PackingChangesPropertyTest, ReadersSeeWhatWasTold) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (unsigned run = 0; run < 20; ++run) {
    RandomCluster cluster(seed + run);
    const Rig& rig = cluster.rig;
    PackingChanges changes(static_cast<std::size_t>(100 + cluster.random.below(3'000)));
    cluster.change(20);
    changes.catch_up(*rig.ledger.snapshot(), rig.table);
    Picture picture = Picture::of(changes.reported());
    for (int i = 0; i < 60; ++i) {
      cluster.change(cluster.random.below(5));
      const std::string text = changes.next(*rig.ledger.snapshot(), rig.table);
      if (!text.empty()) picture.apply(text);
      ASSERT_EQ(picture, Picture::of(changes.reported())) << "run " << run << ", text " << i;
    }
    apply_rest(changes, rig, picture);
    changes.catch_up(*rig.ledger.snapshot(), rig.table);
    ASSERT_EQ(picture, Picture::of(changes.reported())) << "run " << run;
  }
}

}  // namespace
}  // namespace tangram::extender
