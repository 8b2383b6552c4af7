#include "base/ed25519.hpp"
#include "tests/fuzz/fuzzing.hpp"

namespace {

using namespace tangram;
using fuzz::require;

void check(const SigningKey& key, const std::string& text) {
  const VerifyingKey other_half = key.verifying_key();
  const std::string signature = key.sign(text);
  require(other_half.verifies(text, signature));
  require(!other_half.verifies(text + "x", signature));
  const auto again = SigningKey::from_pem(key.to_pem());
  require(again && again->verifying_key() == other_half);
}

}  // namespace

/// Any text as keys in PEM, and as a signature: is refused, or is keys that can be written again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  if (const auto key = SigningKey::from_pem(text)) check(*key, text);
  const auto keys = VerifyingKey::from_pem(text);
  if (!keys) return 0;
  require(!keys->empty());
  for (const VerifyingKey& key : *keys) {
    require(key.id().size() == 8 && !key.verifies("text", text));
    const auto again = VerifyingKey::from_pem(key.to_pem());
    require(again && again->size() == 1 && again->front() == key);
  }
  return 0;
}
