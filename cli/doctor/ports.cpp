#include "base/quote.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/json_path.hpp"
#include "cli/webhook.hpp"

#include <charconv>
#include <map>
#include <optional>
#include <string_view>

namespace tangram::cli {

namespace {

constexpr const char* kSchedulerName = "tangram-scheduler";
constexpr const char* kSchedulerKey = "scheduler-config.yaml";

/// A setting of the extender: where it listens.
struct Listener {
  std::string setting;
  std::optional<Endpoint> endpoint;  ///< nothing = it does not
};

/// What a port of a Service is for.
Listener listener_of(const config::Config& config, std::string_view service,
                     std::string_view port) {
  if (service == kWebhookService) return {"webhook.listen", config.webhook.listen};
  if (port == kMetricsPort && config.metrics.listen) {
    return {"metrics.listen", config.metrics.listen};
  }
  return {"server.listen", config.server.listen};
}

/// The ports of the Deployment's containers, by name.
std::map<std::string, std::int64_t> container_ports(const std::string& deployment) {
  std::map<std::string, std::int64_t> ports;
  for_each_at(deployment, {"spec", "template", "spec", "containers"},
              [&](std::string_view container) {
                for_each_at(container, {"ports"}, [&](std::string_view port) {
                  ports[text_at(port, {"name"})] = number_at(port, {"containerPort"}).value_or(0);
                });
              });
  return ports;
}

/// The ports of one Service of the extender, compared with its settings.
class ServicePorts {
 public:
  ServicePorts(const Examination& examination, std::string service, const std::string& deployment,
               const config::Config& config)
      : examination_(examination),
        service_(std::move(service)),
        named_(container_ports(deployment)),
        config_(config) {}

  void check(std::string_view port) const {
    const std::string from =
        "sends port " + std::to_string(number_at(port, {"port"}).value_or(0)) + " to port ";
    const std::string name = text_at(port, {"targetPort"});
    if (!name.empty() && !named_.contains(name)) {
      return fail(
          from + quote(name) + ", which no container of Deployment " + kExtenderName + " has",
          "write the name or the number of one of its ports into targetPort");
    }
    const std::int64_t target =
        name.empty()
            ? number_at(port, {"targetPort"}).value_or(number_at(port, {"port"}).value_or(0))
            : named_.at(name);
    const Listener listener = listener_of(config_, service_, text_at(port, {"name"}));
    if (listener.endpoint && listener.endpoint->port == target) return;
    const std::string listens =
        listener.endpoint ? "is port " + std::to_string(listener.endpoint->port) : "is not set";
    fail(from + std::to_string(target) + ", but " + listener.setting + " of ConfigMap " +
             kExtenderName + " " + listens,
         "write the same port into both, and restart the extender");
  }

 private:
  void fail(const std::string& finding, const std::string& next) const {
    examination_.fail("Service " + service_, finding, next);
  }

  const Examination& examination_;
  std::string service_;
  std::map<std::string, std::int64_t> named_;
  const config::Config& config_;
};

/// "https://host:9898/path".
struct Url {
  std::string_view host;
  std::int64_t port = 0;
};
Url url_of(std::string_view text) {
  Url url{.host = {}, .port = text.starts_with("https:") ? 443 : 80};
  if (const auto scheme = text.find("://"); scheme != std::string_view::npos) {
    text.remove_prefix(scheme + 3);
  }
  url.host = text.substr(0, text.find('/'));
  const auto colon = url.host.rfind(':');
  if (colon == std::string_view::npos || url.host.ends_with(']')) return url;
  const std::string_view port = url.host.substr(colon + 1);
  std::from_chars(port.data(), port.data() + port.size(), url.port);
  url.host = url.host.substr(0, colon);
  return url;
}

/// The values of `urlPrefix` in a text of YAML.
std::vector<std::string> url_prefixes(std::string_view yaml) {
  constexpr std::string_view kKey = "urlPrefix:";
  constexpr std::string_view kAround = " \t\r\"'";
  std::vector<std::string> urls;
  while (!yaml.empty()) {
    std::string_view line = yaml.substr(0, yaml.find('\n'));
    yaml.remove_prefix(std::min(yaml.size(), line.size() + 1));
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" -")));
    if (!line.starts_with(kKey)) continue;
    line.remove_prefix(kKey.size());
    line = line.substr(0, line.find(" #"));
    const auto begin = line.find_first_not_of(kAround);
    if (begin == std::string_view::npos) continue;
    urls.emplace_back(line.substr(begin, line.find_last_not_of(kAround) + 1 - begin));
  }
  return urls;
}

/// The scheduler of the chart calls the Service where it listens.
void check_scheduler(const Examination& examination, std::int64_t served) {
  const std::string subject = std::string("ConfigMap ") + kSchedulerName;
  const Reading read = examination.get("/api/v1", std::string("/configmaps/") + kSchedulerName);
  // Other schedulers keep their configuration in files.
  if (read.outcome == Reading::Outcome::kMissing) return;
  if (!read.found()) return examination.unreadable(subject, read);
  for (const std::string& prefix : url_prefixes(unescaped_at(read.text, {"data", kSchedulerKey}))) {
    const Url url = url_of(prefix);
    if (!url.host.starts_with(kExtenderName) || url.port == served) continue;
    examination.fail(subject,
                     "urlPrefix " + prefix + " names port " + std::to_string(url.port) +
                         ", but Service " + kExtenderName + " takes its calls at port " +
                         std::to_string(served),
                     "write that port into urlPrefix, and restart Deployment tangram-scheduler");
  }
}

}  // namespace

std::optional<std::int64_t> served_port(const std::string& service) {
  std::optional<std::int64_t> served;
  for_each_at(service, {"spec", "ports"}, [&](std::string_view port) {
    if (!served && text_at(port, {"name"}) != kMetricsPort) served = number_at(port, {"port"});
  });
  return served;
}

void check_ports(const Examination& examination, const std::string& deployment,
                 const config::Config& config) {
  for (const std::string& name : {std::string(kExtenderName), std::string(kWebhookService)}) {
    const Reading service = examination.get("/api/v1", "/services/" + name);
    if (!service.found()) continue;  // its own check says so
    const ServicePorts ports(examination, name, deployment, config);
    for_each_at(service.text, {"spec", "ports"}, [&](std::string_view port) { ports.check(port); });
    const auto served = served_port(service.text);
    if (name == kExtenderName && served) check_scheduler(examination, *served);
  }
}

}  // namespace tangram::cli
