#include "base/file.hpp"
#include "base/rapidjson.hpp"
#include "bench/bench_app.hpp"
#include "bench/measure/figures.hpp"
#include "bench/measure/measure.hpp"
#include "bench/measure/memory.hpp"
#include "kube/objects.hpp"

#include <stdexcept>

namespace tangram::bench {

namespace {

using Seconds = std::chrono::duration<double>;

Seconds since(std::chrono::steady_clock::time_point start) {
  return std::chrono::steady_clock::now() - start;
}

/// Does it with `count` pods, one after the other. @returns how long that takes, without their
/// making
template <class Work>
Seconds time_with_pods(const SyntheticApi& api, int count, Work&& work) {
  Seconds took{};
  for (int i = 0; i < count; ++i) {
    std::string pod = api.running_pod(i % api.size().pods);
    const auto start = std::chrono::steady_clock::now();
    work(std::move(pod));
    took += since(start);
  }
  return took;
}

/// The least that a program does with them which keeps them in memory.
Seconds parsing(const SyntheticApi& api, int count) {
  return time_with_pods(api, count, [](std::string pod) {
    rapidjson::Document document;
    if (document.ParseInsitu(pod.data()).HasParseError()) throw std::logic_error("a bad pod");
  });
}

Seconds decoding(const SyntheticApi& api, int count) {
  return time_with_pods(api, count,
                        [](std::string pod) { (void)kube::decode_pod(std::move(pod)).value(); });
}

/// What the API server does as all pods are listed.
Seconds listing(SyntheticApi& api) {
  constexpr int kPage = 500;
  const auto start = std::chrono::steady_clock::now();
  for (int from = 0; from < api.size().pods; from += kPage) {
    (void)api.call(
        {.path = "/api/v1/pods",
         .query = {{"limit", std::to_string(kPage)}, {"continue", std::to_string(from)}}});
  }
  return since(start);
}

}  // namespace

Result<Report> measure(const RebuildRun& run) {
  Figures figures;
  const auto start = std::chrono::steady_clock::now();
  auto bench = BenchApp::start(
      {.size = run.size, .policy = std::string(policies::kDefaultPolicy), .grants = run.grants});
  if (!bench) return bench.error();
  const Seconds rebuilt = since(start);
  figures.add("rss_mib", memory_mib("VmRSS:"));
  constexpr int kScrapes = 3;
  for (int i = 0; i < kScrapes; ++i) {
    if (auto page = (*bench)->client().get("/metrics/cards"); !page) return page.error();
  }
  figures.add("rss_after_scrapes_mib", memory_mib("VmRSS:"));
  figures.add("rss_highest_mib", memory_mib("VmHWM:"));
  SyntheticApi& api = (*bench)->api();
  const Seconds parsed = parsing(api, run.size.pods);
  const Seconds read = rebuilt - listing(api);
  figures.add("rebuild_s", read.count());
  figures.add("parse_s", parsed.count());
  figures.add("decode_s", decoding(api, run.size.pods).count());
  figures.add("ratio", read / parsed);
  return figures.report();
}

Result<Report> measure(const IngestRun& run) {
  auto bench = BenchApp::start({.size = run.size, .policy = std::string(policies::kDefaultPolicy)});
  if (!bench) return bench.error();
  SyntheticApi& api = (*bench)->api();
  const PendingPod last = pending_pod(0, 1, false);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < run.events; ++i) {
    api.pod_event("MODIFIED", api.running_pod(i % run.size.pods));
  }
  (*bench)->arrive(last);
  const Seconds ingested = since(start);
  const Seconds parsed = parsing(api, run.events);
  Figures figures;
  figures.add("events_per_s", run.events / ingested.count());
  figures.add("ingest_s", ingested.count());
  figures.add("parse_s", parsed.count());
  figures.add("decode_s", decoding(api, run.events).count());
  figures.add("ratio", ingested / parsed);
  return figures.report();
}

}  // namespace tangram::bench
