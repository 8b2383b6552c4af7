#include "tests/e2e/shipped_rights.hpp"

#include "base/file.hpp"
#include "base/rapidjson.hpp"
#include "kube/local/yaml_to_json.hpp"
#include "source_dir.hpp"
#include "tests/e2e/raw_json.hpp"

namespace tangram::e2e {

namespace {

using rapidjson::Document;
using rapidjson::Value;

constexpr const char* kRoles = "/apis/rbac.authorization.k8s.io/v1/";

std::string to_text(const Value& value) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> writer(text);
  value.Accept(writer);
  return text.GetString();
}

}  // namespace

void Role::apply(Cluster& cluster) const { cluster.patch(path, "{\"rules\":" + rules + "}"); }

std::vector<Role> shipped_roles(const std::string& file) {
  const auto text = read_file(std::string(TANGRAM_SOURCE_DIR "/") + file).value();
  std::vector<Role> roles;
  for (const auto& object : kube::yaml_to_json(text).value()) {
    const Document role = parse_json(object.json);
    const std::string kind = text_of(role, "kind");
    const std::string name = text_of(role["metadata"], "name");
    if (kind == "ClusterRole") {
      roles.push_back({std::string(kRoles) + "clusterroles/" + name, to_text(role["rules"])});
    } else if (kind == "Role") {
      const std::string ns = text_of(role["metadata"], "namespace");
      roles.push_back(
          {std::string(kRoles) + "namespaces/" + ns + "/roles/" + name, to_text(role["rules"])});
    }
  }
  return roles;
}

std::vector<Right> shipped_rights(const std::string& file) {
  std::vector<Right> rights;
  for (const Role& role : shipped_roles(file)) {
    const Document all = parse_json(role.rules);
    for (rapidjson::SizeType r = 0; r < all.Size(); ++r) {
      for (rapidjson::SizeType v = 0; v < all[r]["verbs"].Size(); ++v) {
        Document rest = parse_json(role.rules);
        Value& verbs = rest[r]["verbs"];
        const std::string name =
            std::string(rest[r]["resources"][0].GetString()) + " " + verbs[v].GetString();
        verbs.Erase(verbs.Begin() + v);
        if (verbs.Empty()) rest.Erase(rest.Begin() + r);
        rights.push_back({name, {role.path, to_text(rest)}});
      }
    }
  }
  return rights;
}

}  // namespace tangram::e2e
