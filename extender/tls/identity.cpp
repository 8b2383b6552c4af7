#include "extender/tls/identity.hpp"

#include "base/file.hpp"

#include <boost/asio/ssl/context.hpp>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <spdlog/spdlog.h>

#include <array>
#include <utility>

namespace tangram::extender::tls {
namespace {

Result<ServerTexts> read_files(const ServerFiles& files) {
  ServerTexts texts;
  const std::array<std::pair<const std::string*, std::string*>, 3> all{
      {{&files.certificate, &texts.certificate},
       {&files.key, &texts.key},
       {&files.client_ca, &texts.client_ca}}};
  for (const auto& [path, text] : all) {
    if (path->empty()) continue;
    auto read = read_file(*path);
    if (!read) return read.error();
    if (read->empty()) return fail(Errc::kNotFound, *path + ": is empty");
    *text = std::move(*read);
  }
  return texts;
}

/// Stands for the texts without keeping the key; "" = they could not be read.
std::string digest(const Result<ServerTexts>& texts) {
  if (!texts) return {};
  // The lengths, so that no byte can move from one text to the next unseen.
  std::string all = std::to_string(texts->certificate.size()) + "," +
                    std::to_string(texts->key.size()) + ";" + texts->certificate + texts->key +
                    texts->client_ca;
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  std::size_t size = 0;
  EVP_Q_digest(nullptr, "SHA256", nullptr, all.data(), all.size(), bytes.data(), &size);
  OPENSSL_cleanse(all.data(), all.size());
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

void forget_key(Result<ServerTexts>& texts) {
  if (texts) OPENSSL_cleanse(texts->key.data(), texts->key.size());
}

std::string names_of(const ServerFiles& files) {
  std::string names = files.certificate + ", " + files.key;
  if (!files.client_ca.empty()) names += ", " + files.client_ca;
  return names;
}

}  // namespace

Identity::Identity(std::string name, ServerFiles files, const Clock& clock)
    : name_(std::move(name)), files_(std::move(files)), clock_(clock), looked_(clock.now()) {}

Result<std::shared_ptr<Identity>> Identity::load(std::string name, ServerFiles files,
                                                 const Clock& clock) {
  std::shared_ptr<Identity> identity(new Identity(std::move(name), std::move(files), clock));
  auto texts = read_files(identity->files_);
  if (!texts) return texts.error();
  auto made = make_server_context(*texts);
  if (made) {
    identity->seen_ = digest(texts);
    identity->put_in_force(std::move(*made));
  }
  forget_key(texts);
  if (!made) {
    return fail(made.error().code, names_of(identity->files_) + ": " + made.error().message);
  }
  return identity;
}

void Identity::put_in_force(ServerContext fresh) {
  current_ = std::move(fresh);
  const WallTime now = clock_.wall();
  if (now < current_.valid_from || now >= current_.expires) {
    spdlog::warn(
        "the TLS certificate of {} is valid from {} to {} and not now: clients that "
        "verify it refuse it; put a new one into {}",
        name_, rfc3339(current_.valid_from), rfc3339(current_.expires), files_.certificate);
  }
}

void Identity::look() {
  const TimePoint now = clock_.now();
  if (now - looked_ < kLookInterval) return;
  looked_ = now;
  auto texts = read_files(files_);
  std::string fresh = digest(texts);
  if (fresh != seen_) {
    seen_ = std::move(fresh);
    reload(texts);
  }
  forget_key(texts);
}

void Identity::reload(const Result<ServerTexts>& texts) {
  auto made = texts ? make_server_context(*texts) : Result<ServerContext>(texts.error());
  if (made) {
    put_in_force(std::move(*made));
    ++reloads_;
    spdlog::info("the TLS certificate of {} was read anew; it expires at {}", name_,
                 rfc3339(current_.expires));
    return;
  }
  ++failures_;
  spdlog::error(
      "the TLS files of {} have changed and cannot be used: {}; the former certificate "
      "stays in force until {} are right",
      name_, made.error().message, names_of(files_));
}

std::shared_ptr<boost::asio::ssl::context> Identity::context() {
  const std::scoped_lock lock(mutex_);
  look();
  return current_.context;
}

Identity::Health Identity::health() {
  const std::scoped_lock lock(mutex_);
  look();
  return {current_.expires, reloads_, failures_};
}

}  // namespace tangram::extender::tls
