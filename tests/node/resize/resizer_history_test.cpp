// Random histories of resizes by each means, with agents and machines that end at any moment.

#include "tests/node/resize/resize_rig.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tangram::node {
namespace {

struct Container {
  std::string pod;
  std::string means;
  std::int64_t pid;
  int revision = 0;
  bool runs = true;
  std::uint64_t used_mib = 0;
};

class ResizerHistoryTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  ResizerHistoryTest() {
    for (Container& each : containers) rig.run(each.pod, grant(each, 20'000), each.means);
    for (FakeLimiter* const limiter : {&rig.library(), &rig.driver()}) {
      limiter->before_change = [this] { take(any()); };
    }
  }
  static model::Grant grant(const Container& of, std::int64_t mib) {
    return ResizeRig::grant(of.pod, of.revision, {share(mib, 100)});
  }
  [[nodiscard]] static std::string name(const Container& of) { return of.pod + ".main"; }
  FakeLimiter& limiter(const Container& of) {
    return *rig.by(*model::parse_memory_limits(of.means));
  }
  Container& any() { return containers.at(static_cast<std::size_t>(random.below(3))); }

  void use(Container& of, std::uint64_t mib) {
    of.used_mib = mib;
    rig.processes.by_pid[of.pid] = "uid-" + of.pod;
    rig.processes.container_ids[of.pid] = "id-" + of.pod;
    rig.runtime.containers["id-" + of.pod] = {"uid-" + of.pod, "main"};
    rig.source.processes["GPU-1"][of.pid] = mib;
    limiter(of).counted[name(of) + " GPU-1"] = mib * kMiB;
  }
  /// As much as the limit in force lets it.
  void take(Container& of) {
    if (of.runs) use(of, static_cast<std::uint64_t>(random.between(0, rig.limit(name(of)))));
  }
  void end(Container& of) {
    of.runs = false;
    use(of, 0);
  }
  /// By the journal, as ContainerStarter does.
  void start(Container& of) {
    end(of);
    limiter(of).lost.erase(name(of) + " GPU-1");
    rig.start(of.pod, *model::decode_grant(rig.journal->find(name(of))->claim->grant), of.means);
    of.runs = true;
  }
  void resize(Container& of, std::int64_t mib) {
    ++of.revision;
    rig.annotate(of.pod, grant(of, mib));
  }
  /// Somebody deletes the folder that says what its limits are.
  void lose(Container& of) { limiter(of).lost.insert(name(of) + " GPU-1"); }
  void reboot() {
    for (Container& each : containers) {
      end(each);
      limiter(each).limits.clear();
    }
    rig.boot_id += "+";
    rig.boot();
  }
  void break_or_mend(Result<void>& verdict) {
    verdict = verdict ? fail(Errc::kUnavailable, "the driver does not answer") : Result<void>{};
  }
  void something() {
    switch (random.below(12)) {
      case 0:
        return resize(any(), random.between(1, 50'000));
      case 1:
        return take(any());
      case 2:
        return use(any(), 0);
      case 3:
        return end(any());
      case 4:
        return start(any());
      case 5:
        return break_or_mend(limiter(any()).verdict);
      case 6:
        return break_or_mend(limiter(any()).count_verdict);
      case 7:
        return rig.boot();
      case 8:
        return random.one_in(10) ? reboot() : rig.look();
      case 9:
        return random.one_in(5) ? lose(any()) : rig.look();
      default:
        return rig.look();
    }
  }
  void expect_held() {
    std::int64_t sum = 0;
    for (const Container& each : containers) {
      const std::int64_t recorded = rig.limit_in_journal(name(each));
      sum += recorded;
      EXPECT_LE(each.used_mib, static_cast<std::uint64_t>(recorded)) << each.pod;
      if (!each.runs) continue;
      EXPECT_LE(rig.limit(name(each)), recorded) << each.pod;
    }
    EXPECT_LE(sum, 81'920) << "the card";
  }

  testing::Random random{GetParam()};
  ResizeRig rig;
  std::vector<Container> containers{{.pod = "a", .means = "library", .pid = 1},
                                    {.pod = "b", .means = "driver", .pid = 2},
                                    {.pod = "c", .means = "driver", .pid = 3}};
};

TEST_P(ResizerHistoryTest, NobodyHasMoreThanIsRecordedAndAtTheEndAllHaveWhatTheyAskFor) {
  for (int step = 0; step < 400 && !HasFailure(); ++step) {
    something();
    expect_held();
  }
  for (FakeLimiter* const limiter : {&rig.library(), &rig.driver()}) {
    limiter->verdict = limiter->count_verdict = {};
    limiter->before_change = [] {};
  }
  for (Container& each : containers) {
    if (limiter(each).lost.contains(name(each) + " GPU-1")) start(each);
  }
  std::map<std::string, std::int64_t> asked;
  for (Container& each : containers) {
    use(each, 0);
    // No more than it has, for which there is room.
    asked[each.pod] = std::min<std::int64_t>(rig.limit_in_journal(name(each)), 1000);
    resize(each, asked[each.pod]);
  }
  for (int looks = 0; looks < 5; ++looks) rig.look();
  for (const Container& each : containers) {
    EXPECT_EQ(rig.answer(each.pod), (model::ResizeAnswer{each.revision, 0, {}})) << each.pod;
    EXPECT_EQ(rig.limit_in_journal(name(each)), asked[each.pod]);
    if (each.runs) {
      EXPECT_EQ(rig.limit(name(each)), asked[each.pod]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ResizerHistoryTest, ::testing::Range<std::uint64_t>(0, 40));

}  // namespace
}  // namespace tangram::node
