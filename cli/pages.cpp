#include "cli/pages.hpp"

#include "base/json.hpp"
#include "cli/api_reading.hpp"
#include "cli/cluster_settings.hpp"
#include "cluster/views.hpp"
#include "kube/url.hpp"

namespace tangram::cli {

namespace {

constexpr int kBadRequest = 400;

/// For a pod with invalid annotations the extender returns no more than an error.
std::string explained_mistake(const std::string& ns, const std::string& pod,
                              const std::string& mistake) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("namespace", ns).member("name", pod).member("state", "pending");
  out.key("findings").begin_array().begin_object();
  out.member("finding", to_string(cluster::Finding::kRequestInvalid)).member("message", mistake);
  out.end_object().end_array();
  out.member("summary", "its annotations are invalid, so no node can take it").end_object();
  return text;
}

Result<std::string> with_mistake(Result<std::string> page, const std::string& ns,
                                 const std::string& pod) {
  if (page || page.error().code != Errc::kInvalidArgument) return page;
  return explained_mistake(ns, pod, page.error().message);
}

Result<std::string> page(const ExtenderAt& extender, const std::string& path, const Query& query) {
  Reading read = try_get(extender.api, extender.prefix + path, query);
  if (read.found()) return std::move(read.text);
  if (read.outcome == Reading::Outcome::kMissing) {
    return fail(Errc::kNotFound, "extender: " + read.problem);
  }
  if (read.status == kBadRequest) {
    return fail(Errc::kInvalidArgument, read.problem.substr(read.problem.find(' ') + 1));
  }
  return fail(Errc::kUnavailable,
              "extender: " + read.problem +
                  "; without --extender the ledger is built from the cluster's objects");
}

}  // namespace

std::string service_proxy(const std::string& system_namespace) {
  return "/api/v1/namespaces/" + kube::percent_encode(system_namespace) +
         "/services/https:" + kExtenderName + ":https/proxy";
}

Result<std::string> cluster_page(const ExtenderAt& extender) {
  return page(extender, "/api/v1/cluster", {});
}

std::string cluster_page(const Cluster& cluster) {
  return cluster::cluster_json(*cluster.snapshot(), cluster.table());
}

Result<std::string> explain_page(const ExtenderAt& extender, const std::string& ns,
                                 const std::string& pod) {
  return with_mistake(page(extender, "/api/v1/explain", {{"namespace", ns}, {"pod", pod}}), ns,
                      pod);
}

Result<std::string> explain_page(const Cluster& cluster, const std::string& ns,
                                 const std::string& pod) {
  return with_mistake(
      cluster::explain_json(ns, pod, *cluster.snapshot(), cluster.table(), cluster.policies()), ns,
      pod);
}

}  // namespace tangram::cli
