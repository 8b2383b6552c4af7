#include "config/config.hpp"
#include "tests/config/values.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::config {
namespace {

constexpr const char* kFile = "kube: {source: in-cluster}\nbind: {workers: 4}\n";

TEST(OverrideTest, ReplacesTheValueOfTheFileAndNothingElse) {
  const auto loaded = load_config(kFile, "t.yaml", {"bind.workers=9"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  Config expected;
  expected.bind.workers = 9;
  EXPECT_EQ(values_of(*loaded), values_of(expected));
}

TEST(OverrideTest, TheLastOfTwoCounts) {
  const auto loaded = load_config(kFile, "t.yaml", {"bind.workers=9", "bind.workers=10"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->bind.workers, 10);
}

TEST(OverrideTest, GivesARequiredValueThatTheFileLacks) {
  const auto loaded =
      load_config("", "t.yaml", {"kube.source=local", "kube.cluster_file=a=b.yaml"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->kube.source, KubeSource::kLocal);
  EXPECT_EQ(loaded->kube.cluster_file, "a=b.yaml") << "only the first = separates";
}

TEST(OverrideTest, DoesNotHideAMistakeOfTheFile) {
  const auto loaded =
      load_config("kube: {source: in-cluster}\nlog: {level: x}\n", "t.yaml", {"log.level=info"});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message,
            "t.yaml:2:14: log.level: \"x\" is not allowed; write debug, info, warn or error");
}

struct Refusal {
  std::string name;
  std::string assignment;
  std::string message;
};

void PrintTo(const Refusal& row, std::ostream* out) { *out << row.name; }

class OverrideRefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(OverrideRefusalTest, GetsTheSameChecksAsTheFile) {
  const Refusal& row = GetParam();
  const auto loaded = load_config(kFile, "t.yaml", {row.assignment});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Errc::kInvalidArgument);
  EXPECT_EQ(loaded.error().message, row.message);
}

const std::vector<Refusal> kRefusals{
    {.name = "OutOfBounds",
     .assignment = "bind.workers=0",
     .message = "--set bind.workers: 0 is below 1 (without one nothing is bound); write a whole "
                "number in 1..256"},
    {.name = "NotANumber",
     .assignment = "bind.workers= 8",
     .message = "--set bind.workers: \" 8\" is not a whole number; write a whole number in 1..256"},
    {.name = "Misspelt",
     .assignment = "bind.worker=8",
     .message = "--set bind.worker: section bind has no key \"worker\"; did you mean workers?"},
    {.name = "NoSuchSection",
     .assignment = "logs.level=info",
     .message = "--set logs.level: there is no section \"logs\"; did you mean log?"},
    {.name = "NoValue",
     .assignment = "bind.workers",
     .message = "--set bind.workers: is not an assignment; write section.key=value, as in "
                "log.level=debug"},
    {.name = "NoSection",
     .assignment = "workers=8",
     .message = "--set workers: is not an assignment; write section.key=value, as in "
                "log.level=debug"},
    {.name = "Contradiction",
     .assignment = "bind.timeout_ms=30000",
     .message = "--set bind.timeout_ms: bind.timeout_ms is not below server.request_timeout_s, "
                "30000 ms: binds would be cut off before their answer; write less, or raise "
                "server.request_timeout_s\n"
                "--set bind.timeout_ms: bind.timeout_ms is above server.drain_timeout_s, 20000 ms: "
                "a restart would cut off binds in flight; write less, or raise "
                "server.drain_timeout_s\n"
                "--set bind.timeout_ms: bind.timeout_ms is not below "
                "leader_election.lease_duration_s less 1.2 x retry_period_ms, 12600 ms: a leader "
                "sends no bind that its Lease may not outlive, so it could send none; write less, "
                "or raise leader_election.lease_duration_s"},
};

const auto kRowName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Assignments, OverrideRefusalTest, testing::ValuesIn(kRefusals), kRowName);

}  // namespace
}  // namespace tangram::config
