#pragma once

#include "base/result.hpp"
#include "extender/admission/settings.hpp"

#include <string>
#include <vector>

/// `fill`: writes into pod templates what the admission webhook will write into their pods, so that
/// what counts templates, as Kueue does, counts the same amounts.
namespace tangram::cli {

/// The documents of one or more files, filled.
struct Filled {
  std::vector<std::string> documents;  ///< YAML; those that needed nothing are as they were written
  std::vector<std::string> refusals;   ///< "job.yaml: document 2 (Job train): pod train: ..."
  std::vector<std::string> notes;      ///< the webhook's warnings, and what was left as it is
};

/// Fills the pod templates of the kinds that pod_templates() knows. A document with a template that
/// the webhook would refuse is left out. What depends on the labels of a namespace is not checked.
/// @param file  for messages
/// @returns kInvalidArgument if the text is no YAML: "job.yaml: line 7: ..."
Result<void> fill(const std::string& file, const std::string& text,
                  const extender::AdmissionSettings& settings, Filled& filled);

/// The documents as one text of YAML.
[[nodiscard]] std::string filled_yaml(const Filled& filled);

}  // namespace tangram::cli
