// Certificates are renewed by the program that the chart's CronJob runs, while the API server calls
// the webhook.

#include "base/base64.hpp"
#include "base/file.hpp"
#include "http/client.hpp"
#include "tests/e2e/environment.hpp"
#include "tests/e2e/fixture.hpp"
#include "tests/e2e/raw_json.hpp"
#include "tests/e2e/webhook.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>

namespace tangram::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kServerSecret = "/api/v1/namespaces/tangram-system/secrets/tangram-tls";
constexpr const char* kSchedulerSecret =
    "/api/v1/namespaces/tangram-system/secrets/tangram-scheduler-tls";
constexpr const char* kDeployments = "/apis/apps/v1/namespaces/tangram-system/deployments";
constexpr const char* kRegistrations = "/apis/admissionregistration.k8s.io/v1/";

/// Longer than the 5 s after which the extender looks at its files again.
constexpr const char* kSettle = "6";

/// The end of the longest run, and of what the extender needs to load a certificate.
constexpr auto kPatience = 60s;

std::string data_of(const rapidjson::Document& secret, const char* key) {
  return base64_decode(text_of(secret["data"], key)).value();
}

/// A Secret's keys as files, as kubelet mounts them: of one version, which the link names.
/// Threads: one of its own.
class MountedSecret {
 public:
  MountedSecret(std::string path, std::filesystem::path folder)
      : path_(std::move(path)), folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    refresh();
    follower_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        refresh();
        std::this_thread::sleep_for(100ms);
      }
    });
  }

  [[nodiscard]] std::filesystem::path files() const { return folder_ / "current"; }

 private:
  void refresh() {
    const auto answer = api_->call({.method = kube::Method::kGet, .path = path_});
    if (!answer || answer->status != 200) return;
    const auto secret = parse_json(answer->body);
    const std::string version = text_of(secret["metadata"], "resourceVersion");
    if (version == version_) return;
    const auto next = folder_ / version;
    std::filesystem::create_directories(next);
    for (const auto& member : secret["data"].GetObject()) {
      std::ofstream(next / member.name.GetString()) << data_of(secret, member.name.GetString());
    }
    std::filesystem::remove(folder_ / "next");
    std::filesystem::create_directory_symlink(next, folder_ / "next");
    std::filesystem::rename(folder_ / "next", files());
    version_ = version;
  }

  std::unique_ptr<kube::KubeApi> api_ = admin_api();
  std::string path_;
  std::filesystem::path folder_;
  std::string version_;
  std::jthread follower_;
};

/// Creates pods in dry runs, one after the other, until it is destroyed.
/// Threads: one of its own; the rest from any.
class Reviews {
 public:
  Reviews() {
    reviewer_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        for (const auto& pod : pods()) review(pod);
      }
    });
  }

  /// Whether every pod is accepted. Waits: a controller creates a namespace's service account.
  static bool are_accepted_soon(kube::KubeApi& api) {
    const auto is_accepted = [&](const Pod& pod) {
      const auto answer = api.call(dry_run(pod));
      return answer && answer->status == 201;
    };
    const auto deadline = TimePoint::clock::now() + 10s;
    const auto all = pods();
    while (!std::all_of(all.begin(), all.end(), is_accepted)) {
      if (TimePoint::clock::now() > deadline) return false;
      std::this_thread::sleep_for(50ms);
    }
    return true;
  }

  [[nodiscard]] int accepted() const { return accepted_; }
  [[nodiscard]] std::set<std::string> refusals() const {
    const std::scoped_lock lock(mutex_);
    return refusals_;
  }

 private:
  struct Pod {
    std::string ns;
    std::string json;
  };

  /// Each is for other webhooks than the one before: with a request, with one of another system,
  /// and without one in a namespace that hides cards.
  static std::vector<Pod> pods() {
    PodSpec hidden;
    hidden.name = "hidden";
    hidden.slot = false;
    return {
        {"default", pod_json(fraction_pod("half", "0.5"))},
        {"default", R"({"metadata":{"name":"other"},"spec":{"containers":[{"name":"main","image":)"
                    R"("registry.example/t:1","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}})"},
        {"renewal", pod_json(hidden)}};
  }

  static kube::Request dry_run(const Pod& pod) {
    kube::Request request;
    request.method = kube::Method::kPost;
    request.path = "/api/v1/namespaces/" + pod.ns + "/pods";
    request.query["dryRun"] = "All";
    request.body = pod.json;
    request.timeout = 30s;
    return request;
  }

  void review(const Pod& pod) {
    const auto answer = api_->call(dry_run(pod));
    if (answer && answer->status == 201) {
      ++accepted_;
      return;
    }
    const std::scoped_lock lock(mutex_);
    refusals_.insert(answer ? answer->body : answer.error().message);
  }

  std::unique_ptr<kube::KubeApi> api_ = admin_api();
  std::atomic<int> accepted_ = 0;
  mutable std::mutex mutex_;
  std::set<std::string> refusals_;
  std::jthread reviewer_;
};

/// What is there before a test: the namespace, and the objects that a renewal writes, but no
/// webhook.
class Prepared {
 public:
  explicit Prepared(Cluster& cluster) : cluster_(cluster) {
    cluster_.ensure(
        "/api/v1/namespaces",
        R"({"metadata":{"name":"renewal","labels":{"tangram.dev/admission":"enabled"}}})");
    remove();
    cluster_.create(kDeployments,
                    R"({"metadata":{"name":"tangram-scheduler"},"spec":{"replicas":0,)"
                    R"("selector":{"matchLabels":{"app":"none"}},"template":{"metadata":)"
                    R"({"labels":{"app":"none"}},"spec":{"containers":[{"name":"main",)"
                    R"("image":"registry.example/none:1"}]}}}})");
  }
  ~Prepared() { remove(); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

 private:
  void remove() {
    for (const char* path : {kServerSecret, kSchedulerSecret}) cluster_.remove(path);
    cluster_.remove(std::string(kDeployments) + "/tangram-scheduler");
  }

  Cluster& cluster_;
};

class WebhookRenewalTest : public E2eTest {
 protected:
  WebhookRenewalTest() {
    EXPECT_THAT(certificates({"--days", "30", "--only-missing"}), HasSubstr("created"));
    // Another key of the Secret, which a renewal keeps: the CA of the API server's certificate.
    const auto ca = read_file((environment().state / "pki/ca.crt").string()).value();
    cluster_.patch(kServerSecret, R"({"data":{"webhook-ca.crt":")" + base64_encode(ca) + "\"}}");
    mounted_.emplace(kServerSecret, environment().state / "webhook-renewal");
    const auto files = mounted_->files();
    webhook_.emplace(
        cluster_,
        Webhook::Options{.settings = {"foreign.nvidia=true", "webhook.client_names=e2e-apiserver",
                                      "webhook.client_ca=" + (files / "webhook-ca.crt").string()},
                         .files = {"webhook-foreign.yaml", "quota.yaml"},
                         .certificates = files});
  }

  /// Runs the command to its end. @returns what it says
  static std::string certificates(const std::vector<std::string>& arguments) {
    const auto log = environment().state / "logs" / "renewal.log";
    std::filesystem::remove(log);
    std::vector<std::string> command = {environment().extender, "certificates", "--renew",
                                        "--kubeconfig", environment().admin_kubeconfig};
    command.insert(command.end(), arguments.begin(), arguments.end());
    auto started = Process::start(command, log);
    if (!started) throw std::runtime_error(started.error().message);
    const auto deadline = TimePoint::clock::now() + kPatience;
    while (started->running() && TimePoint::clock::now() < deadline) {
      std::this_thread::sleep_for(20ms);
    }
    return tail(log);
  }

  /// All that there are, as the option --registration names them.
  std::vector<std::string> registrations() {
    std::vector<std::string> names;
    for (const std::string kind :
         {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}) {
      const auto list = parse_json(list_all(*api_, kRegistrations + kind));
      for (const auto& item : list["items"].GetArray()) {
        names.push_back(kind + "/" + text_of(item["metadata"], "name"));
      }
    }
    return names;
  }

  /// Certificates that are valid for longer than `days` are replaced at once.
  std::string renew(const std::string& days) {
    std::vector<std::string> arguments = {"--days", days,        "--settle",
                                          kSettle,  "--restart", "tangram-scheduler"};
    for (const auto& name : registrations()) {
      arguments.insert(arguments.end(), {"--registration", name});
    }
    return certificates(arguments);
  }

  /// Every caBundle that the API server has.
  std::set<std::string> bundles() {
    std::set<std::string> texts;
    for (const auto& name : registrations()) {
      const auto object = parse_json(cluster_.get(kRegistrations + name));
      for (const auto& webhook : object["webhooks"].GetArray()) {
        texts.insert(base64_decode(text_of(webhook["clientConfig"], "caBundle")).value());
      }
    }
    return texts;
  }

  /// Whether the webhook shows a certificate that this authority signed.
  bool serves_under(const std::string& authority) {
    const auto deadline = TimePoint::clock::now() + kPatience;
    while (TimePoint::clock::now() < deadline) {
      http::Client client({.ca = authority,
                           .server_name = "127.0.0.1",
                           .certificate = pki("webhook-caller.crt"),
                           .key = pki("webhook-caller.key")});
      if (client.connect("127.0.0.1", static_cast<std::uint16_t>(webhook_->port()))) return true;
      std::this_thread::sleep_for(200ms);
    }
    return false;
  }
  static std::string pki(const std::string& file) {
    return read_file((environment().state / "pki" / file).string()).value();
  }

  /// The last certificate of a bundle, which is the newest authority's.
  static std::string newest(const std::string& bundle) {
    return bundle.substr(bundle.rfind("-----BEGIN"));
  }

  Prepared prepared_{cluster_};
  std::optional<MountedSecret> mounted_;
  std::optional<Webhook> webhook_;
};

TEST_F(WebhookRenewalTest, TheWebhookKeepsAnsweringAcrossTwoRenewals) {
  EXPECT_EQ(registrations().size(), 6U) << "another registration: is it among the chart's names?";
  const auto first = data_of(parse_json(cluster_.get(kServerSecret)), "ca.crt");
  ASSERT_TRUE(Reviews::are_accepted_soon(*api_));
  const Reviews reviews;
  int before = 0;
  for (const std::string days : {"20", "10"}) {
    SCOPED_TRACE(days + " days");
    EXPECT_THAT(renew(days), HasSubstr("renewed, valid until"));
    const auto all = bundles();
    ASSERT_EQ(all.size(), 1U) << "registrations with different authorities";
    EXPECT_EQ(data_of(parse_json(cluster_.get(kServerSecret)), "ca.crt"), *all.begin());
    EXPECT_TRUE(serves_under(newest(*all.begin())));
    EXPECT_GT(reviews.accepted(), before + 100);
    before = reviews.accepted();
    EXPECT_THAT(reviews.refusals(), IsEmpty());
  }
  EXPECT_EQ(bundles().begin()->find(first), std::string::npos) << "two renewals ago";
  Figures("webhook_renewal").add("accepted", reviews.accepted());
}

}  // namespace
}  // namespace tangram::e2e
