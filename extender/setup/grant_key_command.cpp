#include "extender/setup/grant_key_command.hpp"

#include "base/ed25519.hpp"
#include "base/file.hpp"
#include "base/json.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace tangram::extender {

namespace {

/// As `kubectl patch --type merge` takes it.
std::string patch_of(const VerifyingKey& key) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("data").begin_object();
  out.member(key.id() + ".pub", key.to_pem()).end_object().end_object();
  return text;
}

constexpr const char* kNext = R"(key {id}: {folder}/grant.key is secret, {folder}/grant.pub is not.

The first key of this cluster:

  kubectl --namespace tangram-system create configmap tangram-grant-keys --from-file={id}.pub={folder}/grant.pub
  kubectl --namespace tangram-system create secret generic tangram-grant-key --from-file={folder}/grant.key

Then the settings that docs/signing.md shows. In place of another key, where grants are signed already:

  1. kubectl --namespace tangram-system patch configmap tangram-grant-keys --type merge --patch '{patch}'
  2. wait until every agent and extender shows tangram_node_grant_key_known{{key="{id}"}} 1 or
     tangram_grant_key_known{{key="{id}"}} 1, some two minutes
  3. kubectl --namespace tangram-system create secret generic tangram-grant-key --from-file={folder}/grant.key --dry-run=client --output yaml | kubectl apply --filename -
  4. once tangram_grants_by_key shows no grant of the former key any more, FORMER:
     kubectl --namespace tangram-system patch configmap tangram-grant-keys --type json --patch '[{{"op":"remove","path":"/data/FORMER.pub"}}]'

Keep no copy of grant.key outside the cluster: its owner can grant any card to any pod.
)";

}  // namespace

Result<std::string> make_grant_key(const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return fail(Errc::kUnavailable, folder + ": cannot be made: " + problem.message());
  const SigningKey key = SigningKey::generate();
  const VerifyingKey half = key.verifying_key();
  const std::string public_file = folder + "/grant.pub";
  if (std::filesystem::exists(public_file, problem)) {
    return fail(Errc::kConflict, public_file +
                                     ": is there already, and is not overwritten; name "
                                     "another folder");
  }
  if (auto written = create_private_file(folder + "/grant.key", key.to_pem()); !written) {
    return written.error();
  }
  if (auto written = replace_file(public_file, half.to_pem()); !written) return written.error();
  return fmt::format(fmt::runtime(kNext), fmt::arg("id", half.id()), fmt::arg("folder", folder),
                     fmt::arg("patch", patch_of(half)));
}

}  // namespace tangram::extender
