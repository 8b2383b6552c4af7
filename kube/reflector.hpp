#pragma once

#include "base/clock.hpp"
#include "kube/api.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::kube {

enum class EventType { kAdded, kModified, kDeleted };

/// Receives what the API server holds of one kind of object, in order, on the reflector's thread.
/// The texts may be parsed in place.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  /// A full, consistent list: whatever is not in it does not exist.
  virtual void replace(std::vector<std::string> objects) = 0;
  /// One change since.
  virtual void change(EventType type, std::string object) = 0;
};

/// Waits, cut short by stop. Injected so that tests do not sleep.
using Sleeper = std::function<void(std::chrono::milliseconds, std::stop_token)>;
/// Sleeps for real.
void sleep_until_stopped(std::chrono::milliseconds wait, std::stop_token stop);

struct ReflectorOptions {
  std::string path;            ///< "/api/v1/pods"
  std::string field_selector;  ///< "status.phase!=Succeeded,status.phase!=Failed"
  int page_size = 500;         ///< client-go's: keeps one reply small at 150,000 pods
  std::chrono::milliseconds first_backoff{800};  ///< client-go's: 0.8 s, doubled up to 30 s
  std::chrono::milliseconds max_backoff{30'000};
};

/// Keeps a sink in step with the API server: LIST, then WATCH from the list's resourceVersion.
///
/// End of stream -> watch again from the last version seen (bookmarks count). 410, or an ERROR
/// frame with that code -> list again. Other errors -> the same after a back-off, which doubles up
/// to the maximum and starts anew after a success. A list that expires half-way (410) starts over.
class Reflector {
 public:
  Reflector(KubeApi& api, ReflectorOptions options, ObjectSink& sink, const Clock& clock,
            Sleeper sleeper = sleep_until_stopped);

  /// Runs until stop. Blocks; errors are logged and counted, never thrown.
  void run(std::stop_token stop);

  struct Health {
    bool synced = false;          ///< a list has been delivered
    TimePoint last_heard{};       ///< last list, event or bookmark
    std::uint64_t lists = 0;
    std::uint64_t watches = 0;
    std::uint64_t errors = 0;
  };
  /// From any thread.
  [[nodiscard]] Health health() const;
  // private members: the implementation's
};

}  // namespace tangram::kube
