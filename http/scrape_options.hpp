#pragma once

#include "http/types.hpp"

namespace tangram::http {

/// Limits of a listener for probes and a few scrapers. Address, certificates and gate are the
/// caller's.
/// @param tls  whether it will have certificates: then it also limits the handshakes of an address,
///             which must not keep probes waiting
[[nodiscard]] Options scrape_options(bool tls);

}  // namespace tangram::http
