#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "bench/extender_client.hpp"
#include "kube/local_api.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tangram::bench {

struct ClusterSize {
  int nodes = 5'000;
  int cards_per_node = 8;
  int pods = 100'000;  ///< running already, a fifth of a card each
};

/// A cluster in memory with pods already on it, for measurements: every node alike but for two
/// card models, the running pods spread evenly and bound with their grants.
class BenchCluster {
 public:
  /// @returns kInvalidArgument if so many pods do not fit the cards
  static Result<std::unique_ptr<BenchCluster>> create(const Clock& clock, ClusterSize size);

  [[nodiscard]] kube::LocalApi& api() { return api_; }
  [[nodiscard]] const std::vector<std::string>& node_names() const { return names_; }

  struct MadePod {
    ExtenderClient::PodName name;
    std::string json;  ///< as the API server has it
  };
  /// A pending pod; the shapes (a share of a card, memory, whole cards, a model) take turns.
  Result<MadePod> make_pending(int number);
  Result<void> remove(const ExtenderClient::PodName& pod);

 private:
  BenchCluster(const Clock& clock, ClusterSize size);
  Result<void> fill();
  Result<std::string> create_object(const std::string& path, std::string body);
  Result<MadePod> create_pod(const struct PodSpec& spec);
  Result<void> run_pod(int number);

  ClusterSize size_;
  kube::LocalApi api_;
  std::vector<std::string> names_;
};

}  // namespace tangram::bench
