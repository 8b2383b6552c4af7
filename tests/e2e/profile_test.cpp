// Both forms of the scheduler's configuration that deploy/scheduler ships, and its certificates.

#include "tests/e2e/fixture.hpp"
#include "tests/e2e/webhook.hpp"

namespace tangram::e2e {
namespace {

struct Form {
  std::string name;
  std::string config;
  std::string scheduler_name;  ///< of GPU pods
};

class ProfileTest : public E2eTest, public ::testing::WithParamInterface<Form> {};

TEST_P(ProfileTest, BindsGpuPodsThroughTangramAndOthersWithoutIt) {
  cluster_.add_nodes({node_with_cards("node", 2)});
  PodWatcher watcher(*api_);
  ExtenderProcess extender({});
  extender.start_ready();
  const Process scheduler =
      start_scheduler({.extender_url = extender.url(), .config = GetParam().config});
  PodSpec gpu = fraction_pod("gpu", "0.5");
  gpu.scheduler = GetParam().scheduler_name;
  cluster_.add_pods({gpu});
  const auto bound = watcher.wait_pod_bound("gpu", 30s);
  ASSERT_TRUE(bound);
  EXPECT_TRUE(bound->granted_in_bind);
  expect_books_right(extender);

  extender.kill();
  PodSpec plain;
  plain.name = "plain";
  plain.scheduler = "default-scheduler";
  plain.slot = false;
  gpu.name = "gpu-later";
  cluster_.add_pods({gpu, plain});
  EXPECT_TRUE(watcher.wait_pod_bound("plain", 30s)) << "it waits for Tangram, which is down";
  EXPECT_FALSE(watcher.wait_pod_bound("gpu-later", 3s)) << "bound by somebody else, without a card";

  const auto begin = TimePoint::clock::now();
  extender.start_ready();
  ASSERT_TRUE(watcher.wait_pod_bound("gpu-later", 30s));
  Figures("extender_back")
      .add("config", GetParam().name)
      .add("bound_after_s", seconds_between(begin, TimePoint::clock::now()));
  expect_books_right(extender);
}

class TlsProfileTest : public E2eTest {
 protected:
  TlsProfileTest() { cluster_.add_nodes({node_with_cards("node", 2)}); }
  const std::filesystem::path certificates_ = webhook_certificates();
};

TEST_F(TlsProfileTest, BindsForTheSchedulerWithTheCertificateAlone) {
  PodWatcher watcher(*api_);
  ExtenderProcess extender({.name = "extender-tls", .certificates = certificates_});
  extender.start_ready();
  SchedulerOptions options{.extender_url = extender.url(), .certificates = certificates_};
  {
    options.name = "kube-scheduler-unauthenticated";
    options.own_certificate = false;
    const Process unauthenticated = start_scheduler(options);
    cluster_.add_pods({fraction_pod("gpu", "0.5")});
    EXPECT_FALSE(watcher.wait_pod_bound("gpu", 5s)) << "bound by a scheduler without certificate";
  }
  options.name = "kube-scheduler-tls";
  options.own_certificate = true;
  const Process scheduler = start_scheduler(options);
  const auto bound = watcher.wait_pod_bound("gpu", 30s);
  ASSERT_TRUE(bound);
  EXPECT_TRUE(bound->granted_in_bind);
  expect_books_right(extender);
}

INSTANTIATE_TEST_SUITE_P(
    Shipped, ProfileTest,
    ::testing::Values(Form{"SecondProfile", "scheduler-config.yaml", "tangram"},
                      Form{"OnlyProfile", "scheduler-config-only.yaml", "default-scheduler"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tangram::e2e
