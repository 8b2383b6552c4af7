#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <string>
#include <vector>

namespace tangram::extender {

/// The options of `tangram-extender certificates`.
struct CertificatesOrder {
  std::string folder;
  std::vector<std::string> hosts = {};  ///< beside the names of the Services and this machine
  int days = 365;
  bool keep_ca_key = false;  ///< without it the CA can never issue again
};

inline constexpr int kMostCertificateDays = 3650;

/// Makes a CA of its own, a certificate for the server and one for kube-scheduler, and writes them
/// as files that only their owner can read. Nothing is overwritten.
/// @returns what to do next, for people; kInvalidArgument for a host that is none, kConflict if a
///          file is there already, kUnavailable if one cannot be written
Result<std::string> make_certificates(const CertificatesOrder& order, const Clock& clock);

}  // namespace tangram::extender
