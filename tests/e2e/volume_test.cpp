// A volume that cannot be created on the best node does not block the pod.

#include "base/rapidjson.hpp"
#include "tests/e2e/fixture.hpp"

namespace tangram::e2e {
namespace {

constexpr const char* kClaims = "/api/v1/namespaces/default/persistentvolumeclaims";
constexpr const char* kClasses = "/apis/storage.k8s.io/v1/storageclasses";
constexpr const char* kVolumes = "/api/v1/persistentvolumes";

/// A storage driver that has no room on one node. Like a CSI provisioner, it removes the node's
/// name from a claim that it cannot serve there, which returns the pod to the scheduler. For a
/// claim that it can serve, it creates a volume.
class FakeProvisioner {
 public:
  FakeProvisioner(Cluster& cluster, std::string full_node)
      : cluster_(cluster), full_node_(std::move(full_node)) {}

  [[nodiscard]] int refused() const { return refused_; }

  void serve(const std::string& claim) {
    rapidjson::Document object;
    object.Parse(cluster_.get(std::string(kClaims) + "/" + claim).c_str());
    const auto& metadata = object["metadata"];
    if (!metadata.HasMember("annotations")) return;
    const auto& annotations = metadata["annotations"];
    const auto node = annotations.FindMember("volume.kubernetes.io/selected-node");
    if (node == annotations.MemberEnd() || object["spec"].HasMember("volumeName")) return;
    if (node->value.GetString() == full_node_) {
      ++refused_;
      cluster_.patch(std::string(kClaims) + "/" + claim,
                     R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null}}})");
    } else {
      make_volume(claim, metadata["uid"].GetString(), node->value.GetString());
    }
  }

 private:
  void make_volume(const std::string& claim, const std::string& uid, const std::string& node) {
    cluster_.ensure(
        kVolumes, R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv-)" + uid +
                      R"("},"spec":{"capacity":{"storage":"1Gi"},)" +
                      R"("accessModes":["ReadWriteOnce"],"storageClassName":"scarce",)" +
                      R"("persistentVolumeReclaimPolicy":"Retain",)" +
                      R"("csi":{"driver":"scarce.example","volumeHandle":")" + uid +
                      R"("},"claimRef":{"namespace":"default","name":")" + claim + R"(","uid":")" +
                      uid + R"("},"nodeAffinity":{"required":{"nodeSelectorTerms":[)" +
                      R"({"matchExpressions":[{"key":"kubernetes.io/hostname",)" +
                      R"("operator":"In","values":[")" + node + R"("]}]}]}}}})");
  }

  Cluster& cluster_;
  std::string full_node_;
  int refused_ = 0;
};

/// A pod of that fraction with a claim that waits for its node.
PodSpec pod_with_claim(Cluster& cluster, const std::string& name, const std::string& fraction) {
  cluster.ensure(kClasses, R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass",)"
                           R"("metadata":{"name":"scarce"},"provisioner":"scarce.example",)"
                           R"("volumeBindingMode":"WaitForFirstConsumer"})");
  cluster.create(kClaims, R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)"
                          R"("metadata":{"name":"data"},"spec":{"storageClassName":"scarce",)"
                          R"("accessModes":["ReadWriteOnce"],)"
                          R"("resources":{"requests":{"storage":"1Gi"}}}})");
  PodSpec pod = fraction_pod(name, fraction);
  pod.claim = "data";
  return pod;
}

TEST_F(E2eTest, AVolumeThatTheBestNodeCannotHaveDoesNotHoldThePod) {
  cluster_.add_nodes({node_with_cards("best", 1), node_with_cards("other", 1)});
  PodWatcher watcher(*api_);
  ExtenderProcess extender({.settings = {"scheduler.policy=binpack"}});
  extender.start_ready();
  const Process scheduler = start_scheduler({.extender_url = extender.url()});

  // Makes "best" the fuller node, which binpack prefers.
  PodSpec first = fraction_pod("first", "0.5");
  first.node_selector = {{"kubernetes.io/hostname", "best"}};
  cluster_.add_pods({first});
  ASSERT_TRUE(watcher.wait_pod_bound("first", 30s));

  const PodSpec pod = pod_with_claim(cluster_, "with-volume", "0.5");
  const auto begin = TimePoint::clock::now();
  cluster_.add_pods({pod});

  FakeProvisioner provisioner(cluster_, "best");
  std::optional<SeenPod> bound;
  while (!bound && seconds_between(begin, TimePoint::clock::now()) < 60) {
    provisioner.serve("data");
    bound = watcher.wait_pod_bound("with-volume", 50ms);
  }
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->node, "other");
  EXPECT_GE(provisioner.refused(), 1) << "the best node was never tried";
  Figures("volume")
      .add("refused_by_driver", provisioner.refused())
      .add("bound_after_s", seconds_between(begin, bound->bound));
  expect_books_right(extender);
}

// Provisioning takes longer than other pods' reservations last.
TEST_F(E2eTest, TheCardOfAPodWaitsForItsVolume) {
  cluster_.add_nodes({node_with_cards("node", 1)});
  PodWatcher watcher(*api_);
  ExtenderProcess extender({});
  extender.start_ready();
  const Process scheduler = start_scheduler({.extender_url = extender.url()});
  cluster_.add_pods({pod_with_claim(cluster_, "with-volume", "1")});
  const auto node_is_chosen = [&] {
    return cluster_.get(std::string(kClaims) + "/data").find("selected-node") != std::string::npos;
  };
  const auto begin = TimePoint::clock::now();
  while (!node_is_chosen() && seconds_between(begin, TimePoint::clock::now()) < 30) {
    std::this_thread::sleep_for(50ms);
  }
  ASSERT_TRUE(node_is_chosen());

  cluster_.add_pods({fraction_pod("other", "1")});
  const auto provisioning = sized(20s, 6s);
  EXPECT_FALSE(watcher.wait_pod_bound("other", provisioning)) << "it took the card";
  FakeProvisioner provisioner(cluster_, "");
  provisioner.serve("data");
  const auto bound = watcher.wait_pod_bound("with-volume", 60s);
  ASSERT_TRUE(bound) << "refused after its volume was made";
  EXPECT_FALSE(watcher.wait_pod_bound("other", 1s));
  Figures("volume_reservation")
      .add("provisioning_s", static_cast<int>(provisioning.count()))
      .add("bound_after_s", seconds_between(begin, bound->bound));
  expect_books_right(extender);
}

}  // namespace
}  // namespace tangram::e2e
