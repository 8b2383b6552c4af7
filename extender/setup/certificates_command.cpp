#include "extender/setup/certificates_command.hpp"

#include "base/base64.hpp"
#include "base/file.hpp"
#include "extender/setup/authority.hpp"
#include "extender/setup/certificate_text.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace tangram::extender {
namespace {

/// Of the plain manifests: deploy/scheduler/service.yaml.
constexpr const char* kUsualNamespace = "tangram-system";

struct File {
  std::string name;
  const std::string* text;
};

/// All or none: half a set would be in the way of the next attempt.
Result<void> write_files(const std::string& folder, const std::vector<File>& files) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(Errc::kUnavailable, folder + ": cannot be made: " + error.message());
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto written = create_private_file(folder + "/" + files[i].name, *files[i].text);
    if (written) continue;
    for (std::size_t done = 0; done < i; ++done) {
      std::filesystem::remove(folder + "/" + files[done].name, error);
    }
    return written;
  }
  return {};
}

/// @param folder  where the files are
std::string next_steps(const std::string& folder, const std::string& ca, const Validity& validity,
                       bool kept) {
  return fmt::format(
      R"(made in {0}, valid until {1}:
  ca.crt                        the authority{3}
  tls.crt, tls.key              the server: names of the Services, localhost, and what --host added
  scheduler.crt, scheduler.key  kube-scheduler, as {4}

Next, on a cluster:
  kubectl --namespace tangram-system create secret generic tangram-tls \
    --from-file=ca.crt={0}/ca.crt --from-file=tls.crt={0}/tls.crt --from-file=tls.key={0}/tls.key
  Copy ca.crt, scheduler.crt and scheduler.key to /etc/kubernetes/tangram/ of each machine that
  runs kube-scheduler, readable by it alone; deploy/scheduler/scheduler-config.yaml names them.
  caBundle of the webhook's registrations, deploy/webhook:
{2}

Or on this machine:
  tangram-extender --set tls.certificate={0}/tls.crt --set tls.key={0}/tls.key \
    --set tls.client_ca={0}/ca.crt --set tls.client_names={4} ...
)",
      folder, rfc3339(validity.to), base64_encode(ca),
      kept ? " (its key: ca.key; keep it off the cluster)" : "; its key was not kept",
      kSchedulerName);
}

}  // namespace

Result<std::string> make_certificates(const CertificatesOrder& order, const Clock& clock) {
  if (order.days < 1 || order.days > kMostCertificateDays) {
    return fail(Errc::kInvalidArgument,
                fmt::format("--days {} is not in 1..{}", order.days, kMostCertificateDays));
  }
  const Validity validity = valid_for_days(order.days, clock);
  auto hosts = server_hosts(kUsualNamespace);
  hosts.insert(hosts.end(), order.hosts.begin(), order.hosts.end());
  const auto authority = Authority::create("tangram trial CA", validity);
  if (!authority) return authority.error();
  const auto server = authority->issue({.name = kServerName, .hosts = hosts, .validity = validity});
  if (!server) return server.error();
  const auto scheduler = authority->issue(
      {.name = kSchedulerName, .hosts = {}, .use = Authority::Use::kClient, .validity = validity});
  if (!scheduler) return scheduler.error();

  const auto& own = authority->own();
  std::vector<File> files{{"ca.crt", &own.certificate},
                          {"tls.crt", &server->certificate},
                          {"tls.key", &server->key},
                          {"scheduler.crt", &scheduler->certificate},
                          {"scheduler.key", &scheduler->key}};
  if (order.keep_ca_key) files.push_back({"ca.key", &own.key});
  if (auto written = write_files(order.folder, files); !written) return written.error();
  return next_steps(order.folder, own.certificate, validity, order.keep_ca_key);
}

}  // namespace tangram::extender
