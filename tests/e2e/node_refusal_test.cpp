// Pods without a valid grant of their own never start, and an event says why.

#include "base/base64.hpp"
#include "base/ed25519.hpp"
#include "base/file.hpp"
#include "tests/e2e/node_fixture.hpp"

#include <sstream>

namespace tangram::e2e {
namespace {

const std::string kPods = "/api/v1/namespaces/default/pods/";

/// Escaped for a string in another JSON text.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '"' ? "\\\"" : std::string(1, c);
  return out;
}

class NodeRefusalTest : public NodeTest {
 protected:
  /// Bound without Tangram, with any annotations.
  void create_bound(NodePod pod) {
    pod.node = RealNode::kName;
    create(pod);
  }

  /// Unbound, so that its UID is known before its grant is written; no scheduler takes it.
  std::string create_unbound(NodePod pod) {
    pod.scheduler = "nobody";
    create(pod);
    return uid_of(pod.name);
  }

  void bind(const std::string& pod, const std::string& grant) {
    cluster_.create(kPods + pod + "/binding",
                    R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":")" + pod +
                        R"(","annotations":{"tangram.dev/gpu-grant":")" + quoted(grant) +
                        R"("}},"target":{"apiVersion":"v1","kind":"Node","name":")" +
                        RealNode::kName + "\"}}");
  }

  /// The cluster's signing key.
  static SigningKey extenders_key() {
    const auto text = read_file((environment().state / "grant-key/grant.key").string());
    return SigningKey::from_pem(text.value()).value();
  }

  static std::string signed_by(const SigningKey& key, const std::string& grant) {
    return grant.substr(0, grant.size() - 1) + R"(,"sig":")" + base64_encode(key.sign(grant)) +
           "\"}";
  }

  /// A grant as the extender would write it.
  static std::string grant(const std::string& uid, const std::string& node, const std::string& card,
                           int mib) {
    return signed_by(extenders_key(), unsigned_grant(uid, node, card, mib));
  }

  static std::string unsigned_grant(const std::string& uid, const std::string& node,
                                    const std::string& card, int mib) {
    const std::string amounts = R"("memMiB":)" + std::to_string(mib) +
                                R"(,"milli":100,"memLimitMiB":)" + std::to_string(mib) +
                                R"(,"milliLimit":100)";
    return R"({"version":1,"podUID":")" + uid + R"(","node":")" + node +
           R"(","issuedAt":"2026-11-20T12:00:00Z","isolation":"none","containers":[{"name":"main",)" +
           R"("cards":[{"uuid":")" + card + "\"," + amounts + "}]}]}";
  }

  /// The pod waits, its container's status says why, and so does an event.
  void expect_told(const std::string& pod, const std::string& why) {
    const auto reported = [&] {
      const auto state = states()[pod];
      const auto container = state.containers.find("main");
      return container != state.containers.end() &&
             container->second.message.find(why) != std::string::npos;
    };
    EXPECT_TRUE(eventually(60s, reported)) << pod << " has no event " << why;
    std::string lines;
    EXPECT_TRUE(eventually(30s,
                           [&] {
                             lines.clear();
                             std::istringstream events(events_text(*api_));
                             for (std::string line; std::getline(events, line);) {
                               if (line.starts_with(pod + " ")) lines += line + "\n";
                             }
                             return lines.find(why) != std::string::npos;
                           }))
        << pod << " has no event that says " << why << ":\n"
        << lines;
  }
};

TEST_F(NodeRefusalTest, NeverStartsAPodWithoutAGrantOfItsOwn) {
  const std::string card = cards_.front().id;
  create(gpu_pod("honest", {{"gpu-fraction", "0.1"}}));
  ASSERT_TRUE(eventually(60s, [&] { return states()["honest"].all_running(); }));
  const std::string honest_uid = uid_of("honest");

  auto stolen = gpu_pod("stolen", {{"gpu-fraction", "0.1"}});
  stolen.annotations["gpu-grant"] = grant(honest_uid, RealNode::kName, card, 8192);
  create_bound(stolen);
  create_bound(gpu_pod("none", {{"gpu-fraction", "0.1"}}));
  auto nonsense = gpu_pod("nonsense", {{"gpu-fraction", "0.1"}});
  nonsense.annotations["gpu-grant"] = "{";
  create_bound(nonsense);
  const auto uid = [&](const std::string& pod) {
    return create_unbound(gpu_pod(pod, {{"gpu-fraction", "0.1"}}));
  };
  bind("elsewhere", grant(uid("elsewhere"), "another-node", card, 8192));
  bind("no-such-card", grant(uid("no-such-card"), RealNode::kName, "GPU-nowhere", 8192));
  const std::string full = cards_.back().id;
  const std::string fills =
      create_unbound(gpu_pod("fills", {{"gpu-mem", "81920Mi"}, {"gpu-compute", "0.1"}}));
  bind("fills", grant(fills, RealNode::kName, full, 81'920));
  ASSERT_TRUE(eventually(60s, [&] { return states()["fills"].all_running(); }));
  bind("too-much", grant(uid("too-much"), RealNode::kName, full, 8192));
  // Correct except for the signature.
  bind("not-signed", unsigned_grant(uid("not-signed"), RealNode::kName, card, 8192));
  const std::string other = unsigned_grant(uid("by-another-key"), RealNode::kName, card, 8192);
  bind("by-another-key", signed_by(SigningKey::generate(), other));
  std::string changed = grant(uid("changed"), RealNode::kName, card, 8192);
  changed.replace(changed.find("8192"), 4, "9192");
  changed.replace(changed.find("8192"), 4, "9192");
  bind("changed", changed);

  std::vector<std::string> refused = {"stolen",    "none",         "nonsense",
                                      "elsewhere", "no-such-card", "too-much"};
  const std::vector<std::string> forged = {"not-signed", "by-another-key", "changed"};
  for (const auto& pod : refused) expect_told(pod, "tangram: ");
  for (const auto& pod : forged) expect_told(pod, "is not signed");
  refused.insert(refused.end(), forged.begin(), forged.end());
  // A restarted agent, which kubelet calls again, gives the same answer.
  node_.kill("tangram-node");
  node_.start("tangram-node", agent_arguments());
  create(gpu_pod("later", {{"gpu-fraction", "0.1"}}));
  EXPECT_TRUE(eventually(90s, [&] { return states()["later"].all_running(); }));

  starts_.read();
  const auto now = states();
  for (const auto& pod : refused) {
    EXPECT_TRUE(starts_.of(now.at(pod).uid).empty()) << pod << " was started";
    EXPECT_EQ(now.at(pod).phase, "Pending") << pod;
    std::cout << pod << ": " << now.at(pod).containers.at("main").message << "\n";
  }
  expect_all_starts_right();
  Figures("node_refusal").add("refused", static_cast<int>(refused.size())).add("started", 0);
}

}  // namespace
}  // namespace tangram::e2e
