#include "kube/local/api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

namespace tangram::kube {
namespace {

using testing::json_at;

constexpr int kWriters = 4;
constexpr int kPodsEach = 25;
constexpr int kWatchers = 3;
constexpr int kWritesPerPod = 3;  // create, bind, delete

Request to_pod(Method method, const std::string& name, const std::string& rest, std::string body) {
  return testing::write_request(method, "/api/v1/namespaces/ml/pods" + name + rest,
                                std::move(body));
}

/// What a watcher saw: versions in order of arrival, and each pod's story.
struct Seen {
  std::vector<std::uint64_t> versions;
  std::map<std::string, std::string> stories;
};

Seen watch_everything(LocalApi& api) {
  Seen seen;
  const auto end = api.watch(
      testing::get_request("/api/v1/pods", {{"resourceVersion", "1"}, {"timeoutSeconds", "30"}}),
      [&](const std::string& frame) {
        seen.versions.push_back(std::stoull(json_at(frame, "object.metadata.resourceVersion")));
        seen.stories[json_at(frame, "object.metadata.name")] += json_at(frame, "type")[0];
        return seen.versions.size() < std::size_t{kWriters} * kPodsEach * kWritesPerPod;
      },
      std::stop_token());
  EXPECT_TRUE(end.has_value());
  return seen;
}

TEST(LocalApiConcurrencyTest, EveryWatcherSeesTheSameGaplessHistory) {
  testing::ManualClock clock;
  LocalApi api(clock);
  std::vector<Seen> seen(kWatchers);
  {
    std::vector<std::jthread> threads;
    for (Seen& mine : seen) threads.emplace_back([&] { mine = watch_everything(api); });
    for (int writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([&api, writer] {
        for (int i = 0; i < kPodsEach; ++i) {
          const std::string name = "p" + std::to_string(writer) + "-" + std::to_string(i);
          EXPECT_EQ(
              api.call(to_pod(Method::kPost, "", "", testing::pod_json({.name = name})))->status,
              201);
          EXPECT_EQ(api.call(to_pod(Method::kPost, "/" + name, "/binding",
                                    testing::binding_json(name, "", "n1")))
                        ->status,
                    201);
          EXPECT_EQ(api.call(to_pod(Method::kDelete, "/" + name, "", R"({"gracePeriodSeconds":0})"))
                        ->status,
                    200);
        }
      });
    }
  }
  // Versions count every write, so a gap would be a lost event.
  for (const Seen& mine : seen) {
    ASSERT_EQ(mine.versions.size(), std::size_t{kWriters} * kPodsEach * kWritesPerPod);
    for (std::size_t i = 0; i < mine.versions.size(); ++i) EXPECT_EQ(mine.versions[i], i + 2);
    EXPECT_EQ(mine.stories.size(), std::size_t{kWriters} * kPodsEach);
    for (const auto& [name, story] : mine.stories) EXPECT_EQ(story, "AMD") << name;
  }
}

TEST(LocalApiConcurrencyTest, OneOfManyBindingsWins) {
  testing::ManualClock clock;
  LocalApi api(clock);
  for (int round = 0; round < 50; ++round) {
    const std::string name = "p" + std::to_string(round);
    ASSERT_EQ(api.call(to_pod(Method::kPost, "", "", testing::pod_json({.name = name})))->status,
              201);
    std::atomic<int> bound{0};
    std::atomic<int> winner{-1};
    std::atomic<int> refused{0};
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kWriters; ++t) {
        threads.emplace_back([&, t] {
          const std::string node = "n" + std::to_string(t);
          const auto answer =
              api.call(to_pod(Method::kPost, "/" + name, "/binding",
                              testing::binding_json(name, "", node, {{"by", node}})));
          if (answer->status == 201) {
            ++bound;
            winner = t;
          } else if (answer->status == 409) {
            ++refused;
          }
        });
      }
    }
    ASSERT_EQ(bound, 1);
    ASSERT_EQ(refused, kWriters - 1);
    const std::string pod = api.call(to_pod(Method::kGet, "/" + name, "", ""))->body;
    EXPECT_EQ(json_at(pod, "spec.nodeName"), "n" + std::to_string(winner));
    EXPECT_EQ(json_at(pod, "metadata.annotations.by"), "n" + std::to_string(winner));
  }
}

TEST(LocalApiConcurrencyTest, PatchesOfDifferentKeysAllLast) {
  testing::ManualClock clock;
  LocalApi api(clock);
  ASSERT_EQ(api.call(to_pod(Method::kPost, "", "", testing::pod_json({.name = "p"})))->status, 201);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kWriters; ++t) {
      threads.emplace_back([&api, t] {
        for (int i = 0; i < 20; ++i) {
          const std::string key = "k" + std::to_string(t) + "-" + std::to_string(i);
          const std::string body = R"({"metadata":{"annotations":{")" + key + R"(":"x"}}})";
          EXPECT_EQ(api.call(to_pod(Method::kPatch, "/p", "", body))->status, 200);
        }
      });
    }
  }
  const std::string pod = api.call(to_pod(Method::kGet, "/p", "", ""))->body;
  for (int t = 0; t < kWriters; ++t) {
    for (int i = 0; i < 20; ++i) {
      const std::string key = "k" + std::to_string(t) + "-" + std::to_string(i);
      EXPECT_EQ(json_at(pod, "metadata.annotations." + key), "x");
    }
  }
}

}  // namespace
}  // namespace tangram::kube
