#include "tests/e2e/agent_identity.hpp"

#include "source_dir.hpp"
#include "tests/e2e/environment.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/raw_json.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tangram::e2e {

namespace {

const std::string kPods = "/api/v1/namespaces/tangram-system/pods";

std::string kubectl_output(const std::vector<std::string>& arguments) {
  auto answer = kubectl(arguments);
  if (!answer.done()) throw std::runtime_error(answer.text);
  answer.text.erase(answer.text.find_last_not_of('\n') + 1);
  return std::move(answer.text);
}

std::string token(const std::vector<std::string>& further = {}) {
  std::vector<std::string> arguments = {"--namespace", "tangram-system", "create", "token",
                                        "tangram-node"};
  arguments.insert(arguments.end(), further.begin(), further.end());
  return kubectl_output(arguments);
}

/// Like write_kubeconfig of certificates.sh.
std::string write_kubeconfig(const std::string& name, const std::string& token) {
  const auto file = environment().state / (name + ".kubeconfig");
  std::string port;
  std::ifstream(environment().state / "apiserver-port") >> port;
  std::ofstream(file) << "{apiVersion: v1, kind: Config, current-context: e2e, "
                         "contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}], "
                         "clusters: [{name: e2e, cluster: {server: \"https://127.0.0.1:"
                      << port << "\", certificate-authority: \""
                      << (environment().state / "pki/ca.crt").string()
                      << "\"}}], users: [{name: e2e, user: {token: \"" << token << "\"}}]}\n";
  return file.string();
}

}  // namespace

AgentIdentity::AgentIdentity(Cluster& cluster, const std::string& node)
    : cluster_(cluster), pod_("agent-" + node) {
  remove();
  cluster_.create(kPods, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + pod_ +
                             R"("},"spec":{"serviceAccountName":"tangram-node","nodeName":")" +
                             node +
                             R"(","containers":[{"name":"agent","image":"tangram-node"}]}})");
  const std::string uid = text_of(parse_json(cluster_.get(kPods + "/" + pod_))["metadata"], "uid");
  kubeconfig_ = write_kubeconfig(pod_, token({"--bound-object-kind", "Pod", "--bound-object-name",
                                              pod_, "--bound-object-uid", uid}));
}

AgentIdentity::~AgentIdentity() { remove(); }

/// By force, since no kubelet ends the pod.
void AgentIdentity::remove() const {
  kubectl({"--namespace", "tangram-system", "delete", "pod", pod_, "--ignore-not-found", "--force",
           "--grace-period=0"});
}

void AgentIdentity::apply_rights(const std::string& policy) {
  for (const std::string& file : {std::string("rbac.yaml"), policy}) {
    kubectl_output({"apply", "-f", TANGRAM_SOURCE_DIR "/deploy/node/" + file});
  }
}

std::string agent_without_node() { return write_kubeconfig("agent-without-node", token()); }

}  // namespace tangram::e2e
