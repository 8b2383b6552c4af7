#include "base/base64.hpp"
#include "base/file.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"
#include "kube/rest/rest_config.hpp"

#include <yaml-cpp/yaml.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::kube {

namespace {

constexpr std::string_view kUseInstead =
    "use a service account's token (kubectl create token) or a client certificate";

/// Thrown and caught in this file: yaml-cpp throws anyway.
struct Mistake {
  std::string message;
};

bool is_there(const YAML::Node& node) { return node.IsDefined() && !node.IsNull(); }

/// A member's text; "" if it is not there.
std::string text_of(const YAML::Node& map, const std::string& key) {
  const YAML::Node value = map[key];
  if (!is_there(value)) return "";
  if (!value.IsScalar()) throw Mistake{key + " is not a text; write one, in quotes"};
  return value.Scalar();
}

bool flag_of(const YAML::Node& map, const std::string& key) {
  const std::string text = text_of(map, key);
  if (text.empty() || text == "false") return false;
  if (text == "true") return true;
  throw Mistake{key + " is " + quote(text) + "; write true or false"};
}

/// The value beside a name in one of the three lists: {name: NAME, <key>: {...}}.
YAML::Node entry_of(const YAML::Node& root, const std::string& list, const std::string& key,
                    const std::string& name) {
  for (const YAML::Node& entry : root[list]) {
    if (!entry.IsMap() || text_of(entry, "name") != name) continue;
    const YAML::Node value = entry[key];
    if (!value.IsMap()) break;
    return value;
  }
  throw Mistake{"has no " + key + " " + quote(name) + " in its " + list +
                "; see kubectl config view"};
}

class Kubeconfig {
 public:
  Kubeconfig(const std::string& path, const YAML::Node& root)
      : folder_(std::filesystem::absolute(path).parent_path()), root_(root) {
    if (!root_.IsMap()) throw Mistake{"is no kubeconfig; see kubectl config view"};
  }

  RestConfig read(const std::string& wanted) const {
    const std::string name = wanted.empty() ? text_of(root_, "current-context") : wanted;
    if (name.empty()) {
      throw Mistake{
          "has no current-context; name a context, or run kubectl config use-context NAME"};
    }
    const YAML::Node context = entry_of(root_, "contexts", "context", name);
    RestConfig config;
    config.ns = text_of(context, "namespace");
    read_cluster(text_of(context, "cluster"), config);
    // A server behind a tunnel may require no credentials.
    const std::string user = text_of(context, "user");
    if (!user.empty()) read_user(user, config);
    return config;
  }

 private:
  void read_cluster(const std::string& name, RestConfig& config) const {
    const YAML::Node cluster = entry_of(root_, "clusters", "cluster", name);
    const std::string where = "cluster " + quote(name);
    if (is_there(cluster["proxy-url"])) {
      throw Mistake{where +
                    " has a proxy-url, and proxies are not supported; write the server's "
                    "own address, or a tunnel's"};
    }
    config.server = text_of(cluster, "server");
    if (config.server.empty()) throw Mistake{where + " has no server; write its URL"};
    config.ca = data_or_file(cluster, "certificate-authority");
    config.insecure_skip_tls_verify = flag_of(cluster, "insecure-skip-tls-verify");
    config.tls_server_name = text_of(cluster, "tls-server-name");
  }

  void read_user(const std::string& name, RestConfig& config) const {
    const YAML::Node user = entry_of(root_, "users", "user", name);
    refuse_what_cannot_be_honoured(user, "user " + quote(name));
    config.client_certificate = data_or_file(user, "client-certificate");
    config.client_key = data_or_file(user, "client-key");
    // As Kubernetes' own clients: of the two the file is the fresher one.
    config.token.file = resolved(text_of(user, "tokenFile"));
    if (config.token.file.empty()) config.token.text = text_of(user, "token");
  }

  static void refuse_what_cannot_be_honoured(const YAML::Node& user, const std::string& who) {
    if (const YAML::Node exec = user["exec"]; is_there(exec)) {
      const std::string command = exec.IsMap() ? text_of(exec, "command") : "";
      throw Mistake{who + " gets its token from the program " + quote(command) +
                    ", and programs are not run; " + std::string(kUseInstead)};
    }
    constexpr std::array<std::pair<const char*, const char*>, 6> kRefused{
        {{"auth-provider", "an auth-provider, which Kubernetes has removed"},
         {"username", "a user name and password, which Kubernetes has removed"},
         {"password", "a user name and password, which Kubernetes has removed"},
         {"as", "impersonation (as), which is not supported"},
         {"as-uid", "impersonation (as-uid), which is not supported"},
         {"as-groups", "impersonation (as-groups), which is not supported"}}};
    for (const auto& [key, what] : kRefused) {
      if (is_there(user[key])) {
        throw Mistake{who + " has " + what + "; " + std::string(kUseInstead)};
      }
    }
  }

  /// "<key>-data" holds base64, "<key>" a path; the data count where both are there.
  [[nodiscard]] TextOrFile data_or_file(const YAML::Node& map, const std::string& key) const {
    const std::string data = text_of(map, key + "-data");
    if (data.empty()) return {.text = "", .file = resolved(text_of(map, key))};
    auto text = base64_decode(data);
    if (!text) throw Mistake{key + "-data is not base64"};  // never shown: it may be a key
    return {.text = std::move(*text), .file = ""};
  }

  [[nodiscard]] std::string resolved(const std::string& path) const {
    return path.empty() ? "" : (folder_ / path).string();
  }

  std::filesystem::path folder_;
  YAML::Node root_;
};

}  // namespace

Result<std::string> find_kubeconfig(const std::string& path, const Environment& environment) {
  if (!path.empty()) return path;
  std::vector<std::string> named = split(environment("KUBECONFIG"), ':');
  std::erase(named, "");
  if (named.size() > 1) {
    return fail(Errc::kInvalidArgument,
                "$KUBECONFIG names several files, and they are not merged; name one file, or merge "
                "them with kubectl config view --flatten");
  }
  if (!named.empty()) return named.front();
  const std::string home = environment("HOME");
  if (!home.empty()) return home + "/.kube/config";
  return fail(Errc::kNotFound, "neither $KUBECONFIG nor $HOME is set; write the kubeconfig's path");
}

Result<RestConfig> read_kubeconfig(const std::string& path, const std::string& context) {
  const auto text = read_file(path);
  if (!text) return text.error();
  std::string mistake;
  try {
    return Kubeconfig(path, YAML::Load(*text)).read(context);
  } catch (const Mistake& refused) {
    mistake = refused.message;
  } catch (const YAML::Exception& error) {
    // Its message alone: the text around it may be a secret.
    mistake = "line " + std::to_string(error.mark.line + 1) + ": " + error.msg;
  }
  return fail(Errc::kInvalidArgument, path + ": " + mistake);
}

}  // namespace tangram::kube
