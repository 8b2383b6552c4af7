#pragma once

#include "base/result.hpp"
#include "kube/api.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

/// What goes wrong between a client and its API server, and when. Written as YAML or JSON:
///
///     seed: 42                     # of the probabilities
///     rules:                       # the first one that is due takes the call
///     - {method: POST, path-ends: /binding, fault: lose-answer, times: 2}
///     - {path-starts: /api/v1/nodes, fault: answer, status: 429, retry-after: 1, every: 3}
///     - {fault: delay, delay-ms: 200, probability: 0.1}
///     - {path-ends: /pods, fault: cut-watch, frames: 5, times: 1}
namespace tangram::testing {

/// What goes wrong with one call.
struct Fault {
  enum class Kind {
    kRefuseBefore,  ///< kUnavailable; the server never sees the request
    kLoseBefore,    ///< kTimeout; the server never sees the request
    kLoseAnswer,    ///< kTimeout; the server has carried the request out
    kAnswer,        ///< this status instead of the server, which never sees the request
    kHold,          ///< waits for release(), then goes on to the server
    kDelay,         ///< waits, then goes on to the server
    kDelayAnswer,   ///< goes on to the server; its answer comes later
    kDelayFrames,   ///< each frame comes so much later
    kCutWatch,      ///< kTimeout after so many frames
    kExpireWatch,   ///< an ERROR frame with code 410 after so many frames, then the end
  };
  Kind kind = Kind::kRefuseBefore;
  int status = 0;                                        ///< of kAnswer
  std::optional<std::chrono::seconds> retry_after = {};  ///< of kAnswer; 429 has 1 by itself
  std::chrono::milliseconds delay = std::chrono::milliseconds(0);  ///< of the kinds that delay
  std::uint64_t frames = 0;  ///< of kCutWatch and kExpireWatch
};

/// "lose-answer"
[[nodiscard]] std::string_view to_string(Fault::Kind kind);
/// Whether it happens to an open watch, and not to a call.
[[nodiscard]] bool is_of_watches(Fault::Kind kind);

/// Which calls a fault is for. What is left out matches everything.
struct CallMatch {
  std::optional<kube::Method> method = {};
  std::string path_ends = {};
  std::string path_starts = {};
  bool watch = false;  ///< watches; otherwise calls

  [[nodiscard]] bool matches(const kube::Request& request) const {
    return (!method || request.method == *method) && request.path.starts_with(path_starts) &&
           request.path.ends_with(path_ends);
  }
};
[[nodiscard]] inline CallMatch binding_of(const std::string& pod) {
  return {kube::Method::kPost, "/pods/" + pod + "/binding"};
}
[[nodiscard]] inline CallMatch any_binding() { return {kube::Method::kPost, "/binding"}; }
[[nodiscard]] inline CallMatch read_of(const std::string& pod) {
  return {kube::Method::kGet, "/pods/" + pod};
}

struct FaultRule {
  CallMatch match;
  Fault fault;
  std::uint64_t times = 0;   ///< rests after so many hits; 0 = never
  std::uint64_t every = 1;   ///< only each so-manieth call that matches
  double probability = 1.0;  ///< of those, only some
};

/// A plan as its text says it.
struct FaultScript {
  std::optional<std::uint64_t> seed;
  std::vector<FaultRule> rules;
};
/// @returns kInvalidArgument, with what to write instead
Result<FaultScript> parse_faults(const std::string& text);

/// The rules in force, with what they have done so far. Threads: safe.
class FaultPlan {
 public:
  /// @param seed  of the probabilities: the same calls in the same order have the same faults
  explicit FaultPlan(std::uint64_t seed = 1) { set(FaultScript{.seed = seed, .rules = {}}); }

  void add(FaultRule rule);
  /// Replaces all rules and begins to count anew.
  void set(FaultScript script);
  /// What happens to this request. Rules are tried in order; the first that is due takes it.
  [[nodiscard]] std::optional<Fault> next(const kube::Request& request, bool watch);

  /// Hits still to come of the rules that end: a test that ends with some has tested less than it
  /// says.
  [[nodiscard]] std::size_t left() const;
  /// The plan as JSON that parse_faults() takes, with "seen" and "hits" for every rule.
  [[nodiscard]] std::string to_json() const;

 private:
  struct Entry {
    FaultRule rule;
    std::uint64_t seen = 0;  ///< calls that matched while it was not at rest
    std::uint64_t hits = 0;
  };
  bool is_due(Entry& entry);

  mutable std::mutex mutex_;
  std::uint64_t seed_ = 1;
  std::mt19937_64 random_;
  std::vector<Entry> entries_;
};

}  // namespace tangram::testing
