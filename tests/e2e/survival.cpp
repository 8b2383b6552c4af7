#include "tests/e2e/survival.hpp"

#include <algorithm>

namespace tangram::e2e {

namespace {

int bound_since(const SeenPods& pods, TimePoint begin) {
  return static_cast<int>(std::ranges::count_if(pods, [&](const auto& entry) {
    return entry.second.bind_was_seen && entry.second.bound > begin;
  }));
}

}  // namespace

bool SurvivalTest::wait_progress(int pods, std::chrono::milliseconds limit) {
  const auto begin = TimePoint::clock::now();
  return watcher_.wait([&](const SeenPods& seen) { return bound_since(seen, begin) >= pods; },
                       limit);
}

void SurvivalTest::survive(const std::string& name, int times, const std::function<void()>& fault) {
  Load load(cluster_, watcher_, kPods);
  std::vector<double> recovered;
  for (int i = 0; i < times; ++i) {
    ASSERT_TRUE(wait_progress(kPods, 1min)) << name << ": no progress before round " << i;
    fault();
    const auto end = TimePoint::clock::now();
    load.pause();
    ASSERT_TRUE(watcher_.wait(
        [](const SeenPods& pods) { return count_bound(pods) == count_present(pods); }, 1min))
        << name << ": a pod is stuck in round " << i << "\n"
        << waiting();
    recovered.push_back(seconds_between(end, TimePoint::clock::now()));
    expect_books_right_soon(witness());
    if (HasFailure()) return;
    load.resume();
  }
  Figures("fault")
      .add("name", name)
      .add("times", times)
      .add("pods_bound", bound_since(watcher_.pods(), TimePoint()))
      .spread("recovered_after_s", recovered);
}

std::string SurvivalTest::waiting() {
  std::string text;
  for (const auto& [uid, pod] : watcher_.pods()) {
    if (pod.deleted || !pod.node.empty()) continue;
    constexpr std::size_t kShown = 600;
    text += pod.name + " " + uid + "\n" +
            witness().get("/api/v1/explain?namespace=default&pod=" + pod.name).substr(0, kShown) +
            "\n";
  }
  return text;
}

}  // namespace tangram::e2e
