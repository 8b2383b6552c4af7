#include "http/tls/openssl.hpp"

#include <openssl/err.h>

#include <ctime>

namespace tangram::http::tls {

std::string last_error() {
  unsigned long last = 0;  // NOLINT(google-runtime-int): OpenSSL's own type
  for (auto code = ERR_get_error(); code != 0; code = ERR_get_error()) last = code;
  const char* reason = last == 0 ? nullptr : ERR_reason_error_string(last);
  return reason == nullptr ? "no reason is given" : reason;
}

BioPtr reader_of(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

WallTime wall_time(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return WallTime(std::chrono::seconds(timegm(&parts)));
}

}  // namespace tangram::http::tls
