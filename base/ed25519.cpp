#include "base/ed25519.hpp"

#include "base/freed.hpp"
#include "base/sha256.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <optional>
#include <stdexcept>
#include <utility>

namespace tangram {

struct Ed25519Handle {
  EVP_PKEY* key;

  explicit Ed25519Handle(EVP_PKEY* owned) : key(owned) {}
  ~Ed25519Handle() { EVP_PKEY_free(key); }  // which wipes a private key
  Ed25519Handle(const Ed25519Handle&) = delete;
  Ed25519Handle& operator=(const Ed25519Handle&) = delete;
};

namespace {

using Handle = std::shared_ptr<const Ed25519Handle>;

using Memory = std::unique_ptr<BIO, Freed<BIO_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;

constexpr std::size_t kSignatureSize = 64;
// Eight keys of 113 bytes, with comments, are far below it.
constexpr std::size_t kMaxPem = 65'536;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// Only what cannot go wrong with a key that was read before: memory is out.
void demand(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("OpenSSL cannot ") + what);
}

Memory reading(const std::string& text) {
  Memory memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  demand(memory != nullptr, "read from memory");
  return memory;
}

/// Without it OpenSSL would prompt on the terminal.
int no_password(char* /*into*/, int /*size*/, int /*writes*/, void* /*data*/) { return -1; }

bool is_ed25519(const EVP_PKEY* key) { return EVP_PKEY_is_a(key, "ED25519") == 1; }

std::string text_in(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return {data, static_cast<std::size_t>(size)};
}

template <class Write>
std::string pem_of(const Write& write) {
  const Memory memory(BIO_new(BIO_s_mem()));
  demand(memory != nullptr && write(memory.get()) == 1, "write a key");
  return text_in(memory.get());
}

std::string der_of(const Handle& handle) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(handle->key, &der);
  demand(size > 0, "encode a key");
  std::string text(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

std::string id_of(std::string_view der) {
  const std::string digest = sha256(der);
  return fmt::format("{:02x}", fmt::join(bytes_of(digest), bytes_of(digest) + 4, ""));
}

struct FreeMemory {
  void operator()(void* memory) const { OPENSSL_free(memory); }
};
template <class Byte>
using OpenSslMemory = std::unique_ptr<Byte, FreeMemory>;

/// One "-----BEGIN …-----" of a PEM text.
struct Block {
  OpenSslMemory<char> name;
  OpenSslMemory<char> header;
  OpenSslMemory<unsigned char> data;
  long size = 0;
};

/// @returns nothing at the end of the text, and at a block that is broken
std::optional<Block> read_block(BIO* from) {
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  Block block;
  if (PEM_read_bio(from, &name, &header, &data, &block.size) != 1) return std::nullopt;
  block.name.reset(name);
  block.header.reset(header);
  block.data.reset(data);
  return block;
}

/// @returns null if it is not one
EVP_PKEY* public_key_in(const Block& block) {
  if (std::string_view(block.name.get()) != PEM_STRING_PUBLIC) return nullptr;
  const unsigned char* at = block.data.get();
  return d2i_PUBKEY(nullptr, &at, block.size);
}

/// After a read that found nothing more.
bool at_end_of_pem() { return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE; }

Error refused(std::string why) {
  ERR_clear_error();
  return fail(Errc::kInvalidArgument, std::move(why));
}

}  // namespace

VerifyingKey::VerifyingKey(std::shared_ptr<const Ed25519Handle> key)
    : key_(std::move(key)), der_(der_of(key_)), id_(id_of(der_)) {}

Result<std::vector<VerifyingKey>> VerifyingKey::from_pem(const std::string& text) {
  if (text.size() > kMaxPem) return refused("is too long for a file of public keys");
  if (text.find("PRIVATE KEY-----") != std::string::npos) {
    return refused(
        "holds a private key; only public ones belong here: make a new pair, for this one is no "
        "secret any more");
  }
  const Memory memory = reading(text);
  std::vector<VerifyingKey> keys;
  while (const auto block = read_block(memory.get())) {
    EVP_PKEY* const read = public_key_in(*block);
    if (read == nullptr) return refused("holds something that is no public key, or a broken one");
    auto handle = std::make_shared<const Ed25519Handle>(read);
    if (!is_ed25519(read)) return refused("holds a public key that is not Ed25519");
    keys.push_back(VerifyingKey(std::move(handle)));
  }
  if (!at_end_of_pem()) return refused("holds a broken public key");
  if (keys.empty()) return refused("holds no public key in PEM (-----BEGIN PUBLIC KEY-----)");
  ERR_clear_error();
  return keys;
}

bool VerifyingKey::verifies(std::string_view text, std::string_view signature) const {
  if (signature.size() != kSignatureSize) return false;
  const Digest digest(EVP_MD_CTX_new());
  demand(digest != nullptr &&
             EVP_DigestVerifyInit(digest.get(), nullptr, nullptr, nullptr, key_->key) == 1,
         "check a signature");
  const bool right = EVP_DigestVerify(digest.get(), bytes_of(signature), signature.size(),
                                      bytes_of(text), text.size()) == 1;
  ERR_clear_error();
  return right;
}

std::string VerifyingKey::to_pem() const {
  return pem_of([&](BIO* out) { return PEM_write_bio_PUBKEY(out, key_->key); });
}

SigningKey SigningKey::generate() {
  EVP_PKEY* const made = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  demand(made != nullptr, "make a key");
  return SigningKey(std::make_shared<const Ed25519Handle>(made));
}

Result<SigningKey> SigningKey::from_pem(const std::string& text) {
  constexpr const char* kWhatToDo =
      "is no Ed25519 private key in PEM (PKCS#8, without a password); make one with "
      "tangram-extender grant-key";
  if (text.size() > kMaxPem) return refused(kWhatToDo);
  const Memory memory = reading(text);
  EVP_PKEY* const read = PEM_read_bio_PrivateKey(memory.get(), nullptr, no_password, nullptr);
  if (read == nullptr) return refused(kWhatToDo);
  auto handle = std::make_shared<const Ed25519Handle>(read);
  if (!is_ed25519(read)) return refused(kWhatToDo);
  return SigningKey(std::move(handle));
}

std::string SigningKey::sign(std::string_view text) const {
  const Digest digest(EVP_MD_CTX_new());
  std::string signature(kSignatureSize, '\0');
  std::size_t size = signature.size();
  const bool done = digest != nullptr &&
                    EVP_DigestSignInit(digest.get(), nullptr, nullptr, nullptr, key_->key) == 1 &&
                    EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(signature.data()),
                                   &size, bytes_of(text), text.size()) == 1 &&
                    size == kSignatureSize;
  demand(done, "sign");
  return signature;
}

VerifyingKey SigningKey::verifying_key() const {
  // By way of its bytes: the copy must not hold the secret.
  std::string raw(32, '\0');
  std::size_t size = raw.size();
  auto* const into = reinterpret_cast<unsigned char*>(raw.data());
  demand(EVP_PKEY_get_raw_public_key(key_->key, into, &size) == 1, "find a public key");
  EVP_PKEY* const half = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, into, size);
  demand(half != nullptr, "make a public key");
  return VerifyingKey(std::make_shared<const Ed25519Handle>(half));
}

std::string SigningKey::to_pem() const {
  return pem_of([&](BIO* out) {
    return PEM_write_bio_PKCS8PrivateKey(out, key_->key, nullptr, nullptr, 0, no_password, nullptr);
  });
}

}  // namespace tangram
