#include "kube/rest/curl_line.hpp"
#include "kube/rest/rest_config.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused with the file's name, or says where the server is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  static const fuzz::MemoryFile file;
  file.replace(fuzz::text_of(data, size));
  const auto config = kube::read_kubeconfig(file.path());
  if (!config) {
    fuzz::require(config.error().message.starts_with(file.path()));
    return 0;
  }
  fuzz::require(!config->server.empty());
  for (const kube::TextOrFile* part :
       {&config->ca, &config->client_certificate, &config->client_key, &config->token}) {
    fuzz::require(part->text.empty() || part->file.empty());
  }
  const auto server = kube::parse_server_url(config->server);
  fuzz::require(!server || server->scheme == "https" || server->scheme == "http");
  return 0;
}
