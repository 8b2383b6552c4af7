#pragma once

#include "base/clock.hpp"
#include "cli/screen.hpp"
#include "kube/api.hpp"

#include <string>
#include <vector>

/// `doctor`: goes through an installation from end to end, and says of everything that is not as it
/// should be what to do next.
namespace tangram::cli {

enum class Level {
  kOk,
  kWarn,  ///< works, or could not be looked at
  kFail,  ///< some pods do not get their cards
};

/// One line of the report.
struct Check {
  Level level = Level::kOk;
  std::string subject = {};  ///< "nodes", "webhook"
  std::string finding = {};  ///< what is so
  std::string next = {};     ///< what to do; empty where all is well
};
using Report = std::vector<Check>;

/// Where to look.
struct Installation {
  kube::KubeApi& api;
  std::string server;            ///< its URL, for the report
  std::string system_namespace;  ///< where Tangram is installed
  const Clock& clock;
};

/// Asks the API server alone, and writes nothing: reviews of rights are stored nowhere. What the
/// user may not see is a warning that names the right.
[[nodiscard]] Report examine(const Installation& installation);

/// Nothing failed.
[[nodiscard]] bool is_well(const Report& report);

[[nodiscard]] std::string draw_report(const Screen& screen, const Report& report);
/// {"checks": [{"level", "subject", "finding", "next"}], "well"}
[[nodiscard]] std::string report_json(const Report& report);

}  // namespace tangram::cli
