#include "tests/e2e/load.hpp"

#include "tests/e2e/fixture.hpp"

namespace tangram::e2e {

Load::Load(Cluster& cluster, PodWatcher& watcher, int pods)
    : cluster_(cluster), watcher_(watcher), target_(pods) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}
Load::~Load() = default;

void Load::pause() {
  std::unique_lock lock(mutex_);
  paused_ = true;
  changed_.wait(lock, [this] { return resting_; });
}

void Load::resume() {
  const std::scoped_lock lock(mutex_);
  paused_ = resting_ = false;
  changed_.notify_all();
}

void Load::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      if (paused_) {
        resting_ = true;
        changed_.notify_all();
        changed_.wait(lock, stop, [this] { return !paused_; });
        continue;
      }
    }
    try {
      turn_over();
    } catch (const std::runtime_error&) {
      // The test made the API server unavailable. It may be available again half a second later.
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, 500ms, [] { return false; });
    }
  }
}

/// Replaces a few pods.
void Load::turn_over() {
  constexpr int kAtOnce = 10;
  std::vector<std::string> bound;
  int present = 0;
  for (const auto& [uid, pod] : watcher_.pods()) {
    if (pod.deleted) continue;
    ++present;
    if (!pod.node.empty() && std::ssize(bound) < kAtOnce) bound.push_back(pod.name);
  }
  if (present >= target_) {
    in_parallel(static_cast<int>(bound.size()),
                [&](int i) { cluster_.delete_pod(bound[static_cast<std::size_t>(i)]); });
    present -= static_cast<int>(bound.size());
  }
  if (present >= target_) return;
  const auto pods =
      mixed_pods(std::min(kAtOnce, target_ - present), "load" + std::to_string(made_++));
  cluster_.add_pods(pods);
}

}  // namespace tangram::e2e
