#include "extender/admission/aggregates.hpp"

namespace tangram::extender {

Aggregates aggregates_of(const model::ContainerRequest& request) {
  const model::Share& share = request.share;
  Aggregates of_one;
  switch (share.form) {
    case model::ShareForm::kWhole:
      of_one.milli = kWholeGpu.count();
      break;
    case model::ShareForm::kFraction:
      of_one.milli = share.fraction.count();
      break;
    case model::ShareForm::kMemory:
      of_one.milli = share.compute.value_or(MilliGpu{}).count();
      of_one.mebibytes = share.memory.count();
      break;
    case model::ShareForm::kReplica:
      break;  // as much as each node says
  }
  return {of_one.milli * request.count, of_one.mebibytes * request.count};
}

std::int64_t amount_of(const Aggregates& aggregates, std::string_view resource) {
  return resource == model::kMilliResource ? aggregates.milli : aggregates.mebibytes;
}

kube::StringMap to_resources(const Aggregates& aggregates) {
  kube::StringMap resources;
  for (const std::string_view name : model::kAggregateResources) {
    const std::int64_t amount = amount_of(aggregates, name);
    if (amount > 0) resources.emplace(name, std::to_string(amount));
  }
  return resources;
}

}  // namespace tangram::extender
