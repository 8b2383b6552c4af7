#include "cli/pages.hpp"

#include "cli/api_reading.hpp"
#include "cli/cluster_settings.hpp"
#include "extender/views.hpp"
#include "kube/url.hpp"

namespace tangram::cli {

namespace {

Result<std::string> page(const ExtenderAt& extender, const std::string& path, const Query& query) {
  Reading read = look(extender.api, extender.prefix + path, query);
  if (read.found()) return std::move(read.text);
  if (read.outcome == Reading::Outcome::kMissing) {
    return fail(Errc::kNotFound, "extender: " + read.problem);
  }
  return fail(Errc::kUnavailable, "extender: " + read.problem +
                                      "; without --extender the books are made from the "
                                      "cluster's objects");
}

}  // namespace

std::string service_proxy(const std::string& system_namespace) {
  return "/api/v1/namespaces/" + kube::percent_encode(system_namespace) + "/services/https:" +
         kExtenderName + ":https/proxy";
}

Result<std::string> cluster_page(const ExtenderAt& extender) {
  return page(extender, "/api/v1/cluster", {});
}

std::string cluster_page(const Cluster& cluster) {
  return extender::cluster_json(*cluster.snapshot(), cluster.pending());
}

Result<std::string> explain_page(const ExtenderAt& extender, const std::string& ns,
                                 const std::string& pod) {
  return page(extender, "/api/v1/explain", {{"namespace", ns}, {"pod", pod}});
}

Result<std::string> explain_page(const Cluster& cluster, const std::string& ns,
                                 const std::string& pod) {
  return extender::explain_json(ns, pod, *cluster.snapshot(), cluster.pending(), cluster.policies(),
                                cluster.findings());
}

}  // namespace tangram::cli
