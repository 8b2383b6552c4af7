#include "cluster/label_sets.hpp"

#include <boost/container_hash/hash.hpp>

#include <utility>

namespace tangram::cluster {

model::SharedLabels LabelSets::shared(model::SharedLabels labels) {
  if (labels.empty()) return labels;
  if (known_.size() == kMost) known_.clear();
  model::SharedLabels& known = known_[boost::hash_value(labels.get())];
  if (known != labels) known = std::move(labels);
  return known;
}

}  // namespace tangram::cluster
