#include "base/json.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/format.hpp"
#include "cli/json_path.hpp"

#include <array>
#include <span>
#include <string_view>

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
};

constexpr std::array kExtender{
    Right{"list", "", "nodes"},
    Right{"watch", "", "nodes"},
    Right{"get", "", "pods"},
    Right{"list", "", "pods"},
    Right{"watch", "", "pods"},
    Right{"patch", "", "pods"},
    Right{"create", "", "pods", "binding"},
    Right{"create", "", "pods", "eviction"},
    Right{"list", "policy", "poddisruptionbudgets"},
    Right{"watch", "policy", "poddisruptionbudgets"},
    Right{"list", "scheduling.k8s.io", "podgroups"},
    Right{"watch", "scheduling.k8s.io", "podgroups"},
    Right{"create", "events.k8s.io", "events"},
    Right{"patch", "events.k8s.io", "events"},
    Right{"create", "coordination.k8s.io", "leases", "", true},
};
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
  out.end_object().end_object().end_object();
  return text;
}

std::string name_of(const Right& right) {
  std::string text = std::string(right.verb) + " " + std::string(right.resource);
  if (!right.subresource.empty()) text.append("/").append(right.subresource);
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

void check_rights(const Examination& examination) {
  check_account(examination, "tangram-extender", kExtender, "deploy/scheduler/rbac.yaml");
  check_account(examination, "tangram-node", kAgent, "deploy/node/rbac.yaml");
}

}  // namespace tangram::cli
