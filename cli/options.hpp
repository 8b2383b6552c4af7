#pragma once

#include "cli/autoscaler.hpp"
#include "cli/cluster_settings.hpp"
#include "cli/connection.hpp"
#include "cli/fit.hpp"
#include "cli/resize.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

/// The options of the command line.
namespace tangram::cli {

enum class Output { kText, kWide, kJson, kYaml };

/// `--extender proxy`: the extender's Service, through the API server.
inline constexpr const char* kByProxy = "proxy";

struct Options {
  std::string command;  ///< its name: "top"

  Target target;
  std::string ns;  ///< empty = the context's
  bool all_namespaces = false;
  Output output = Output::kText;
  bool watch = false;
  ExtenderTarget extender;  ///< url: empty = none, kByProxy, or a URL
  std::string system_namespace = kSystemNamespace;

  std::vector<std::string> nodes;  ///< top
  std::string pod;                 ///< explain, resize; "NAME", or "NAMESPACE/NAME"
  FitRequest fit;
  std::string file;                ///< whatif; "-" = standard input
  std::vector<std::string> files;  ///< fill; the same
  std::size_t most_moves = 10;     ///< defrag
  bool run_moves = false;          ///< defrag
  int moves_timeout_s = 600;       ///< defrag
  bool offline = false;            ///< fill: with the default settings
  std::string autoscaler;          ///< autoscaler: for whom
  NodeGroup group;                 ///< autoscaler
  std::string card;                ///< cordon-card, drain-card, uncordon-card, reset-card
  std::string reason;              ///< cordon-card, drain-card
  std::string shell;               ///< completion

  ResizeOrder resize;        ///< without the pod
  bool with_linked = false;  ///< reset-card
  bool wait = false;         ///< resize, reset-card
  int timeout_s = 60;        ///< of the wait
};

/// The parser with its help texts. It writes into `options`, which must outlive it.
[[nodiscard]] std::unique_ptr<CLI::App> make_parser(Options& options);

/// What the value of that request annotation, or of its option, may be; empty = not a closed set.
[[nodiscard]] std::vector<std::string> request_values(std::string_view key);

struct Parsed {
  Options options;
  int exit = -1;        ///< not -1: print `message` and exit with it
  std::string message;  ///< help, version, or what is wrong
};
[[nodiscard]] Parsed parse_options(const std::vector<std::string>& arguments);

// Exit codes.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadUsage = 2;  ///< the command line is invalid
inline constexpr int kNo = 3;        ///< done, and the answer is no: does not fit, a check failed

}  // namespace tangram::cli
