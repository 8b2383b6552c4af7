#include "policies/trace_pods.hpp"

#include "base/split.hpp"

namespace tangram::policies {

namespace {

// Far above any machine; sums over a million rows stay within 64 bits.
constexpr std::int64_t kMostCpuMilli = 1'000'000'000;
constexpr std::int64_t kMostMemoryMib = 1'000'000'000;
constexpr std::int64_t kMostSeconds = 1'000'000'000;   // thirty years; in milliseconds it fits
constexpr std::int64_t kMostPriority = 1'000'000'000;  // Kubernetes' own limit for users
constexpr std::int64_t kMostGpus = model::kMaxCardsPerContainer;

std::vector<std::string> split_models(const std::string& spec) {
  std::vector<std::string> models = split(spec, '|');
  std::erase(models, "");
  return models;
}

std::optional<std::int64_t> amount_if_any(CsvTable::Row& row, std::string_view column,
                                          std::int64_t largest) {
  if (row.text_if_any(column).empty()) return std::nullopt;
  return row.amount(column, largest);
}

Result<TracePod> read_pod(CsvTable::Row row, std::string_view name_column) {
  TracePod pod;
  pod.name = row.text(name_column);
  pod.cpu_milli = row.amount("cpu_milli", kMostCpuMilli);
  pod.memory_mib = row.amount("memory_mib", kMostMemoryMib);
  pod.gpus = static_cast<int>(row.amount("num_gpu", kMostGpus));
  pod.gpu_milli = row.amount("gpu_milli", kDeviceMilli);
  pod.models = split_models(row.text_if_any("gpu_spec"));
  pod.arrives_s = amount_if_any(row, "arrives_s", kMostSeconds);
  pod.lasts_s = amount_if_any(row, "lasts_s", kMostSeconds);
  pod.priority = static_cast<int>(amount_if_any(row, "priority", kMostPriority).value_or(0));
  if (pod.gpus == 0) {
    pod.gpu_milli = 0;
    pod.models.clear();  // says nothing about a pod that asks no device
  } else if (pod.gpu_milli == 0) {
    row.refuse("gpu_milli is 0 but num_gpu is not; write 1 to 1000");
  } else if (pod.gpus > 1 && pod.gpu_milli != kDeviceMilli) {
    row.refuse("several devices can only be asked whole; write gpu_milli 1000");
  }
  if (auto done = row.finish(); !done) return done.error();
  return pod;
}

}  // namespace

Result<std::vector<TracePod>> read_trace_pods(const std::string& path,
                                              std::string_view name_column) {
  auto table = CsvTable::read(path);
  if (!table) return table.error();
  std::vector<TracePod> pods;
  pods.reserve(table->rows());
  for (std::size_t i = 0; i < table->rows(); ++i) {
    auto pod = read_pod(table->row(i), name_column);
    if (!pod) return pod.error();
    pods.push_back(std::move(*pod));
  }
  return pods;
}

model::PodDemand demand_of(const TracePod& pod, model::Isolation isolation) {
  model::PodDemand demand;
  demand.gpu.isolation = isolation;
  demand.footprint = {.cpu = MilliCpu(pod.cpu_milli), .memory = Mebibytes(pod.memory_mib)};
  if (pod.gpus == 0) return demand;
  model::ContainerRequest container{.container = "main", .count = pod.gpus, .share = {}};
  if (pod.gpu_milli < kDeviceMilli) {
    container.share.form = model::ShareForm::kFraction;
    container.share.fraction = MilliGpu(pod.gpu_milli);
  }
  demand.gpu.containers.push_back(std::move(container));
  demand.gpu.models = pod.models;
  return demand;
}

Workload workload_of(const std::vector<TracePod>& pods, model::Isolation isolation,
                     int coverage_percent) {
  WorkloadCounter counter;
  for (const TracePod& pod : pods) counter.add(demand_of(pod, isolation));
  return counter.top(coverage_percent);
}

}  // namespace tangram::policies
