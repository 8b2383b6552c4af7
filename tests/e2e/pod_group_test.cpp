// PodGroups of Kubernetes with the gate GenericWorkload: all members get their cards, or none.

#include "tests/e2e/api_proxy.hpp"
#include "tests/e2e/fixture.hpp"

#include <algorithm>
#include <map>

namespace tangram::e2e {
namespace {

using Names = std::vector<std::string>;

struct Release {
  const char* api;                 ///< of its PodGroups
  std::vector<std::string> gates;  ///< of kube-scheduler
};

/// Of the API server that runs; nothing = one without PodGroups.
std::optional<Release> release(kube::KubeApi& api) {
  const std::vector<Release> known = {
      {"scheduling.k8s.io/v1beta1", {"GenericWorkload=true"}},
      {"scheduling.k8s.io/v1alpha2", {"GenericWorkload=true", "GangScheduling=true"}}};
  for (const Release& one : known) {
    kube::Request request;
    request.path = std::string("/apis/") + one.api + "/podgroups";
    const auto response = api.call(request);
    if (response && response->status == 200) return one;
  }
  return std::nullopt;
}

/// A group as the watch shows its members.
struct GroupNow {
  int present = 0;
  int bound = 0;
};

class PodGroupTest : public E2eTest {
 protected:
  void SetUp() override {
    release_ = release(*api_);
    if (!release_) GTEST_SKIP() << "this Kubernetes has no PodGroups";
    remove_groups();
  }
  ~PodGroupTest() override {
    if (release_) remove_groups();
  }

  [[nodiscard]] std::string groups_path() const {
    return std::string("/apis/") + release_->api + "/namespaces/default/podgroups";
  }
  void remove_groups() { cluster_.remove(groups_path()); }

  void start(const std::vector<NodeSpec>& nodes) {
    cluster_.add_nodes(nodes);
    extender_.start_ready();
    start_scheduler_anew();
  }
  void start_scheduler_anew() {
    scheduler_.reset();
    scheduler_.emplace(
        start_scheduler({.extender_url = extender_.url(), .feature_gates = release_->gates}));
  }

  /// A gang of which all members must run.
  void add_group(const std::string& name, int members, const std::string& fraction) {
    add_group(name, members, members, fraction);
  }
  void add_group(const std::string& name, int members, int min_count, const std::string& fraction) {
    cluster_.create(groups_path(), std::string(R"({"apiVersion":")") + release_->api +
                                       R"(","kind":"PodGroup","metadata":{"name":")" + name +
                                       R"("},"spec":{"schedulingPolicy":{"gang":{"minCount":)" +
                                       std::to_string(min_count) + "}}}}");
    std::vector<PodSpec> pods;
    for (int i = 0; i < members; ++i) {
      PodSpec pod = fraction_pod(member(name, i), fraction);
      pod.group = name;
      pods.push_back(std::move(pod));
    }
    cluster_.add_pods(pods);
  }
  static std::string member(const std::string& group, int number) {
    return group + "-" + std::to_string(number);
  }
  /// "g-7" -> "g"
  static std::string group_of(const std::string& pod) { return pod.substr(0, pod.rfind('-')); }

  static std::map<std::string, GroupNow> groups_in(const SeenPods& pods) {
    std::map<std::string, GroupNow> groups;
    for (const auto& [uid, pod] : pods) {
      if (pod.deleted || pod.deleting) continue;
      GroupNow& group = groups[group_of(pod.name)];
      ++group.present;
      if (!pod.node.empty()) ++group.bound;
    }
    return groups;
  }
  static auto all_bound(const std::string& group, int members) {
    return [=](const SeenPods& pods) { return groups_in(pods)[group].bound == members; };
  }

  std::optional<Release> release_;
  PodWatcher watcher_{*api_};
  ApiProxy proxy_{"pod-groups"};
  ExtenderProcess extender_{{.kubeconfig = proxy_.kubeconfig()}};
  std::optional<Process> scheduler_;
};

TEST_F(PodGroupTest, AllMembersGetTheirCardsOrNone) {
  start({node_with_cards("one", 4), node_with_cards("two", 4)});
  add_group("fits", 8, "1");
  ASSERT_TRUE(watcher_.wait(all_bound("fits", 8), 30s));
  expect_books_right_soon(extender_);

  add_group("waits", 2, "0.5");
  EXPECT_FALSE(
      watcher_.wait([](const SeenPods& pods) { return groups_in(pods)["waits"].bound > 0; }, 3s));
  const std::string explained = extender_.get("/api/v1/explain?namespace=default&pod=waits-0");
  EXPECT_NE(explained.find(R"("lacking")"), std::string::npos) << explained;
  cluster_.delete_pod("fits-3");
  ASSERT_TRUE(watcher_.wait(all_bound("waits", 2), 30s));
  expect_books_right_soon(extender_);
}

TEST_F(PodGroupTest, MembersBeyondTheMinimumFollowWhenThereIsRoom) {
  start({node_with_cards("one", 4)});
  add_group("elastic", 6, 3, "1");
  ASSERT_TRUE(watcher_.wait(all_bound("elastic", 4), 30s));
  expect_books_right_soon(extender_);
  cluster_.add_nodes({node_with_cards("two", 4)});
  ASSERT_TRUE(watcher_.wait(all_bound("elastic", 6), 60s));
  expect_books_right_soon(extender_);
}

/// A member lacks CPU, of which Tangram is not asked.
TEST_F(PodGroupTest, AGroupThatFailsForAnotherReasonKeepsNoRoomFromOthers) {
  start({node_with_cards("one", 4)});
  cluster_.create(groups_path(), std::string(R"({"apiVersion":")") + release_->api +
                                     R"(","kind":"PodGroup","metadata":{"name":"hopeless"},"spec":)"
                                     R"({"schedulingPolicy":{"gang":{"minCount":5}}}})");
  std::vector<PodSpec> members;
  for (int i = 0; i < 5; ++i) {
    PodSpec pod = fraction_pod(member("hopeless", i), "1");
    pod.group = "hopeless";
    if (i == 4) pod.requests = {{"cpu", "100000"}};
    members.push_back(std::move(pod));
  }
  cluster_.add_pods(members);
  ASSERT_TRUE(watcher_.wait(
      [](const SeenPods& pods) { return groups_in(pods)["hopeless"].present == 5; }, 10s));
  const auto begin = TimePoint::clock::now();
  add_group("real", 4, "1");
  ASSERT_TRUE(watcher_.wait(all_bound("real", 4), 30s));
  Figures("pod_group")
      .add("group_beside_a_hopeless_one_s", seconds_between(begin, TimePoint::clock::now()));
  expect_books_right_soon(extender_);
}

TEST_F(PodGroupTest, AGroupThatDoesNotFitKeepsNoRoomFromOthers) {
  start({node_with_cards("one", 4)});
  add_group("large", 5, "1");
  ASSERT_TRUE(watcher_.wait(
      [](const SeenPods& pods) { return groups_in(pods)["large"].present == 5; }, 10s));
  const auto begin = TimePoint::clock::now();
  cluster_.add_pods({fraction_pod("single-0", "1"), fraction_pod("single-1", "1"),
                     fraction_pod("single-2", "1"), fraction_pod("single-3", "1")});
  const auto singles_bound = [](const SeenPods& pods) {
    return groups_in(pods)["single"].bound == 4;
  };
  ASSERT_TRUE(watcher_.wait(singles_bound, 20s));
  Figures("pod_group")
      .add("singles_beside_a_waiting_group_s", seconds_between(begin, TimePoint::clock::now()));
  EXPECT_EQ(groups_in(watcher_.pods())["large"].bound, 0);
  expect_books_right_soon(extender_);
}

TEST_F(PodGroupTest, TwoGroupsThatFitOneAtATimeRunOneAfterTheOther) {
  start({node_with_cards("one", 4), node_with_cards("two", 4)});
  add_group("left", 6, "1");
  add_group("right", 6, "1");
  const auto whole = [](const SeenPods& pods) {
    auto groups = groups_in(pods);
    return groups["left"].bound == 6 || groups["right"].bound == 6;
  };
  ASSERT_TRUE(watcher_.wait(whole, 30s));
  auto groups = groups_in(watcher_.pods());
  const bool left_first = groups["left"].bound == 6;
  const std::string first = left_first ? "left" : "right";
  const std::string second = left_first ? "right" : "left";
  EXPECT_EQ(groups[second].bound, 0);
  in_parallel(6, [&](int i) { cluster_.delete_pod(member(first, i)); });
  ASSERT_TRUE(watcher_.wait(all_bound(second, 6), 30s));
  expect_books_right_soon(extender_);
}

/// Groups of 2 to 64 and single pods on a full cluster, while scheduler, extender and API server
/// are killed. A group ends once all its members run; a single pod once it runs.
class PodGroupLoadTest : public PodGroupTest {
 protected:
  static constexpr int kLargest = 64;

  /// Many small ones, and some of the largest.
  int size_of(int number) {
    constexpr std::array kSizes{2, 4, 2, 8, 3, 16, 2, 4, 32, 6, 2, 12, 4, 8, 2, kLargest};
    return kSizes.at(static_cast<std::size_t>(number) % kSizes.size());
  }

  struct Life {
    TimePoint made;
    std::optional<TimePoint> first;  ///< member bound
    std::optional<TimePoint> whole;
    int members = 0;
    bool ended = false;
  };

  /// Ends what runs, and adds singles up to so many. @returns the groups that are whole
  int turn_over(std::map<std::string, Life>& lives, int singles) {
    const SeenPods pods = watcher_.pods();
    Names ending;
    const int whole = end_groups(lives, groups_in(pods), ending);
    const int present = end_others(lives, pods, ending);
    try {
      in_parallel(static_cast<int>(ending.size()),
                  [&](int i) { cluster_.delete_pod(ending[static_cast<std::size_t>(i)]); });
      std::vector<PodSpec> more;
      for (int i = present; i < singles; ++i) {
        more.push_back(fraction_pod("single-" + std::to_string(singles_made_++), "0.5"));
      }
      cluster_.add_pods(more);
    } catch (const std::runtime_error&) {
      // The API server is away: another time.
    }
    return whole;
  }

  /// Adds the members of groups that have run for a while. @returns the groups that are whole
  int end_groups(std::map<std::string, Life>& lives, std::map<std::string, GroupNow> groups,
                 Names& ending) {
    const auto now = TimePoint::clock::now();
    int whole = 0;
    for (auto& [name, life] : lives) {
      const GroupNow& group = groups[name];
      if (group.bound > 0 && !life.first) life.first = now;
      if (group.bound == life.members && !life.whole) life.whole = now;
      if (!life.whole) continue;
      ++whole;
      if (life.ended || now - *life.whole < 500ms) continue;
      life.ended = true;
      for (int i = 0; i < life.members; ++i) ending.push_back(member(name, i));
    }
    return whole;
  }

  /// Adds singles that have run for a while, and members of groups that were made by half.
  /// @returns how many singles there are
  int end_others(const std::map<std::string, Life>& lives, const SeenPods& pods, Names& ending) {
    const auto now = TimePoint::clock::now();
    int singles = 0;
    for (const auto& [uid, pod] : pods) {
      if (pod.deleted || pod.deleting) continue;
      const bool single = pod.name.starts_with("single-");
      if (single) ++singles;
      const bool has_run = single && !pod.node.empty() && now - pod.bound > 1s;
      const bool by_half = !single && !lives.contains(group_of(pod.name));
      if (has_run || by_half) ending.push_back(pod.name);
    }
    return singles;
  }

  /// The API server may be away for a part of it.
  void try_to_add(std::map<std::string, Life>& lives) {
    const std::string name = "group" + std::to_string(names_++);
    const int members = size_of(static_cast<int>(lives.size()));
    try {
      add_group(name, members, "0.5");
      lives[name] = {.made = TimePoint::clock::now(), .first = {}, .whole = {}, .members = members};
    } catch (const std::runtime_error&) {}
  }

  void kill_one(int number) {
    switch (number % 3) {
      case 0:
        scheduler_->kill();
        return start_scheduler_anew();
      case 1:
        extender_.kill();
        return extender_.start_ready();
      default:
        control("restart-apiserver", [this] { pause(50ms); });
    }
  }
  /// While programs run: no event says that enough has happened.
  void pause(std::chrono::milliseconds time) {
    watcher_.wait([](const SeenPods&) { return false; }, time);
  }

  struct Outcome {
    int kills = 0;
    double seconds = 0;
    Names never;  ///< groups of which not all members got a node
    std::vector<double> waits;
    std::vector<double> partly;  ///< from the first member's node to the last one's
  };
  /// @param between_kills  nothing = nobody is killed
  Outcome run(int groups, std::optional<std::chrono::milliseconds> between_kills,
              std::chrono::seconds limit) {
    constexpr std::size_t kAtOnce = 8;  // more than fit at a time
    constexpr int kSingles = 60;
    std::map<std::string, Life> lives;
    Outcome outcome;
    int whole = 0;
    const auto begin = TimePoint::clock::now();
    auto last_kill = begin;
    while (whole < groups && TimePoint::clock::now() < begin + limit) {
      const auto unfinished = lives.size() - static_cast<std::size_t>(whole);
      for (std::size_t i = unfinished; i < kAtOnce && std::ssize(lives) < groups; ++i) {
        try_to_add(lives);
      }
      whole = turn_over(lives, kSingles);
      if (between_kills && TimePoint::clock::now() - last_kill >= *between_kills) {
        kill_one(outcome.kills++);
        last_kill = TimePoint::clock::now();
      }
      pause(100ms);
    }
    outcome.seconds = seconds_between(begin, TimePoint::clock::now());
    for (const auto& [name, life] : lives) {
      if (!life.whole) {
        outcome.never.push_back(name);
        continue;
      }
      outcome.waits.push_back(seconds_between(life.made, *life.whole));
      outcome.partly.push_back(seconds_between(*life.first, *life.whole));
    }
    return outcome;
  }

  static void report(std::string_view name, const Outcome& outcome) {
    Figures(name)
        .add("groups", static_cast<int>(outcome.waits.size()))
        .add("kills", outcome.kills)
        .add("seconds", outcome.seconds)
        .spread("wait_s", outcome.waits)
        .spread("partly_bound_s", outcome.partly);
  }

  /// 96 cards: three of the largest groups.
  void start_large() {
    std::vector<NodeSpec> nodes;
    for (int i = 0; i < 12; ++i) nodes.push_back(node_with_cards("node-" + std::to_string(i), 8));
    start(nodes);
  }

  int names_ = 0;
  int singles_made_ = 0;
};

/// In seconds. A group whose members were refused would wait for the timeout of kube-scheduler, 5
/// minutes.
constexpr double kLongestPart = 60;

TEST_F(PodGroupLoadTest, NoGroupIsBoundInPart) {
  start_large();
  const Outcome outcome = run(sized(60, 20), std::nullopt, sized(10min, 3min));
  report("pod_groups", outcome);
  EXPECT_THAT(outcome.never, ::testing::IsEmpty());
  // How long the API server takes for the members of a group depends on the machine; none must be
  // refused.
  EXPECT_LT(*std::ranges::max_element(outcome.partly), kLongestPart);
  EXPECT_EQ(extender_.metric("tangram_binds_total", "no_room"), 0);
  expect_books_right_soon(extender_);
}

TEST_F(PodGroupLoadTest, NoneStarvesWhileProgramsAreKilled) {
  start_large();
  const Outcome outcome = run(sized(200, 24), sized(4'000ms, 1'000ms), sized(25min, 4min));
  EXPECT_GE(outcome.kills, 3) << "one of each program";
  report("pod_groups_under_kills", outcome);
  EXPECT_THAT(outcome.never, ::testing::IsEmpty());
  EXPECT_LT(*std::ranges::max_element(outcome.partly), kLongestPart);
  expect_books_right_soon(extender_);
}

/// On an empty cluster, beside the same scheduler without an extender.
TEST_F(PodGroupLoadTest, TimeToBindAGroup) {
  start_large();
  const auto measure = [&](int members) {
    std::vector<double> times;
    for (int i = 0; i < sized(7, 3); ++i) {
      const std::string name = "timed" + std::to_string(names_++);
      const auto begin = TimePoint::clock::now();
      add_group(name, members, "0.5");
      EXPECT_TRUE(watcher_.wait(all_bound(name, members), 30s)) << name;
      times.push_back(seconds_between(begin, TimePoint::clock::now()));
      in_parallel(members,
                  [&](int member_number) { cluster_.delete_pod(member(name, member_number)); });
    }
    return times;
  };
  for (const int members : {4, 16, kLargest}) {
    const auto with = measure(members);
    scheduler_.reset();
    scheduler_.emplace(start_scheduler({.feature_gates = release_->gates}));
    const auto without = measure(members);
    start_scheduler_anew();
    Figures("time_to_bind_a_group")
        .add("members", members)
        .spread("with_tangram_s", with)
        .spread("without_extender_s", without);
  }
}

}  // namespace
}  // namespace tangram::e2e
