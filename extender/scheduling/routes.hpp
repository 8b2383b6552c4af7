#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "base/work_queue.hpp"
#include "extender/scheduling/verbs.hpp"
#include "http/router.hpp"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

enum class Verb { kFilter, kPrioritize, kBind, kPreempt };
inline constexpr std::size_t kVerbs = 4;
[[nodiscard]] std::string_view to_string(Verb verb);

/// How often and how fast the verbs were answered, as metrics. Threads: safe.
class VerbMetrics final : public prometheus::Collectable {
 public:
  VerbMetrics();
  void request_done(Verb verb, std::chrono::nanoseconds took);
  void bind_done(BindOutcome outcome);
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    return registry_.Collect();
  }

 private:
  prometheus::Registry registry_;
  std::array<prometheus::Histogram*, kVerbs> durations_{};
  std::array<prometheus::Counter*, kBindOutcomes> binds_{};
};

/// POST /filter, /prioritize, /preempt and /bind. Binds wait for the API server, so they run on
/// threads of their own. Outlives the router. Threads: safe.
class VerbRoutes {
 public:
  struct Settings {
    std::size_t bind_workers = 1;
    std::size_t bind_queue = 0;  ///< further binds are refused
    /// Of a bind, from its request on: one that waited so long is refused.
    std::chrono::milliseconds bind_timeout{};
  };
  struct Parts {
    Verbs& verbs;        ///< outlives it
    const Clock& clock;  ///< outlives it
    /// Whether this replica binds pods; if not, connections are closed, so that a scheduler's open
    /// one does not keep it here.
    Required<std::function<bool()>> leads;
    /// As of Verbs: then binds are refused at once, without waiting for a worker.
    Required<std::function<std::string_view()>> not_ready;
  };
  VerbRoutes(Settings settings, const Parts& parts);

  void add_to(http::Router& router);
  [[nodiscard]] const VerbMetrics& metrics() const { return metrics_; }

  /// Waits until all binds that were taken are done. None are taken while not_ready() says so.
  void finish_binds() { binds_.wait_until_idle(); }
  /// The same, and takes no more afterwards.
  void drain() { binds_.drain(); }

 private:
  void bind(http::Request request, http::Responder responder);
  void refuse_bind(http::Responder& responder, std::string_view why);
  [[nodiscard]] http::Response response(std::string body) const;

  const Settings settings_;
  Verbs& verbs_;
  const Clock& clock_;
  const Required<std::function<bool()>> leads_;
  const Required<std::function<std::string_view()>> not_ready_;
  VerbMetrics metrics_;
  WorkQueue binds_;
};

}  // namespace tangram::extender
