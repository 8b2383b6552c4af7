#include "bench/measure/verb_bench.hpp"

#include "base/rapidjson.hpp"
#include "http/router.hpp"
#include "http/types.hpp"

#include <chrono>
#include <random>
#include <stdexcept>
#include <utility>

namespace tangram::bench {

namespace {

Result<std::vector<std::string>> kept_of(const std::string& reply) {
  auto filtered = decode_filter_reply(reply);
  if (!filtered) return filtered.error();
  if (!filtered->error.empty()) return fail(Errc::kConflict, filtered->error);
  return std::move(filtered->nodes);
}

}  // namespace

void Baseline::add_routes(http::Router& router) {
  for (const char* path : {"/null/filter", "/null/bind"}) {
    router.add("POST", path, [this](http::Request request, http::Responder responder) {
      rapidjson::Document document;
      document.ParseInsitu(request.body.data());
      responder.send(http::json_response(document.HasParseError() ? "" : reply));
    });
  }
}

Churn::Churn(SyntheticApi& api, int per_second) {
  if (per_second == 0 || api.size().pods == 0) return;
  std::vector<int> replaceable;
  for (int number = 0; number < api.size().pods; ++number) {
    if (api.has_room_for_another(number)) replaceable.push_back(number);
  }
  if (replaceable.empty()) {
    throw std::invalid_argument(
        "no card has room for a pod beside one that it replaces; give fewer --pods, or --churn 0");
  }
  thread_ = std::jthread(
      [&api, per_second, replaceable = std::move(replaceable)](const std::stop_token& stop) {
        std::minstd_rand random(1);
        std::vector<int> generations(replaceable.size());
        const auto pause = std::chrono::nanoseconds(std::chrono::seconds(1)) / per_second;
        auto next = std::chrono::steady_clock::now();
        while (!stop.stop_requested()) {
          const std::size_t pod = random() % generations.size();
          const std::string ended = api.running_pod(replaceable[pod], generations[pod]);
          const std::string begun = api.running_pod(replaceable[pod], ++generations[pod]);
          api.pod_event("ADDED", begun);
          api.pod_event("DELETED", ended);
          std::this_thread::sleep_until(next += 2 * pause);
        }
      });
}

Result<void> VerbBench::round(int number, bool counts) {
  const bool unseen = number % 100 < run_.unseen_percent;
  const PendingPod pod = pending_pod(number, run_.shapes, unseen);
  arrive(pod, counts);
  auto done = schedule(pod, counts, unseen ? new_filter_ : known_filter_);
  bench_.api().pod_event("DELETED", pod.json);
  return done;
}

Result<void> VerbBench::hostile_round(int number, bool counts) {
  const PendingPod pod = hostile_pod(number);
  bench_.arrive(pod);
  auto filtered =
      compare("/filter", "/null/filter", filter_body(pod.json, bench_.api().node_names()), counts,
              hostile_filter_);
  bench_.api().pod_event("DELETED", pod.json);
  if (!filtered) return filtered.error();
  return {};
}

void VerbBench::arrive(const PendingPod& pod, bool counts) {
  const auto start = std::chrono::steady_clock::now();
  bench_.arrive(pod);
  if (counts) watch_lag_.add(std::chrono::steady_clock::now() - start);
}

Result<void> VerbBench::schedule(const PendingPod& pod, bool counts, VerbTimes& kind) {
  auto filtered = compare("/filter", "/null/filter",
                          filter_body(pod.json, bench_.api().node_names()), counts, filter_);
  if (!filtered) return filtered.error();
  if (counts) {
    kind.real.add(filter_.real.all().back());
    kind.null.add(filter_.null.all().back());
  }
  const auto kept = kept_of(*filtered);
  if (!kept) return kept.error();
  if (kept->empty()) {
    ++unplaced_;
    return {};
  }
  auto scores =
      compare("/prioritize", "/null/filter", filter_body(pod.json, *kept), counts, prioritize_);
  if (!scores) return scores.error();
  const ExtenderClient::PodName name{std::string(kBenchNamespace), pod.name, pod.uid};
  auto bound = compare("/bind", "/null/bind", bind_body(name, kept->front()), counts, bind_);
  if (!bound) return bound.error();
  if (*bound != R"({"Error":""})") ++refused_;  // a pod that began meanwhile took the room
  return {};
}

Result<std::string> VerbBench::compare(const char* verb, const char* null, const std::string& body,
                                       bool counts, VerbTimes& times) {
  VerbTimes& into = counts ? times : warm_up_;
  auto reply = into.real.time([&] { return bench_.client().post(verb, body); });
  if (!reply) return reply;
  baseline_.reply = *reply;
  auto same = into.null.time([&] { return bench_.client().post(null, body); });
  if (!same) return same;
  if (*same != *reply) return fail(Errc::kConflict, "the baseline could not decode " + body);
  return reply;
}

Result<void> Side::start(const VerbRun& run) {
  auto started = BenchApp::start(
      {.size = run.size,
       .policy = run.policy,
       .short_list = run.short_list,
       .more_routes = [this](http::Router& router) { baseline.add_routes(router); }});
  if (!started) return started.error();
  app = std::move(*started);
  verbs.emplace(run, *app, baseline);
  churn.emplace(app->api(), run.churn);
  return {};
}

}  // namespace tangram::bench
