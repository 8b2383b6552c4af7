#include "bench/replay/trace.hpp"

#include "base/csv.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <string_view>

namespace tangram::bench {

namespace {

namespace fs = std::filesystem;

// Far above any machine; sums over a million rows stay within 64 bits.
constexpr std::int64_t kMostCpuMilli = 1'000'000'000;
constexpr std::int64_t kMostMemoryMib = 1'000'000'000;
constexpr std::int64_t kMostGpus = 64;

Result<TraceNode> read_node(CsvTable::Row row) {
  TraceNode node;
  node.name = row.text("sn");
  node.cpu_milli = row.amount("cpu_milli", kMostCpuMilli);
  node.memory_mib = row.amount("memory_mib", kMostMemoryMib);
  node.gpus = static_cast<int>(row.amount("gpu", kMostGpus));
  node.model = row.text("model");
  if (auto done = row.finish(); !done) return done.error();
  return node;
}

Result<std::map<std::string, TraceNode>> read_nodes(const std::string& path) {
  auto table = CsvTable::read(path);
  if (!table) return table.error();
  std::map<std::string, TraceNode> nodes;
  for (std::size_t i = 0; i < table->rows(); ++i) {
    auto node = read_node(table->row(i));
    if (!node) return node.error();
    const std::string name = node->name;
    if (!nodes.emplace(name, std::move(*node)).second) {
      return fail(Errc::kInvalidArgument, (path + ": node ").append(name).append(" stands twice"));
    }
  }
  return nodes;
}

/// The nodes by rank; every node must have one.
Result<std::vector<TraceNode>> rank_nodes(std::map<std::string, TraceNode> nodes,
                                          const std::string& path) {
  auto table = CsvTable::read(path);
  if (!table) return table.error();
  std::map<std::int64_t, TraceNode> ranked;
  for (std::size_t i = 0; i < table->rows(); ++i) {
    CsvTable::Row row = table->row(i);
    const std::int64_t rank = row.amount("rank", std::numeric_limits<std::int64_t>::max());
    auto node = nodes.extract(row.text("node"));
    if (node.empty()) {
      row.refuse("node \"" + row.text("node") + "\" is not among the nodes, or ranked twice");
    } else if (!ranked.emplace(rank, std::move(node.mapped())).second) {
      row.refuse("rank " + std::to_string(rank) + " stands twice");
    }
    if (auto done = row.finish(); !done) return done.error();
  }
  if (!nodes.empty()) {
    return fail(Errc::kInvalidArgument, path + ": node " + nodes.begin()->first + " has no rank");
  }
  std::vector<TraceNode> in_order;
  in_order.reserve(ranked.size());
  for (auto& [rank, node] : ranked) in_order.push_back(std::move(node));
  return in_order;
}

}  // namespace

std::int64_t Trace::capacity_milli() const {
  std::int64_t milli = 0;
  for (const TraceNode& node : nodes) milli += node.gpus * policies::kDeviceMilli;
  return milli;
}

TracePaths TracePaths::in_folder(const std::string& folder, const std::string& trace_seed) {
  const fs::path root(folder);
  return {.nodes = root / "nodes.csv",
          .arrivals = root / "arrivals" / (trace_seed + ".csv"),
          .order = root / "arrivals" / (trace_seed + ".order.csv"),
          .workload = {}};
}

std::string find_workload(const std::string& arrivals_path) {
  const fs::path arrivals(arrivals_path);
  const std::string stem = arrivals.stem();
  const std::string name = stem.substr(0, stem.rfind('-'));
  const fs::path pods = arrivals.parent_path() / ".." / "pods" / (name + ".csv");
  return fs::is_regular_file(pods) ? pods.lexically_normal().string() : std::string();
}

Result<Trace> read_trace(const TracePaths& paths) {
  auto nodes = read_nodes(paths.nodes);
  if (!nodes) return nodes.error();
  auto ranked = rank_nodes(std::move(*nodes), paths.order);
  if (!ranked) return ranked.error();
  auto arrivals = policies::read_trace_pods(paths.arrivals, "pod");
  if (!arrivals) return arrivals.error();
  Trace trace{.nodes = std::move(*ranked),
              .arrivals = std::move(*arrivals),
              .workload = {},
              .workload_origin = {}};
  const std::string expected =
      paths.workload.empty() ? find_workload(paths.arrivals) : paths.workload;
  if (expected.empty()) {
    trace.workload = trace.arrivals;
    trace.workload_origin = "the arrivals themselves";
    return trace;
  }
  auto workload = policies::read_trace_pods(expected, "name");
  if (!workload) return workload.error();
  trace.workload = std::move(*workload);
  trace.workload_origin = expected;
  return trace;
}

}  // namespace tangram::bench
