#pragma once

#include "cli/cluster_settings.hpp"
#include "cli/connection.hpp"
#include "cli/fit.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

/// What the command line says.
namespace tangram::cli {

enum class Command {
  kTop,
  kPods,
  kExplain,
  kFit,
  kWhatIf,
  kCordonCard,
  kUncordonCard,
  kDoctor,
  kCompletion,
};

enum class Output { kText, kWide, kJson, kYaml };

/// `--extender proxy`: through the API server, by the Service.
inline constexpr const char* kByProxy = "proxy";

struct Options {
  Command command = Command::kTop;

  Target target;
  std::string ns;  ///< empty = the context's
  bool all_namespaces = false;
  Output output = Output::kText;
  bool watch = false;
  ExtenderTarget extender;  ///< url: empty = none, kByProxy, or a URL
  std::string system_namespace = kSystemNamespace;

  std::vector<std::string> nodes;  ///< top
  std::string pod;                 ///< explain; "NAME", or "NAMESPACE/NAME"
  FitQuestion fit;
  std::string file;    ///< whatif; "-" = standard input
  std::string card;    ///< cordon-card, uncordon-card
  std::string reason;  ///< cordon-card
  std::string shell;   ///< completion
};

/// The parser with its texts, writing into `options`, which must outlive it.
[[nodiscard]] std::unique_ptr<CLI::App> make_parser(Options& options);

/// What the value of that request annotation, or of its option, may be; empty = not a closed set.
[[nodiscard]] std::vector<std::string> request_values(std::string_view key);

struct Parsed {
  Options options;
  int exit = -1;     ///< not -1: nothing is left to do, and `says` is all
  std::string says;  ///< help, version, or what is wrong
};
[[nodiscard]] Parsed parse_options(const std::vector<std::string>& arguments);

// What the program ends with.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;    ///< it could not be done
inline constexpr int kBadUsage = 2;  ///< the command line is wrong
inline constexpr int kNo = 3;  ///< it was done, and the answer is no: it does not fit, is not well

}  // namespace tangram::cli
