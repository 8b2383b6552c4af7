#include "node/launcher/message.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any message to or from tangram-launcher: is refused, or means the same when it is written again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  using namespace tangram::node;
  const auto bytes = fuzz::text_of(data, size);
  if (const auto request = launcher::decode_request(bytes)) {
    fuzz::require(!request->arguments.empty());
    const auto again = launcher::encode(*request);
    fuzz::require(again.has_value() || size > launcher::kMostRequestBytes);
    const auto read = again ? launcher::decode_request(*again) : request;
    fuzz::require(read && read->arguments == request->arguments && read->env == request->env);
  }
  if (const auto reply = launcher::decode_reply(bytes)) {
    const std::string again = launcher::encode(*reply);
    fuzz::require(again.size() <= launcher::kMostReplyBytes);
    const auto read = launcher::decode_reply(again);
    fuzz::require(read && read->index() == reply->index());
  }
  return 0;
}
