#include "tests/deploy/metrics_page.hpp"

#include "cluster/card_metrics.hpp"
#include "extender/admission/admission_metrics.hpp"
#include "extender/card_preemptor.hpp"
#include "extender/cluster_metrics.hpp"
#include "extender/defragmenter.hpp"
#include "extender/evictor.hpp"
#include "extender/health_routes.hpp"
#include "extender/listeners.hpp"
#include "extender/page/packing_stream.hpp"
#include "extender/scheduling/group_attempts.hpp"
#include "extender/scheduling/resizer.hpp"
#include "extender/scheduling/routes.hpp"
#include "extender/waker.hpp"
#include "kube/local/api.hpp"
#include "node/metrics.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace tangram::testing {
namespace {

struct Metric {
  std::string name;
  std::string help;
  std::string type;
  std::vector<std::pair<std::string, std::set<std::string>>> labels;  ///< with the values seen
};

/// Labels of which the values are the cluster's, not Tangram's.
bool is_open(const std::string& label) {
  static const std::set<std::string> kOpen{"node", "card",      "uuid", "model", "namespace",
                                           "pod",  "container", "key",  "xid"};
  return kOpen.contains(label);
}

void note_label(Metric& metric, const std::string& label, const std::string& value) {
  if (label == "le") return;  // of every histogram
  auto& labels = metric.labels;
  auto known = std::find_if(labels.begin(), labels.end(),
                            [&](const auto& entry) { return entry.first == label; });
  if (known == labels.end()) known = labels.insert(labels.end(), {label, {}});
  known->second.insert(value);
}

/// The labels of `name{a="x",b="y"} 1`. No value of ours holds a quote.
void note_labels(Metric& metric, const std::string& sample) {
  std::size_t at = sample.find('{');
  while (at != std::string::npos && sample[at] != '}') {
    const std::size_t equals = sample.find("=\"", at);
    const std::size_t end = sample.find('"', equals + 2);
    note_label(metric, sample.substr(at + 1, equals - at - 1),
               sample.substr(equals + 2, end - equals - 2));
    at = end + 1;
  }
}

std::vector<Metric> read_exposition(const std::string& page) {
  std::vector<Metric> metrics;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      const std::size_t space = line.find(' ', 7);
      metrics.push_back({.name = line.substr(7, space - 7),
                         .help = line.substr(space + 1),
                         .type = {},
                         .labels = {}});
    } else if (line.starts_with("# TYPE ")) {
      metrics.back().type = line.substr(line.rfind(' ') + 1);
    } else {
      note_labels(metrics.back(), line);
    }
  }
  std::sort(metrics.begin(), metrics.end(),
            [](const Metric& a, const Metric& b) { return a.name < b.name; });
  return metrics;
}

std::string extender_text() {
  const ManualClock clock;
  kube::LocalApi api(clock);
  cluster::SharedLedger ledger(clock);
  const cluster::PolicySource policies{{}};
  cluster::PodTable pods;
  const cluster::PodGroups pod_groups([](const std::string& /*key*/) {});
  cluster::PodRecord signed_grant;
  signed_grant.grant_key = "3fa9c201";
  pods.put("uid", std::move(signed_grant));
  const cluster::FeedCounters counters;
  const auto watch = [] { return kube::Reflector::Health(); };
  const extender::ClusterMetrics cluster(
      {.ledger = ledger,
       .pods = pods,
       .groups = pod_groups,
       .policies = policies,
       .feed_counters = counters,
       .clock = clock,
       .nodes_watch = watch,
       .pods_watch = watch,
       .grant_keys = [] { return kube::GrantKeys::State{.signing = "", .known = {"3fa9c201"}}; },
       .serving = [] { return true; }});
  const extender::VerbMetrics verbs;
  const extender::AdmissionMetrics admission;
  const extender::Evictor evictor(
      {}, {.api = api, .clock = clock, .may_write = [](auto) { return false; }, .report = nullptr});
  extender::Promises promises(clock);
  const extender::Resizer resizer({}, {.api = api,
                                       .ledger = ledger,
                                       .pods = pods,
                                       .promises = promises,
                                       .policies = policies,
                                       .clock = clock,
                                       .may_write = [](auto) { return false; },
                                       .sign = model::Signer(),
                                       .check = model::SignatureCheck(),
                                       .report = nullptr});
  extender::Denials denials(clock);
  const extender::Waker waker({}, {.api = api,
                                   .clock = clock,
                                   .ledger = ledger,
                                   .pods = pods,
                                   .promises = promises,
                                   .policies = policies,
                                   .denials = denials,
                                   .may_write = [](auto) { return false; },
                                   .term = [] { return std::uint64_t{0}; }});
  const extender::Evictor card_evictor(
      {.metric = extender::kBrokenCardEvictions},
      {.api = api, .clock = clock, .may_write = [](auto) { return false; }, .report = nullptr});
  const extender::CardPreemptor card_preemptor({}, {.api = api,
                                                    .clock = clock,
                                                    .ledger = ledger,
                                                    .pods = pods,
                                                    .promises = promises,
                                                    .policies = policies,
                                                    .denials = denials,
                                                    .budgets = [] { return nullptr; },
                                                    .following = [] { return false; },
                                                    .may_write = [](auto) { return false; },
                                                    .report = nullptr});
  extender::MovePlaces places(ledger, clock, {});
  extender::Evicting relocation(api, {});
  const extender::Defragmenter defragmenter({}, {.api = api,
                                                 .clock = clock,
                                                 .ledger = ledger,
                                                 .pods = pods,
                                                 .promises = promises,
                                                 .policies = policies,
                                                 .denials = denials,
                                                 .places = places,
                                                 .relocation = relocation,
                                                 .budgets = [] { return nullptr; },
                                                 .following = [] { return false; },
                                                 .may_write = [](auto) { return false; },
                                                 .report = nullptr});
  const extender::GroupAttempts group_attempts(clock);
  const extender::PackingStream news({.ledger = ledger, .pods = pods, .clock = clock});
  std::vector<extender::Listeners::Status> listeners;
  for (const char* with_tls : {"metrics", "server", "webhook"}) {
    listeners.push_back({with_tls, {}, http::tls::Identity::Health{}});
  }
  return extender::exposition({&verbs, &admission, &resizer, &evictor, &card_evictor,
                               &card_preemptor, &defragmenter, &waker, &cluster, &news,
                               &group_attempts}) +
         prometheus::TextSerializer().Serialize(extender::Listeners::metrics_of(listeners));
}

std::string cards_text() {
  const ManualClock clock;
  model::Ledger ledger(clock);
  ledger.put_node(inventory("n1", {card("GPU-1")}));
  cluster::CardMetrics metrics(ledger.snapshot());
  std::string text;
  while (metrics.next(text)) {}
  return text;
}

std::string node_text() {
  node::Readings readings;
  for (const model::MemoryLimits means : model::kAllMemoryLimits) {
    model::Card limited = card("GPU-1");
    limited.memory_limits = means;
    readings.cards.push_back({.card = std::move(limited), .activity = node::CardActivity{}});
  }
  for (const char* isolation : {"whole", "mps", "time-slice", "none"}) {
    node::PodReading pod;
    pod.isolation = isolation;
    readings.pods.push_back(std::move(pod));
  }
  readings.driver_errors[{"GPU-1", 79}] = 1;
  readings.library_checks.found.push_back({"ml", "trainer", "main", 1});
  readings.memory_checks.over.push_back(
      {.ns = "", .pod = "", .container = "", .card = "GPU-1", .bytes = 0});
  readings.grant_keys.known = {"3fa9c201"};
  const node::NodeMetrics metrics([&] { return readings; });
  return prometheus::TextSerializer().Serialize(metrics.Collect());
}

std::string labels_of(const Metric& metric) {
  std::string text;
  for (const auto& [label, values] : metric.labels) {
    if (!text.empty()) text += "; ";
    text += label;
    if (is_open(label)) continue;
    std::string all;
    for (const std::string& value : values) all += (all.empty() ? ": " : ", ") + value;
    text += all;
  }
  return text;
}

std::string table(const std::string& exposition) {
  std::string text = "| metric | type | labels | meaning |\n|---|---|---|---|\n";
  for (const Metric& metric : read_exposition(exposition)) {
    text += "| `" + metric.name + "` | " + metric.type + " | " + labels_of(metric) + " | " +
            metric.help + " |\n";
  }
  return text;
}

}  // namespace

std::string metrics_page() {
  return "# Metrics\n\n"
         "<!-- Written by scripts/generate/reference; do not edit. -->\n\n"
         "Every metric, as the programs describe them themselves. How to scrape them, what to look "
         "at and what to do\nabout an alert: [monitoring.md](monitoring.md).\n\n"
         "## The extender: `GET /metrics`\n\n"
         "As many series whatever the size of the cluster. Every replica shows them; what the "
         "leader alone knows says so.\n\n" +
         table(extender_text()) +
         "\n## The cards: `GET /metrics/cards` of the extender\n\n"
         "Six series for each card of the cluster, the same at every replica: scrape the leader "
         "alone. `card` is the card's\nplace in its node's list.\n\n" +
         table(cards_text()) +
         "\n## The agent: `GET /metrics` on every GPU node\n\n"
         "The node's name is not among the labels: the scrape adds it.\n\n" +
         table(node_text());
}

}  // namespace tangram::testing
