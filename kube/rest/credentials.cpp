#include "kube/rest/credentials.hpp"

#include "base/file.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tangram::kube {

namespace {

// client-go's. A new token is written when 80 % of the old one's life are over.
constexpr std::chrono::minutes kReadEvery{1};

Result<std::string> text_of(const TextOrFile& source) {
  if (source.file.empty()) return source.text;
  auto text = read_file(source.file);
  if (!text) return text.error();
  // A line end after a token would end the header it is sent in.
  text->erase(text->find_last_not_of(" \r\n") + 1);
  if (text->empty()) return fail(Errc::kInvalidArgument, source.file + ": is empty");
  return text;
}

constexpr std::array kParts{
    std::pair(&RestConfig::ca, &Credentials::ca),
    std::pair(&RestConfig::client_certificate, &Credentials::client_certificate),
    std::pair(&RestConfig::client_key, &Credentials::client_key),
    std::pair(&RestConfig::token, &Credentials::token)};

Result<Credentials> read(const RestConfig& config) {
  Credentials credentials;
  for (const auto& [source, part] : kParts) {
    auto text = text_of(config.*source);
    if (!text) return text.error();
    credentials.*part = std::move(*text);
  }
  // Not shown: it is a secret, or at least a part of one.
  const auto is_header_text = [](char c) { return c > ' ' && c < '\x7f'; };
  if (!std::all_of(credentials.token.begin(), credentials.token.end(), is_header_text)) {
    return fail(Errc::kInvalidArgument,
                config.server +
                    ": the token holds a blank or a control character; write the token "
                    "alone");
  }
  return credentials;
}

}  // namespace

Result<std::unique_ptr<CredentialSource>> CredentialSource::create(const RestConfig& config,
                                                                   const Clock& clock) {
  auto first = read(config);
  if (!first) return first.error();
  return std::unique_ptr<CredentialSource>(new CredentialSource(config, clock, std::move(*first)));
}

CredentialSource::CredentialSource(const RestConfig& config, const Clock& clock, Credentials first)
    : config_(config),
      has_files_(std::any_of(kParts.begin(), kParts.end(),
                             [&](const auto& part) { return !(config.*part.first).file.empty(); })),
      clock_(clock),
      current_(std::make_shared<const Credentials>(std::move(first))),
      read_at_(clock.now()) {}

CredentialsPtr CredentialSource::current() {
  const std::lock_guard lock(mutex_);
  if (has_files_ && clock_.now() - read_at_ >= kReadEvery) read_again();
  return current_;
}

CredentialsPtr CredentialSource::after_refusal(const CredentialsPtr& refused) {
  if (!has_files_) return nullptr;
  const std::lock_guard lock(mutex_);
  if (current_ == refused) read_again();
  return current_->token == refused->token ? nullptr : current_;
}

void CredentialSource::read_again() {
  read_at_ = clock_.now();
  auto fresh = read(config_);
  if (!fresh) {
    spdlog::warn("credentials for {} stay as they were: {}", config_.server, fresh.error().message);
    return;
  }
  if (*fresh != *current_) current_ = std::make_shared<const Credentials>(std::move(*fresh));
}

}  // namespace tangram::kube
