#include "model/grant_reading.hpp"

#include "base/quote.hpp"

#include <utility>

namespace tangram::model {

namespace {

std::string mismatch(const Grant& grant, std::string_view pod_uid, std::string_view node) {
  if (grant.pod_uid != pod_uid) {
    return "was issued to another pod, of UID " + quote(grant.pod_uid);
  }
  if (grant.node != node) return "was issued for another node, " + quote(grant.node);
  return "";
}

}  // namespace

GrantReading read_grant(std::string text, std::string_view pod_uid, std::string_view node) {
  auto grant = decode_grant(std::move(text));
  if (!grant) return {.grant = {}, .problem = "is not valid: " + grant.error().message};
  std::string problem = mismatch(*grant, pod_uid, node);
  if (!problem.empty()) return {.grant = {}, .problem = std::move(problem)};
  return {.grant = std::move(*grant), .problem = {}};
}

}  // namespace tangram::model
