#include "http/tls/identity.hpp"

#include "base/file.hpp"
#include "base/sha256.hpp"

#include <boost/asio/ssl/context.hpp>
#include <openssl/crypto.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace tangram::http::tls {
namespace {

Result<ServerTexts> read_files(const ServerFiles& files) {
  ServerTexts texts;
  for (const auto& [path, text] :
       {std::pair{&files.certificate, &texts.certificate}, std::pair{&files.key, &texts.key},
        std::pair{&files.client_ca, &texts.client_ca}}) {
    if (path->empty()) continue;
    auto read = read_file(*path);
    if (!read) return read.error();
    if (read->empty()) return fail(Errc::kNotFound, *path + ": is empty");
    *text = std::move(*read);
  }
  return texts;
}

/// Stands for the texts without keeping the key; of what could not be read, for the reason.
std::string digest(const Result<ServerTexts>& texts) {
  if (!texts) return texts.error().message;
  return sha256(texts->certificate) + sha256(texts->key) + sha256(texts->client_ca);
}

/// Of the client CA alone.
std::string last_part(const std::string& digest) {
  constexpr std::size_t kSize = 32;  // of SHA-256
  return digest.substr(digest.size() - std::min(digest.size(), kSize));
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
  if (made) identity->put_in_force(std::move(*made), digest(texts));
  forget_key(texts);
  if (!made) {
    return fail(made.error().code, names_of(identity->files_) + ": " + made.error().message);
  }
  return identity;
}

void Identity::put_in_force(ServerContext fresh, std::string digest) {
  current_ = std::move(fresh);
  if (last_part(digest) != last_part(in_force_)) ++trust_;
  in_force_ = std::move(digest);
  refused_.clear();
  logged_soon_ = logged_expired_ = false;
  if (clock_.wall() < current_.valid_from) {
    spdlog::warn(
        "the TLS certificate of {} is valid from {} on and not yet: clients that verify it "
        "refuse it; look at this machine's clock and at {}",
        name_, rfc3339(current_.valid_from), files_.certificate);
  }
  log_expiry();
}

void Identity::log_expiry() {
  const WallTime now = clock_.wall();
  if (now >= current_.expires && !std::exchange(logged_expired_, true)) {
    spdlog::error(
        "the TLS certificate of {} expired at {}: clients that verify it refuse it; put a "
        "new one into {} and {}",
        name_, rfc3339(current_.expires), files_.certificate, files_.key);
  } else if (now + kExpiresSoon >= current_.expires && !std::exchange(logged_soon_, true) &&
             !logged_expired_) {
    spdlog::warn("the TLS certificate of {} expires at {}; put a new one into {} and {} before",
                 name_, rfc3339(current_.expires), files_.certificate, files_.key);
  }
}

void Identity::look() {
  const TimePoint now = clock_.now();
  if (now - looked_ < kLookInterval) return;
  looked_ = now;
  auto texts = read_files(files_);
  std::string found = digest(texts);
  if (found == in_force_) {
    refused_.clear();
  } else {
    reload(texts, std::move(found));
  }
  forget_key(texts);
  log_expiry();
}

/// What could not be used is tried again at each look, for the reason may have been this process's,
/// and reported once.
void Identity::reload(const Result<ServerTexts>& texts, std::string digest) {
  auto made = texts ? make_server_context(*texts) : Result<ServerContext>(texts.error());
  if (made) {
    put_in_force(std::move(*made), std::move(digest));
    ++reloads_;
    spdlog::info("the TLS certificate of {} was reloaded; it expires at {}", name_,
                 rfc3339(current_.expires));
    return;
  }
  if (digest == refused_) return;
  refused_ = std::move(digest);
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

}  // namespace tangram::http::tls
