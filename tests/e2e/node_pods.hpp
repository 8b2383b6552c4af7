#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

namespace tangram::e2e {

/// A container that the real node starts; its program is container.cpp.
struct ContainerSpec {
  std::string name = "main";
  bool slot = false;
  std::map<std::string, std::string> gpu = {};  ///< its own share annotations, without prefix
  std::vector<std::string> program = {"hold"};
  bool sidecar = false;     ///< an init container that is restarted
  bool cuda_image = false;  ///< its image requests all cards, in NVIDIA_VISIBLE_DEVICES
  std::string image = {};   ///< instead of the tests' own; "" = those
  std::map<std::string, std::string> env = {};
};

struct NodePod {
  std::string name;
  std::vector<ContainerSpec> containers;
  std::map<std::string, std::string> annotations = {};  ///< of the whole pod, without prefix
  std::string scheduler = "tangram";
  std::string node = {};  ///< bound at creation, without kube-scheduler; "" = pending
  std::string restart = "Always";
  std::map<std::string, std::string> resources = {};  ///< limits of the first container
  std::map<std::string, std::string> labels = {};
  std::string runtime_class = {};  ///< "" = none
};
[[nodiscard]] std::string node_pod_json(const NodePod& pod);
/// Only the template's part: metadata without a name, and spec.
[[nodiscard]] std::string node_pod_template_json(const NodePod& pod);

/// One container, "main", with that share; runs `program`.
[[nodiscard]] NodePod gpu_pod(const std::string& name,
                              const std::map<std::string, std::string>& share,
                              const std::vector<std::string>& program = {"hold"});
/// The same without a card.
[[nodiscard]] NodePod plain_pod(const std::string& name,
                                const std::vector<std::string>& program = {"hold"});

/// Pods of one to three containers. One or two of them request random shares in every form;
/// some pods have another one that requests none. 40 pods fill at most 6 of 8 cards of 80 GiB.
[[nodiscard]] std::vector<NodePod> random_pods(int count, const std::string& prefix,
                                               std::mt19937& random);

}  // namespace tangram::e2e
