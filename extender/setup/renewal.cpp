#include "extender/setup/renewal.hpp"

#include "base/base64.hpp"
#include "base/sha256.hpp"
#include "extender/setup/certificate_text.hpp"
#include "extender/setup/certificates_command.hpp"
#include "extender/setup/renewal_objects.hpp"
#include "kube/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tangram::extender {
namespace {

/// How often and how long to look at kube-scheduler's restart. It pulls an image at worst.
constexpr std::chrono::seconds kLookInterval{5};
constexpr std::chrono::minutes kLongestRestart{10};

/// Both certificates of one authority.
struct Issued {
  CaBundle authority;
  CertificateAndKey server;
  CertificateAndKey scheduler;
  WallTime until;
};

/// The authority's key goes when this returns.
Result<Issued> issue(const RenewalOrder& order, const Clock& clock) {
  const Validity validity = valid_for_days(order.days, clock);
  const auto authority = Authority::create("tangram " + rfc3339(clock.wall()), validity);
  if (!authority) return authority.error();
  auto server = authority->issue(
      {.name = kServerName, .hosts = server_hosts(order.ns), .validity = validity});
  if (!server) return server.error();
  auto scheduler = authority->issue(
      {.name = kSchedulerName, .hosts = {}, .use = Authority::Use::kClient, .validity = validity});
  if (!scheduler) return scheduler.error();
  auto own = CaBundle::parse(authority->own().certificate);
  if (!own) return own.error();
  return Issued{std::move(*own), std::move(*server), std::move(*scheduler), validity.to};
}

/// Which of both Secrets are there.
struct Secrets {
  std::vector<TlsSecret> there;
  std::vector<std::string> missing;
};

class Renewal {
 public:
  Renewal(const RenewalOrder& order, const RenewalPlace& place) : order_(order), place_(place) {}

  Result<std::string> create_missing();
  Result<std::string> renew();

 private:
  Result<Secrets> find_secrets();
  Result<void> read();
  [[nodiscard]] bool is_due(const TlsSecret& secret) const;
  Result<void> announce(const CaBundle& authorities);
  Result<bool> restart_scheduler(const CaBundle& authority);
  Result<void> wait_for_scheduler();
  Result<void> install(const Issued& issued);

  [[nodiscard]] std::string secret_path(const std::string& name) const {
    return "/api/v1/namespaces/" + kube::percent_encode(order_.ns) + "/secrets/" +
           kube::percent_encode(name);
  }
  [[nodiscard]] std::string deployment_path() const {
    return "/apis/apps/v1/namespaces/" + kube::percent_encode(order_.ns) + "/deployments/" +
           kube::percent_encode(order_.restart);
  }

  const RenewalOrder& order_;
  const RenewalPlace& place_;
  TlsSecret server_;
  TlsSecret scheduler_;
  std::vector<Registration> registrations_;
  CaBundle in_force_;  ///< authorities of the certificates that were in the Secrets at first
};

/// @returns nothing if there is none
Result<std::optional<TlsSecret>> find_secret(kube::KubeApi& api, const std::string& path) {
  auto secret = read_secret(api, path);
  if (secret) return std::optional(std::move(*secret));
  if (secret.error().code == Errc::kNotFound) return std::optional<TlsSecret>();
  return secret.error();
}

Result<Secrets> Renewal::find_secrets() {
  Secrets secrets;
  for (const auto* name : {&order_.server_secret, &order_.scheduler_secret}) {
    auto secret = find_secret(place_.api, secret_path(*name));
    if (!secret) return secret.error();
    if (*secret) {
      secrets.there.push_back(std::move(**secret));
    } else {
      secrets.missing.push_back(*name);
    }
  }
  return secrets;
}

Result<std::string> Renewal::create_missing() {
  auto secrets = find_secrets();
  if (!secrets) return secrets.error();
  const auto& missing = secrets->missing;
  if (missing.empty()) return "both Secrets are there\n";
  const auto issued = issue(order_, place_.clock);
  if (!issued) return issued.error();
  CaBundle authorities;
  for (const auto& secret : secrets->there) authorities.add(secret.authorities);
  authorities.add(issued->authority);
  // The one that is there keeps its certificate, which its verifiers know already.
  for (auto& secret : secrets->there) {
    if (auto done = write_secret(place_.api, secret, authorities, nullptr); !done) {
      return done.error();
    }
  }
  for (const auto& name : missing) {
    const auto& fresh = name == order_.server_secret ? issued->server : issued->scheduler;
    if (auto done = create_secret(place_.api, secret_path(name), authorities, fresh); !done) {
      return done.error();
    }
  }
  return fmt::format("created {}, valid until {}\n", fmt::join(missing, " and "),
                     rfc3339(issued->until));
}

Result<void> Renewal::read() {
  for (const auto& [name, into] : {std::pair{&order_.server_secret, &server_},
                                   std::pair{&order_.scheduler_secret, &scheduler_}}) {
    auto secret = read_secret(place_.api, secret_path(*name));
    if (!secret) return secret.error();
    *into = std::move(*secret);
  }
  for (const auto& name : order_.registrations) {
    auto registration =
        read_registration(place_.api, "/apis/admissionregistration.k8s.io/v1/" + name);
    // A missing one sends nobody here. Helm creates it anew, and then calls this.
    if (!registration && registration.error().code == Errc::kNotFound) continue;
    if (!registration) return registration.error();
    registrations_.push_back(std::move(*registration));
  }
  CaBundle known = server_.authorities;
  known.add(scheduler_.authorities);
  in_force_ = known.issuers_of(server_.certificate);
  in_force_.add(known.issuers_of(scheduler_.certificate));
  return {};
}

/// Also if no known authority signed it, because nobody can verify it, and if it is valid for
/// longer than is wanted now.
bool Renewal::is_due(const TlsSecret& secret) const {
  const auto certificate = read_certificate(secret.certificate);
  if (!certificate || in_force_.issuers_of(secret.certificate).empty()) return true;
  const std::chrono::hours wanted(24 * order_.days);
  const auto left = validity_of(*certificate).to - place_.clock.wall();
  return left < wanted * 2 / 3 || left > wanted;
}

/// Adds authorities to those that each verifier trusts.
Result<void> Renewal::announce(const CaBundle& authorities) {
  for (auto& registration : registrations_) {
    if (registration.common_authorities.contains(authorities)) continue;
    CaBundle all = registration.authorities;
    all.add(authorities);
    if (auto done = write_registration(place_.api, registration, all); !done) return done;
  }
  for (auto* secret : {&server_, &scheduler_}) {
    if (secret->authorities.contains(authorities)) continue;
    CaBundle all = secret->authorities;
    all.add(authorities);
    if (auto done = write_secret(place_.api, *secret, all, nullptr); !done) return done;
  }
  return {};
}

Result<bool> Renewal::restart_scheduler(const CaBundle& authority) {
  if (order_.restart.empty()) return false;
  return restart(place_.api, deployment_path(), base64_encode(sha256(authority.pem())));
}

Result<void> Renewal::wait_for_scheduler() {
  if (order_.restart.empty()) return {};
  for (auto waited = std::chrono::milliseconds(0); waited < kLongestRestart;
       waited += kLookInterval) {
    const auto done = is_rolled_out(place_.api, deployment_path());
    if (!done) return done.error();
    if (*done) return {};
    place_.pause(kLookInterval);
  }
  return fail(Errc::kTimeout, fmt::format("deployment {}: its restart is not complete after {} min",
                                          order_.restart, kLongestRestart.count()));
}

/// Puts the new certificates in force, each in one write with the authorities that are still in
/// use. The registrations come first: if another process has changed one, nothing has happened yet.
Result<void> Renewal::install(const Issued& issued) {
  CaBundle wanted = in_force_;
  wanted.add(issued.authority);
  for (auto& registration : registrations_) {
    if (auto done = write_registration(place_.api, registration, wanted); !done) return done;
  }
  if (auto done = write_secret(place_.api, scheduler_, wanted, &issued.scheduler); !done) {
    return done;
  }
  return write_secret(place_.api, server_, wanted, &issued.server);
}

Result<std::string> Renewal::renew() {
  if (auto done = read(); !done) return done.error();
  if (!is_due(server_) && !is_due(scheduler_)) {
    if (auto done = announce(in_force_); !done) return done.error();
    const auto restarted = restart_scheduler(in_force_.issuers_of(server_.certificate));
    if (!restarted) return restarted.error();
    return fmt::format("the certificate is valid until {}\n",
                       rfc3339(validity_of(*read_certificate(server_.certificate)).to));
  }
  const auto issued = issue(order_, place_.clock);
  if (!issued) return issued.error();
  CaBundle authorities = in_force_;
  authorities.add(issued->authority);
  if (auto done = announce(authorities); !done) return done.error();
  place_.pause(order_.settling);
  if (auto done = restart_scheduler(issued->authority); !done) return done.error();
  if (auto done = wait_for_scheduler(); !done) return done.error();
  if (auto done = install(*issued); !done) return done.error();
  return fmt::format("renewed, valid until {}\n", rfc3339(issued->until));
}

}  // namespace

Result<std::string> renew_certificates(const RenewalOrder& order, const RenewalPlace& place) {
  if (order.days < 1 || order.days > kMostCertificateDays) {
    return fail(Errc::kInvalidArgument,
                fmt::format("--days {} is not in 1..{}", order.days, kMostCertificateDays));
  }
  if (order.settling < std::chrono::seconds(0) || order.settling > kLongestSettling) {
    return fail(Errc::kInvalidArgument,
                fmt::format("--settle {} is not in 0..{}", order.settling.count(),
                            std::chrono::seconds(kLongestSettling).count()));
  }
  Renewal renewal(order, place);
  return order.only_missing ? renewal.create_missing() : renewal.renew();
}

}  // namespace tangram::extender
