#include "tests/e2e/stack.hpp"

#include "base/file.hpp"
#include "http/client.hpp"
#include "source_dir.hpp"
#include "tests/e2e/environment.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace tangram::e2e {

namespace {

using namespace std::chrono_literals;

std::filesystem::path log_of(const std::string& name) {
  return environment().state / "logs" / (name + ".log");
}

/// Sets the value of `key` in a line such as "  - urlPrefix: x"; other lines stay.
void set_value(std::string& line, const std::string& key, const std::string& value) {
  const auto at = line.find(key + ":");
  if (at == std::string::npos || line.find('#') < at) return;
  line = line.substr(0, at) + key + ": " + value;
}

/// The folder of the certificates in the files of deploy/scheduler.
constexpr std::string_view kShippedFolder = "/etc/kubernetes/tangram";

/// Adapts a line about TLS to the options, with the folder of this run.
/// @returns false if the line is to be omitted
bool adapt_tls(std::string& line, const SchedulerOptions& options) {
  const bool own =
      line.find("certFile:") != std::string::npos || line.find("keyFile:") != std::string::npos;
  const bool tls = own || line.find("enableHTTPS:") != std::string::npos ||
                   line.find("tlsConfig:") != std::string::npos ||
                   line.find("caFile:") != std::string::npos ||
                   line.find("serverName:") != std::string::npos;
  if (!tls) return true;
  if (options.certificates.empty() || (own && !options.own_certificate)) return false;
  const auto at = line.find(kShippedFolder);
  if (at != std::string::npos) {
    line.replace(at, kShippedFolder.size(), options.certificates.string());
  }
  return true;
}

/// What the options add behind a line of the file.
std::string added_behind(const std::string& line, const SchedulerOptions& options) {
  if (options.client_qps > 0 && line == "clientConnection:") {
    return "  qps: " + std::to_string(options.client_qps) + "\n  burst: 2000\n";
  }
  if (options.parallelism > 0 && line.starts_with("kind:")) {
    return "parallelism: " + std::to_string(options.parallelism) + "\n";
  }
  if (options.without.empty() || line != "- schedulerName: tangram") return "";
  std::string added = "  plugins:\n    multiPoint:\n      disabled:\n";
  for (const std::string& plugin : options.without) added += "      - name: " + plugin + "\n";
  return added;
}

std::string scheduler_config(const SchedulerOptions& options) {
  std::ifstream shipped(TANGRAM_SOURCE_DIR "/deploy/scheduler/" + options.config);
  std::string config;
  for (std::string line; std::getline(shipped, line);) {
    if (options.extender_url.empty() && line.starts_with("extenders:")) break;
    if (!adapt_tls(line, options)) continue;
    set_value(line, "urlPrefix", options.extender_url);
    set_value(line, "kubeconfig", environment().scheduler_kubeconfig);
    set_value(line, "leaderElect", "false");
    if (options.weight > 0) set_value(line, "weight", std::to_string(options.weight));
    set_value(line, "percentageOfNodesToScore", std::to_string(options.percentage_of_nodes));
    config += line + "\n" + added_behind(line, options);
  }
  if (!options.second_url.empty()) {  // the list of extenders ends the file
    config += "- urlPrefix: " + options.second_url + "\n  filterVerb: filter\n" +
              "  nodeCacheCapable: true\n";
  }
  return config;
}

}  // namespace

ExtenderProcess::ExtenderProcess(Options options)
    : options_(std::move(options)),
      port_(free_port()),
      metrics_port_(options_.certificates.empty() ? port_ : free_port()) {
  if (options_.kubeconfig.empty()) options_.kubeconfig = environment().extender_kubeconfig;
}

void ExtenderProcess::start() {
  std::vector<std::string> command = {options_.program.empty() ? environment().extender
                                                               : options_.program.string()};
  const auto set = [&](const std::string& setting) {
    command.insert(command.end(), {"--set", setting});
  };
  set("server.listen=127.0.0.1:" + std::to_string(port_));
  if (!options_.certificates.empty()) {
    const auto path = [&](const char* name) { return (options_.certificates / name).string(); };
    set("metrics.listen=127.0.0.1:" + std::to_string(metrics_port_));
    set("tls.certificate=" + path("tls.crt"));
    set("tls.key=" + path("tls.key"));
    set("tls.client_ca=" + path("ca.crt"));
    set("tls.client_names=system:kube-scheduler");
  }
  set("kube.source=kubeconfig");
  set("kube.kubeconfig=" + options_.kubeconfig);
  set("grants.signing_key=" + (environment().state / "grant-key/grant.key").string());
  set("grants.public_keys=" + (environment().state / "grant-keys").string());
  set("grants.required=true");
  std::vector<std::string> variables{"POD_NAMESPACE=tangram-system"};
  if (options_.pod.empty()) {
    set("leader_election.enabled=false");
  } else {
    variables.push_back("POD_NAME=" + options_.pod);
  }
  for (const auto& setting : options_.settings) set(setting);
  auto started = Process::start(command, log(), variables);
  if (!started) throw std::runtime_error(started.error().message);
  process_ = std::move(*started);
}

void ExtenderProcess::replace_by(const std::filesystem::path& program) {
  process_->terminate();
  options_.program = program;
  start_ready();
}

std::filesystem::path ExtenderProcess::log() const { return log_of(options_.name); }

std::chrono::milliseconds ExtenderProcess::wait_ready() {
  const auto begin = std::chrono::steady_clock::now();
  while (!ready()) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (!process_->running() || waited > 1min) {
      throw std::runtime_error(options_.name + " is not ready:\n" + tail(log()));
    }
    std::this_thread::sleep_for(10ms);  // polls: no event reports the change
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               begin);
}

std::string ExtenderProcess::url() const {
  const std::string scheme = options_.certificates.empty() ? "http" : "https";
  return scheme + "://127.0.0.1:" + std::to_string(port_);
}

std::string ExtenderProcess::get(const std::string& target) const {
  const bool page = target.starts_with("/api/");
  http::Client client;
  if (page && !options_.certificates.empty()) {
    const auto ca = read_file((options_.certificates / "ca.crt").string()).value();
    client = http::Client({.ca = ca, .server_name = "127.0.0.1"});
  }
  const int port = page ? port_ : metrics_port_;
  if (!client.connect("127.0.0.1", static_cast<std::uint16_t>(port))) return {};
  auto reply = client.request("GET", target);
  return reply ? reply->body : std::string();
}

bool ExtenderProcess::ready() const { return get("/readyz").starts_with("ok"); }

double metric_in(const std::string& metrics, const std::string& name, const std::string& labels) {
  std::istringstream lines(metrics);
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool same_name =
        line.starts_with(name) && (line[name.size()] == '{' || line[name.size()] == ' ');
    if (!same_name || line.find(labels) == std::string::npos) continue;
    sum += std::stod(line.substr(line.rfind(' ')));
  }
  return sum;
}

Process start_scheduler(const SchedulerOptions& options) {
  const auto config = environment().state / (options.name + ".yaml");
  std::ofstream(config) << scheduler_config(options);
  const std::string program = options.program.empty() ? environment().scheduler : options.program;
  std::vector<std::string> command = {program,         "--config", config.string(),
                                      "--secure-port", "0",        "--v=1"};
  std::vector<std::string> gates = options.feature_gates;
  // It would wait for a kind of object that our API server does not have yet.
  if (program == environment().scheduler_1_37) gates.emplace_back("DRADeviceTaintRules=false");
  for (const std::string& gate : gates) command.push_back("--feature-gates=" + gate);
  auto started = Process::start(command, log_of(options.name));
  if (!started) throw std::runtime_error(started.error().message);
  return std::move(*started);
}

}  // namespace tangram::e2e
