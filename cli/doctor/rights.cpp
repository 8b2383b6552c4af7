#include "base/json.hpp"
#include "cli/cluster_settings.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/format.hpp"
#include "cli/json_path.hpp"
#include "cluster/move_request.hpp"

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace tangram::cli {

namespace {

constexpr const char* kReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// One thing that a service account must be allowed to do; see deploy/*/rbac.yaml for why.
struct Right {
  std::string_view verb;
  std::string_view group;  ///< "" = the core group
  std::string_view resource;
  std::string_view subresource = {};
  bool own_namespace = false;  ///< in Tangram's namespace only
  std::string_view name = {};  ///< of one object; empty = all
};

/// As the chart grants them.
/// @param config  outlives them; null = it is not known, and so is which settings need no right, or
///                another one
std::vector<Right> rights_of_extender(const config::Config* config) {
  constexpr bool kOwnNamespace = true;
  std::vector<Right> rights{
      Right{"list", "", "nodes"},
      Right{"watch", "", "nodes"},
      Right{"get", "", "pods"},
      Right{"list", "", "pods"},
      Right{"watch", "", "pods"},
      Right{"patch", "", "pods"},
      Right{"create", "", "pods", "binding"},
      Right{"list", "policy", "poddisruptionbudgets"},
      Right{"watch", "policy", "poddisruptionbudgets"},
      Right{"list", "scheduling.k8s.io", "podgroups"},
      Right{"watch", "scheduling.k8s.io", "podgroups"},
      Right{"create", "events.k8s.io", "events"},
      Right{"patch", "events.k8s.io", "events"},
      Right{"create", "coordination.k8s.io", "leases", "", kOwnNamespace},
  };
  if (config == nullptr) return rights;
  for (const std::string_view verb : {"get", "update"}) {
    rights.push_back(
        {verb, "coordination.k8s.io", "leases", "", kOwnNamespace, config->leader_election.lease});
  }
  const bool nominates =
      config->card_preemption.enabled || config->defrag.enabled || config->defrag.on_request;
  if (nominates) rights.push_back({"patch", "", "pods", "status"});
  if (nominates || config->eviction.enabled || config->broken_cards.evict) {
    rights.push_back({"create", "", "pods", "eviction"});
  }
  if (config->scheduler.wake) {
    rights.push_back(
        {"patch", "storage.k8s.io", "csistoragecapacities", "", kOwnNamespace, "tangram-wake"});
  }
  if (config->defrag.on_request) {
    for (const std::string_view verb : {"get", "patch"}) {
      rights.push_back({verb, "", "configmaps", "", kOwnNamespace, cluster::kMoveRequests});
    }
  }
  if (config->metrics.authentication == config::MetricsAuthentication::kToken) {
    rights.push_back({"create", "authentication.k8s.io", "tokenreviews"});
    rights.push_back({"create", "authorization.k8s.io", "subjectaccessreviews"});
  }
  return rights;
}

constexpr std::array kAgent{
    Right{"get", "", "nodes"},
    Right{"list", "", "nodes"},
    Right{"watch", "", "nodes"},
    Right{"patch", "", "nodes"},
    Right{"patch", "", "nodes", "status"},
    Right{"get", "", "pods"},
    Right{"list", "", "pods"},
    Right{"watch", "", "pods"},
    Right{"list", "resource.k8s.io", "resourceslices"},
    Right{"create", "events.k8s.io", "events"},
    Right{"patch", "events.k8s.io", "events"},
};

std::string review_of(const Installation& installation, const std::string& account,
                      const Right& right) {
  const std::string group = "system:serviceaccounts:" + installation.system_namespace;
  std::string text;
  json::Writer out(text);
  out.begin_object().member("apiVersion", "authorization.k8s.io/v1");
  out.member("kind", "SubjectAccessReview").key("spec").begin_object();
  out.member("user", "system:serviceaccount:" + installation.system_namespace + ":" + account);
  out.key("groups").begin_array().string("system:serviceaccounts").string(group);
  out.string("system:authenticated").end_array();
  out.key("resourceAttributes").begin_object().member("verb", right.verb);
  out.member("group", right.group).member("resource", right.resource);
  if (!right.subresource.empty()) out.member("subresource", right.subresource);
  if (right.own_namespace) out.member("namespace", installation.system_namespace);
  if (!right.name.empty()) out.member("name", right.name);
  out.end_object().end_object().end_object();
  return text;
}

std::string name_of(const Right& right) {
  std::string text = std::string(right.verb) + " " + std::string(right.resource);
  if (!right.subresource.empty()) text.append("/").append(right.subresource);
  if (!right.name.empty()) text.append(" ").append(right.name);
  return text;
}

void check_account(const Examination& examination, const std::string& account,
                   std::span<const Right> rights, const std::string& file) {
  constexpr const char* kSubject = "rights";
  const Installation& installation = examination.installation;
  std::vector<std::string> missing;
  for (const Right& right : rights) {
    const Reading review =
        try_post(installation.api, kReviews, review_of(installation, account, right));
    if (!review.found()) return examination.unreadable(kSubject, review);
    if (value_at(review.text, {"status", "allowed"}) != "true") missing.push_back(name_of(right));
  }
  if (missing.empty()) {
    return examination.ok(
        kSubject, account + " has the " + std::to_string(rights.size()) + " rights that it needs");
  }
  examination.fail(kSubject, account + " may not: " + joined(missing), "kubectl apply -f " + file);
}

}  // namespace

void check_rights(const Examination& examination, const ClusterSettings& settings) {
  const auto extender = rights_of_extender(settings.config ? &*settings.config : nullptr);
  check_account(examination, "tangram-extender", extender, "deploy/scheduler/rbac.yaml");
  check_account(examination, "tangram-node", kAgent, "deploy/node/rbac.yaml");
}

}  // namespace tangram::cli
