#include "node/vendor/nvidia/driver_limiter.hpp"

#include "base/json.hpp"
#include "node/vendor/nvidia/stand_in/edits.hpp"

namespace tangram::node::nvidia {
namespace {

constexpr std::string_view kLoader = "ld-linux-x86-64.so.2";
constexpr std::string_view kProgram = "tangram-memory-hook";
/// The driver's start takes seconds where nothing keeps it running. A runtime that waits longer
/// would pass kubelet's own limit for starting a container.
constexpr int kHookSeconds = 20;

std::string hook_of(const std::string& folder, const std::string& nvml,
                    const std::vector<model::GrantedCard>& cards) {
  const std::string program = folder + "/" + std::string(kProgram);
  std::string text;
  json::Writer out(text);
  out.begin_object().member("hookName", "createRuntime");
  out.member("path", folder + "/" + std::string(kLoader)).key("args").begin_array();
  for (const std::string& argument : {std::string(kProgram), std::string("--library-path"), folder,
                                      program, std::string("--nvml"), nvml}) {
    out.string(argument);
  }
  for (const model::GrantedCard& card : cards) {
    out.string("--limit").string(card.uuid + "=" + std::to_string(card.memory_limit.count()) +
                                 "MiB");
  }
  out.end_array().member("timeout", kHookSeconds).end_object();
  return text;
}

}  // namespace

Result<ContainerEdits> DriverLimiter::limit(std::string_view /*allocation*/,
                                            const std::vector<model::GrantedCard>& cards,
                                            CdiEdits& vendor) {
  const auto nvml = host_path_of(vendor, "libnvidia-ml.so");
  if (!nvml) return nvml.error();
  vendor.lists["hooks"].push_back(hook_of(hook_, *nvml, cards));
  return ContainerEdits{};
}

std::vector<std::string> memory_hook_files(const std::string& program) {
  const std::string libraries = "/lib/x86_64-linux-gnu/";
  std::vector<std::string> files{program, libraries + std::string(kLoader)};
  for (const char* const name :
       {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}) {
    files.push_back(libraries + name);
  }
  return files;
}

}  // namespace tangram::node::nvidia
