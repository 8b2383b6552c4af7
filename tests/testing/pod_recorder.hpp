#pragma once

#include "cluster/pod_table.hpp"

#include <string>
#include <vector>

namespace tangram::testing {

/// Writes down what a pod table reports.
struct PodRecorder final : cluster::PodObserver {
  void listing(bool begins) override { lists.push_back(begins); }
  void arrived(const kube::Pod& pod, const Result<cluster::PodPlan>& /*plan*/) override {
    arrivals.push_back(pod.uid);
  }
  void noted(const cluster::PodName& pod, const cluster::Note& note) override {
    notes.push_back(pod.name + " " + std::string(to_string(note.finding)));
  }

  std::vector<bool> lists;
  std::vector<std::string> arrivals;  ///< UIDs
  std::vector<std::string> notes;     ///< "pod SlotMissing"
};

/// Puts a pod that waits for a node into the table.
inline void put_pending(cluster::PodTable& table, kube::Pod pod) {
  const std::string uid = pod.uid;
  cluster::PodRecord record;
  record.pending = std::make_shared<kube::Pod>(std::move(pod));
  table.put(uid, std::move(record));
}

}  // namespace tangram::testing
