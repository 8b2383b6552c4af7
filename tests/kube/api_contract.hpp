#pragma once

#include "kube/api.hpp"
#include "tests/testing/kube_builders.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

/// What every KubeApi must do, LocalApi and a real server alike: the tests of api_contract_*.cpp,
/// instantiated once for each server they run against.
///
/// A real cluster has other objects, and controllers that write too. So the tests keep to their own
/// namespaces, name a scheduler that nobody is, compare objects and not texts, and where servers
/// differ in how they refuse they ask only that nothing has changed.
namespace tangram::testing {

/// Makes a namespace.
inline kube::Request namespace_request(const std::string& name) {
  return write_request(kube::Method::kPost, "/api/v1/namespaces",
                       R"({"metadata":{"name":")" + name + R"("}})");
}

/// A server under test.
class ContractServer {
 public:
  virtual ~ContractServer() = default;
  virtual kube::KubeApi& api() = 0;
  /// A namespace that exists and has no pods.
  virtual std::string fresh_namespace() = 0;
  /// Makes versions seen so far too old. @returns false if the server cannot be made to
  virtual bool expire_history() = 0;
};

struct ContractParam {
  std::string name;
  std::function<std::unique_ptr<ContractServer>()> make;  ///< may give null: the tests skip
  friend void PrintTo(const ContractParam& param, std::ostream* out) { *out << param.name; }
};

class ApiContract : public ::testing::TestWithParam<ContractParam> {
 protected:
  ApiContract() : server(GetParam().make()), ns(server ? server->fresh_namespace() : "") {}
  void SetUp() override {
    if (!server) GTEST_SKIP() << "no such server here: set TANGRAM_E2E_KUBECONFIG";
  }

  kube::Response call(const kube::Request& request) {
    auto response = server->api().call(request);
    EXPECT_TRUE(response.has_value()) << response.error().message;
    return response ? *response : kube::Response{};
  }
  kube::Response get(const std::string& path) { return call(get_request(path)); }
  kube::Response list(const std::map<std::string, std::string>& query = {}) {
    return call(get_request(pods(), query));
  }
  kube::Response write(kube::Method method, const std::string& path, const std::string& body) {
    return call(write_request(method, path, body));
  }
  kube::Response patch(const std::string& path, const std::string& body) {
    return write(kube::Method::kPatch, path, body);
  }
  kube::Response bind(const std::string& name, const std::string& uid, const std::string& node,
                      const std::map<std::string, std::string>& annotations = {}) {
    return write(kube::Method::kPost, pod(name) + "/binding",
                 binding_json(name, uid, node, annotations));
  }
  /// @returns the pod as stored
  std::string create_pod(PodText what) {
    what.ns = ns;
    what.scheduler = "tangram.dev-nobody";  // else kube-scheduler would write its failures into it
    const auto response = write(kube::Method::kPost, pods(), pod_json(what));
    EXPECT_EQ(response.status, 201) << response.body;
    return response.body;
  }

  [[nodiscard]] std::string pods() const { return "/api/v1/namespaces/" + ns + "/pods"; }
  [[nodiscard]] std::string pod(const std::string& name) const { return pods() + "/" + name; }
  /// The version of now.
  std::string version() { return json_at(list().body, "metadata.resourceVersion"); }

  /// The first `count` events of a watch on this test's pods.
  std::vector<std::string> watch(std::map<std::string, std::string> query, std::size_t count) {
    return watch(pods(), std::move(query), count);
  }
  std::vector<std::string> watch(const std::string& path, std::map<std::string, std::string> query,
                                 std::size_t count) {
    std::vector<std::string> frames;
    if (count == 0) return frames;
    query.emplace("timeoutSeconds", "10");  // so that a server that says too little fails the test
    const auto end = server->api().watch(
        get_request(path, query),
        [&](std::string frame) {
          if (is_event(frame)) frames.push_back(std::move(frame));
          return frames.size() < count;
        },
        std::stop_token());
    EXPECT_TRUE(end.has_value()) << end.error().message;
    return frames;
  }

  std::unique_ptr<ContractServer> server;
  std::string ns;

 private:
  /// Bookmarks are none. Nor is what a real server writes into a pod in the moment before it
  /// deletes it without grace.
  static bool is_event(const std::string& frame) {
    const std::string type = json_at(frame, "type");
    return type != "BOOKMARK" &&
           (type != "MODIFIED" ||
            json_at(frame, "object.metadata.deletionGracePeriodSeconds") != "0");
  }
};

/// Checks a refusal: its status, and the same in its metav1.Status.
inline void expect_refused(const kube::Response& response, int status, const std::string& reason) {
  EXPECT_EQ(response.status, status) << response.body;
  EXPECT_EQ(json_at(response.body, "kind"), "Status") << response.body;
  EXPECT_EQ(json_at(response.body, "status"), "Failure") << response.body;
  EXPECT_EQ(json_at(response.body, "reason"), reason) << response.body;
  EXPECT_EQ(json_at(response.body, "code"), std::to_string(status)) << response.body;
  EXPECT_NE(json_at(response.body, "message"), "<none>") << response.body;
}

/// Where servers word or number a refusal differently, or rightly call a mistake of the client
/// their own.
inline void expect_refused_somehow(const kube::Response& response) {
  EXPECT_GE(response.status, 400) << response.body;
}

/// Two texts of one object: the same but for white space and the order of members.
void expect_same_object(const std::string& text, const std::string& expected);

/// The names in a list's items.
std::vector<std::string> item_names(const std::string& list);
/// "ns/name" for each.
std::vector<std::string> item_keys(const std::string& list);

/// "ADDED train-0" for each frame.
std::vector<std::string> told(const std::vector<std::string>& frames);

}  // namespace tangram::testing
