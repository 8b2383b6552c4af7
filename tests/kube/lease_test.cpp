#include "kube/lease.hpp"

#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/odd_fields.hpp"

#include <gtest/gtest.h>

namespace tangram::kube {
namespace {

using std::chrono::seconds;
using testing::json_at;

constexpr seconds kOtherwise{15};

LeaseRecord held_by(std::string holder) {
  LeaseRecord record;
  record.holder = std::move(holder);
  record.duration = seconds(15);
  record.renew_time = "2026-01-01T00:00:00.000000Z";
  record.acquire_time = "2025-12-31T00:00:00.000000Z";
  record.transitions = 4;
  return record;
}

TEST(LeaseTest, ReadsWhatItWrote) {
  const LeaseRecord record = held_by("a");
  const std::string text = new_lease("ml", "leader", record);
  EXPECT_EQ(json_at(text, "kind"), "Lease");
  EXPECT_EQ(json_at(text, "metadata.namespace"), "ml");
  EXPECT_EQ(json_at(text, "metadata.name"), "leader");
  const auto read = read_lease(text);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, record);
}

TEST(LeaseTest, ReadsALeaseThatSaysLittle) {
  for (const char* text :
       {R"({"kind":"Lease","metadata":{"name":"l"}})", R"({"kind":"Lease","spec":{}})",
        R"({"kind":"Lease","spec":{"holderIdentity":null,"leaseTransitions":null}})"}) {
    const auto read = read_lease(text);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(*read, LeaseRecord{}) << text;
  }
}

TEST(LeaseTest, PassesOverManagedFields) {
  const std::string text = testing::with_odd_fields(new_lease("ml", "leader", held_by("a")));
  const auto read = read_lease(text);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, held_by("a"));
  const auto changed = with_record(text, held_by("b"));
  ASSERT_TRUE(changed.has_value()) << changed.error().message;
  EXPECT_EQ(*read_lease(*changed), held_by("b"));
  EXPECT_EQ(json_at(*changed, "metadata.name"), "leader");
  EXPECT_EQ(json_at(*changed, "metadata.managedFields"), "<none>");
}

TEST(LeaseTest, RefusesWhatIsNone) {
  for (const char* text :
       {"[]", "{", R"({"kind":"Status"})", R"({"kind":"Lease","spec":{"holderIdentity":5}})",
        R"({"kind":"Lease","spec":{"leaseDurationSeconds":99999999999}})",
        R"({"kind":"Lease","spec":{"leaseTransitions":-1}})"}) {
    EXPECT_FALSE(read_lease(text).has_value()) << text;
  }
}

TEST(LeaseTest, ChangesTheRecordAndNothingElse) {
  const auto text = with_record(
      R"({"kind":"Lease","metadata":{"name":"l","resourceVersion":"7","labels":{"x":"1"}},)"
      R"("spec":{"holderIdentity":"b","strategy":"OldestEmulationVersion"}})",
      held_by("a"));
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(json_at(*text, "metadata"), R"({"name":"l","resourceVersion":"7","labels":{"x":"1"}})");
  EXPECT_EQ(json_at(*text, "spec.strategy"), "OldestEmulationVersion");
  EXPECT_EQ(*read_lease(*text), held_by("a"));
}

TEST(LeaseTest, AgeBeginsAnewOnlyWithAChange) {
  const TimePoint start{};
  const auto first = sighted({}, held_by("a"), start);
  const auto same = sighted(first, held_by("a"), start + seconds(9));
  EXPECT_EQ(same.since, start);
  LeaseRecord renewed = held_by("a");
  renewed.renew_time = "2020-01-01T00:00:00.000000Z";  // older by its clock, and still a change
  EXPECT_EQ(sighted(same, renewed, start + seconds(9)).since, start + seconds(9));
}

TEST(LeaseTest, WaitsForAHolderAsLongAsItSaid) {
  const TimePoint start{};
  LeaseSighting seen{held_by("a"), start};
  const auto move_at = [&](seconds age) { return next_move(seen, "b", kOtherwise, start + age); };
  EXPECT_EQ(move_at(seconds(14)), LeaseMove::kWait);
  EXPECT_EQ(move_at(seconds(15)), LeaseMove::kTakeOver);
  seen.record.duration = seconds(60);
  EXPECT_EQ(move_at(seconds(59)), LeaseMove::kWait);
  EXPECT_EQ(move_at(seconds(60)), LeaseMove::kTakeOver);
  seen.record.duration.reset();
  EXPECT_EQ(move_at(seconds(14)), LeaseMove::kWait);
  EXPECT_EQ(move_at(seconds(15)), LeaseMove::kTakeOver);
  seen.record.holder.clear();
  EXPECT_EQ(move_at(seconds(0)), LeaseMove::kTakeOver);
  seen.record.holder = "b";
  EXPECT_EQ(move_at(seconds(99)), LeaseMove::kRenew);
}

TEST(LeaseTest, TakingOverCountsAndRenewingKeepsTheTimeOfAcquisition) {
  const testing::ManualClock clock;
  const LeaseRecord taken = claimed(held_by("a"), "b", seconds(20), clock.wall());
  EXPECT_EQ(taken.holder, "b");
  EXPECT_EQ(taken.duration, seconds(20));
  EXPECT_EQ(taken.transitions, 5);
  EXPECT_EQ(taken.acquire_time, "2026-01-01T00:00:00.000000Z");
  const LeaseRecord kept = claimed(taken, "b", seconds(20), clock.wall() + seconds(2));
  EXPECT_EQ(kept.transitions, 5);
  EXPECT_EQ(kept.acquire_time, taken.acquire_time);
  EXPECT_EQ(kept.renew_time, "2026-01-01T00:00:02.000000Z");
}

TEST(LeaseTest, TransitionsStopAtWhatTheServerTakes) {
  LeaseRecord record = held_by("a");
  record.transitions = 2'147'483'647;
  const LeaseRecord taken = claimed(record, "b", seconds(20), testing::ManualClock().wall());
  EXPECT_EQ(taken.transitions, 2'147'483'647);
  EXPECT_TRUE(read_lease(new_lease("ml", "leader", taken)));
}

TEST(LeaseTest, GivenBackItIsNobodysForASecond) {
  const testing::ManualClock clock;
  const LeaseRecord record = given_back(held_by("a"), clock.wall());
  EXPECT_EQ(record.holder, "");
  EXPECT_EQ(record.duration, seconds(1));
  EXPECT_EQ(record.transitions, 4);
}

}  // namespace
}  // namespace tangram::kube
