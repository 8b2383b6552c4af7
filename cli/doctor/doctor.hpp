#pragma once

#include "base/clock.hpp"
#include "cli/screen.hpp"
#include "kube/api.hpp"

#include <string>
#include <vector>

/// `doctor`: examines an installation from end to end, and says for each problem what to do next.
namespace tangram::cli {

enum class Level {
  kOk,
  kWarn,  ///< works, or cannot be read
  kFail,  ///< some pods do not get their cards, or may see others
};

/// One line of the report.
struct Check {
  Level level = Level::kOk;
  std::string subject = {};  ///< "nodes", "webhook"
  std::string finding = {};  ///< what was found
  std::string next = {};     ///< what to do; empty if kOk
};
using Report = std::vector<Check>;

/// Where to look.
struct Installation {
  kube::KubeApi& api;
  std::string server;            ///< its URL, for the report
  std::string system_namespace;  ///< where Tangram is installed
  const Clock& clock;
};

/// Reads from the API server alone and writes nothing: reviews of rights are not stored. What the
/// user may not read becomes a warning that names the right.
[[nodiscard]] Report examine(const Installation& installation);

/// Nothing failed.
[[nodiscard]] bool passed(const Report& report);

[[nodiscard]] std::string draw_report(const Screen& screen, const Report& report);
/// {"checks": [{"level", "subject", "finding", "next"}], "well"}
[[nodiscard]] std::string report_json(const Report& report);

}  // namespace tangram::cli
