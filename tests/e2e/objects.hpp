#pragma once

#include <map>
#include <string>
#include <vector>

/// Kubernetes objects of the tests, as JSON that a real API server accepts.
namespace tangram::e2e {

/// A process that uses a card, as the driver lists it.
struct CardProcess {
  int pid = 0;  ///< of the host
  int memory_mib = 0;
};

struct CardSpec {
  std::string id;
  std::string model = "A100-SXM4-80GB";
  int memory_mib = 81'920;
  bool healthy = true;
  int max_sharers = 48;
  std::vector<CardProcess> processes = {};
  /// UUIDs of its MIG instances of 1g.10gb, GPU instances 1, 2, …; for a RealNode only.
  std::vector<std::string> instances = {};
};

/// A simulated node: ready from the start, with cards and slots.
struct NodeSpec {
  std::string name;
  std::vector<CardSpec> cards;
  int slots = 128;          ///< tangram.dev/gpu-slot
  bool aggregates = false;  ///< also tangram.dev/gpu-milli and gpu-mem-mib, of all cards
  std::map<std::string, std::string> labels;
};
[[nodiscard]] NodeSpec node_with_cards(const std::string& name, int cards,
                                       const std::string& model = "A100-SXM4-80GB",
                                       int memory_mib = 81'920);
[[nodiscard]] std::string node_json(const NodeSpec& node);
/// {"status": …} of the same node, for a patch of one without cards.
[[nodiscard]] std::string node_status_json(const NodeSpec& node);
/// The value of the annotation tangram.dev/cards.
[[nodiscard]] std::string cards_json(const std::vector<CardSpec>& cards);

/// One container, "main", that requests `gpu` and a slot.
struct PodSpec {
  std::string name;
  std::map<std::string, std::string> gpu;  ///< annotations without the prefix tangram.dev/
  std::string scheduler = "tangram";
  std::string priority_class;
  bool slot = true;
  std::map<std::string, std::string> requests;  ///< further ones; extended resources are limits too
  std::string claim;                            ///< a PersistentVolumeClaim that it mounts
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> node_selector;
  std::string node;   ///< bound at creation; "" = pending
  std::string group;  ///< its PodGroup; "" = none
  std::string rules;  ///< further members of its spec, such as "affinity":{…}; "" = none
};
[[nodiscard]] std::string pod_json(const PodSpec& pod);

/// A pod that requests that fraction of a card: {"gpu-fraction": "0.5"}.
[[nodiscard]] PodSpec fraction_pod(const std::string& name, const std::string& fraction);

}  // namespace tangram::e2e
