#pragma once

#include "base/result.hpp"
#include "bench/synthetic_api.hpp"
#include "config/config.hpp"
#include "policies/registry.hpp"

#include <string>

/// The measurements of tangram-bench. Each runs the extender on a SyntheticApi in this process and
/// compares it with a baseline, in turns, so that noise of the machine affects both.
namespace tangram::bench {

struct Report {
  std::string text;  ///< a table for people
  std::string json;  ///< the same figures
};

/// One pod after the other through filter, prioritize and bind over HTTP on one connection. The
/// baseline is a null extender: a handler in the same server that reads the same request by
/// RapidJSON and sends a reply of the same bytes.
struct VerbRun {
  ClusterSize size;
  int rounds = 1'000;
  int warm_up = 200;  ///< at least: every shape once
  int shapes = 200;
  int unseen_percent = 10;
  int churn = 200;  ///< watch events per second
  int short_list = 1;
  std::string policy{policies::kDefaultPolicy};
  /// Beside each 1,000 pods so many more come to a second extender, in turns with the first one:
  /// hostile_pod(). What they cost the others is the ratio of the two extenders' times.
  int hostile = 0;
  /// In every other block of rounds a thread plans moves all the time: what that costs the verbs is
  /// the ratio of the blocks' times. The service plans once in 10 s, at most.
  bool planning = false;
};
Result<Report> measure(const VerbRun& run);

/// The same at an even pace for a long time: what grows or slows down shows in the later parts.
struct SoakRun {
  SoakRun() {
    verbs.size.nodes = 20'000;
    verbs.size.pods = 200'000;
  }
  VerbRun verbs;
  int seconds = 3'600;
  int parts = 12;            ///< each with figures of its own; at least 1
  int pods_per_second = 20;  ///< at least 1
};
Result<Report> measure(const SoakRun& run);

/// filter with whole Nodes. The baseline copies the body, scans it once and sends the same reply.
struct FullNodesRun {
  ClusterSize size;
  int node_bytes = 10'240;
  int rounds = 200;
};
Result<Report> measure(const FullNodesRun& run);

/// From the start to a complete ledger, without what the API server does. The baseline parses the
/// same pods by RapidJSON, one by one; beside it, how long our own decoding takes. Also this
/// process's memory, which has nothing but the extender, before and after scrapes of
/// /metrics/cards.
struct RebuildRun {
  ClusterSize size;
  config::Config::Grants grants = {};  ///< with keys, the pods' grants are signed, and checked
};
Result<Report> measure(const RebuildRun& run);

/// Pods that change, reported by a watch. The baselines are the same.
struct IngestRun {
  ClusterSize size;
  int events = 50'000;
};
Result<Report> measure(const IngestRun& run);

/// From the moment in which another replica's Lease is acquired to a leader that answers. The
/// baseline is a replica that has no pod to mark, so that it lists the cluster anew.
struct TakeoverRun {
  ClusterSize size;
};
Result<Report> measure(const TakeoverRun& run);

/// The steps of a decision one by one, in this process and thread: what a profiler can take apart.
/// The baseline of all of them is decoding the request.
struct StepsRun {
  ClusterSize size;
  int rounds = 200;
};
Result<Report> measure(const StepsRun& run);

/// A plan of moves for pods that want whole cards of a cluster where each is partly used. The
/// baseline scores every node for one shape of pod. Also this process's memory.
struct MovesRun {
  MovesRun() { size.pods = 100'000; }
  ClusterSize size;
  int moves = 10;
  int wanted = 5;  ///< of each kind
  int rounds = 5;  ///< the fastest counts
};
Result<Report> measure(const MovesRun& run);

/// The admission calls of a pod over TLS, on one connection as the API server keeps it. The
/// baseline is a handler in the same server that takes the same body and sends a reply of the same
/// size.
struct WebhookRun {
  int rounds = 2'000;  ///< of each call
  int warm_up = 100;
  int sidecars = 3;  ///< containers beside the one with a GPU
};
Result<Report> measure(const WebhookRun& run);

}  // namespace tangram::bench
