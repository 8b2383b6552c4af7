#include "base/file.hpp"
#include "bench/bench_app.hpp"
#include "bench/measure/figures.hpp"
#include "bench/measure/measure.hpp"
#include "bench/measure/memory.hpp"
#include "kube/objects.hpp"

#include <fmt/format.h>

#include <thread>

namespace tangram::bench {

namespace {

using Seconds = std::chrono::duration<double>;

Seconds since(std::chrono::steady_clock::time_point start) {
  return std::chrono::steady_clock::now() - start;
}

/// How long `count` pods take to make and decode, one after the other.
Result<Seconds> decoding(const SyntheticApi& api, int count) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    if (auto pod = kube::decode_pod(api.running_pod(i % api.size().pods)); !pod) return pod.error();
  }
  return since(start);
}

}  // namespace

Result<Report> measure(const RebuildRun& run) {
  Figures figures;
  const auto start = std::chrono::steady_clock::now();
  auto bench = BenchApp::start({.size = run.size, .policy = std::string(policies::kDefaultPolicy)});
  if (!bench) return bench.error();
  const Seconds rebuilt = since(start);
  figures.add("rss_mib", memory_mib("VmRSS:"));
  constexpr int kScrapes = 3;
  for (int i = 0; i < kScrapes; ++i) {
    if (auto page = (*bench)->client().get("/metrics/cards"); !page) return page.error();
  }
  figures.add("rss_after_scrapes_mib", memory_mib("VmRSS:"));
  figures.add("rss_highest_mib", memory_mib("VmHWM:"));
  auto decoded = decoding((*bench)->api(), run.size.pods);
  if (!decoded) return decoded.error();
  figures.add("rebuild_s", rebuilt.count());
  figures.add("decode_s", decoded->count());
  figures.add("ratio", rebuilt / *decoded);
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
  auto decoded = decoding(api, run.events);
  if (!decoded) return decoded.error();
  Figures figures;
  figures.add("events_per_s", run.events / ingested.count());
  figures.add("ingest_s", ingested.count());
  figures.add("decode_s", decoded->count());
  figures.add("ratio", ingested / *decoded);
  return figures.report();
}

}  // namespace tangram::bench
