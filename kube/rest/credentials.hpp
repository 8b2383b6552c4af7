#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/rest/rest_config.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace tangram::kube {

/// What one request is sent with. Never logged.
struct Credentials {
  std::string ca;                  ///< PEM
  std::string client_certificate;  ///< PEM
  std::string client_key;          ///< PEM
  std::string token;
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

using CredentialsPtr = std::shared_ptr<const Credentials>;

/// Keeps credentials fresh: what lies in files is read again every minute (tokens of service
/// accounts live an hour, and authorities change too), and when the server no longer takes it.
/// What cannot be read stays as it was. Threads: safe.
class CredentialSource {
 public:
  /// @returns kNotFound, kInvalidArgument: a file that cannot be read, or is empty
  static Result<std::unique_ptr<CredentialSource>> create(const RestConfig& config,
                                                          const Clock& clock);

  [[nodiscard]] CredentialsPtr current();

  /// The server refused these. @returns others, if the files hold such by now; else null
  [[nodiscard]] CredentialsPtr after_refusal(const CredentialsPtr& refused);

 private:
  CredentialSource(const RestConfig& config, const Clock& clock, Credentials first);
  void read_again();  ///< under mutex_

  const RestConfig config_;
  const bool has_files_;
  const Clock& clock_;

  std::mutex mutex_;
  CredentialsPtr current_;
  TimePoint read_at_;
};

}  // namespace tangram::kube
