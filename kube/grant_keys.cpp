#include "kube/grant_keys.hpp"

#include "base/base64.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace tangram::kube {

namespace {

namespace fs = std::filesystem;

// Twice the largest cluster's GPU pods; 20 MiB. Beyond it signatures are checked again.
constexpr std::size_t kRemembered = 200'000;

/// The file itself, or those of a folder; a volume has its own bookkeeping under names with a dot.
Result<std::vector<std::string>> files_at(const std::string& path) {
  std::error_code problem;
  if (!fs::is_directory(path, problem)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, problem), end; !problem && at != end;
       at.increment(problem)) {
    if (!at->path().filename().string().starts_with('.')) files.push_back(at->path().string());
  }
  if (problem) return fail(Errc::kNotFound, path + ": cannot be read: " + problem.message());
  std::sort(files.begin(), files.end());
  return files;
}

/// @param place  where the texts are, for errors
/// @param pems   by the name that errors give them
Result<std::vector<VerifyingKey>> known_in(const std::string& place,
                                           const std::map<std::string, std::string>& pems) {
  std::vector<VerifyingKey> known;
  for (const auto& [name, pem] : pems) {
    const auto keys = VerifyingKey::from_pem(pem);
    if (!keys) return fail(Errc::kInvalidArgument, name + ": " + keys.error().message);
    for (const VerifyingKey& key : *keys) {
      if (std::find(known.begin(), known.end(), key) == known.end()) known.push_back(key);
    }
  }
  if (known.empty()) {
    return fail(Errc::kInvalidArgument, place +
                                            ": holds no key; put the public key there that "
                                            "tangram-extender grant-key makes");
  }
  if (known.size() > GrantKeys::kMaxKnown) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: holds {} keys; at most {} can be known: remove those that signed "
                            "no grant that is left",
                            place, known.size(), GrantKeys::kMaxKnown));
  }
  return known;
}

Result<std::vector<VerifyingKey>> read_known(const std::string& path) {
  const auto files = files_at(path);
  if (!files) return files.error();
  std::map<std::string, std::string> pems;
  for (const std::string& file : *files) {
    auto text = read_file(file);
    if (!text) return text.error();
    pems.emplace(file, std::move(*text));
  }
  return known_in(path, pems);
}

std::vector<std::string> ids_of(const std::vector<VerifyingKey>& keys) {
  std::vector<std::string> ids;
  ids.reserve(keys.size());
  for (const VerifyingKey& key : keys) ids.push_back(key.id());
  std::sort(ids.begin(), ids.end());
  return ids;
}

/// One text for one signature: base64 that a strict writer would not have written does not count.
std::optional<std::string> strictly_decoded(std::string_view base64) {
  auto bytes = base64_decode(base64);
  if (bytes && base64_encode(*bytes) != base64) return std::nullopt;
  return bytes;
}

}  // namespace

struct GrantKeys::Ring {
  std::optional<SigningKey> signing;
  std::string signing_id;
  std::vector<VerifyingKey> known;
  std::vector<std::string> ids;  ///< of `known`, sorted

  /// Without a signing key.
  static Ring of(std::vector<VerifyingKey> known) {
    auto ids = ids_of(known);
    return {.signing = {}, .signing_id = {}, .known = std::move(known), .ids = std::move(ids)};
  }
};

GrantKeys::GrantKeys(Files files, RingPtr ring)
    : files_(std::move(files)), ring_(std::move(ring)) {}

Result<GrantKeys::RingPtr> GrantKeys::read(const Files& files) {
  auto known = read_known(files.known);
  if (!known) return known.error();
  auto ring = std::make_shared<Ring>(Ring::of(std::move(*known)));
  if (files.signing.empty()) return RingPtr(std::move(ring));
  const auto text = read_file(files.signing);
  if (!text) return text.error();
  auto key = SigningKey::from_pem(*text);
  if (!key) return fail(Errc::kInvalidArgument, files.signing + ": " + key.error().message);
  const VerifyingKey half = key->verifying_key();
  if (std::find(ring->known.begin(), ring->known.end(), half) == ring->known.end()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: its public half, {}, is not among the keys of {} ({}), so agents "
                            "would refuse what it signs; add it there first",
                            files.signing, half.id(), files.known, fmt::join(ring->ids, ", ")));
  }
  ring->signing = std::move(*key);
  ring->signing_id = half.id();
  return RingPtr(std::move(ring));
}

Result<std::unique_ptr<GrantKeys>> GrantKeys::open(Files files) {
  auto ring = read(files);
  if (!ring) return ring.error();
  spdlog::info("grants are checked by the keys {}{}", fmt::join((*ring)->ids, ", "),
               (*ring)->signing ? ", and signed by " + (*ring)->signing_id : "");
  return std::unique_ptr<GrantKeys>(new GrantKeys(std::move(files), std::move(*ring)));
}

std::unique_ptr<GrantKeys> GrantKeys::open_when_usable(Files files) {
  std::unique_ptr<GrantKeys> keys(new GrantKeys(std::move(files), std::make_shared<const Ring>()));
  keys->look();
  return keys;
}

Result<std::unique_ptr<GrantKeys>> GrantKeys::of(const std::string& place,
                                                 const std::map<std::string, std::string>& pems) {
  auto known = known_in(place, pems);
  if (!known) return known.error();
  return std::unique_ptr<GrantKeys>(
      new GrantKeys({}, std::make_shared<const Ring>(Ring::of(std::move(*known)))));
}

bool GrantKeys::look() {
  auto fresh = read(files_);
  const std::lock_guard lock(mutex_);
  if (!fresh) {
    if (fresh.error().message != problem_) {
      spdlog::error("the keys of grants stay as they were: {}", fresh.error().message);
    }
    problem_ = fresh.error().message;
    return false;
  }
  problem_.clear();
  const bool other_known = (*fresh)->known != ring_->known;
  if (!other_known && (*fresh)->signing_id == ring_->signing_id) return false;
  spdlog::info("other keys of grants: checked by {}{}", fmt::join((*fresh)->ids, ", "),
               (*fresh)->signing ? ", and signed by " + (*fresh)->signing_id : "");
  ring_ = std::move(*fresh);
  if (other_known) right_.clear();
  return other_known;
}

GrantKeys::RingPtr GrantKeys::ring() const {
  const std::lock_guard lock(mutex_);
  return ring_;
}

std::string GrantKeys::sign(std::string_view text) const {
  const RingPtr keys = ring();
  return keys->signing ? base64_encode(keys->signing->sign(text)) : "";
}

model::SignatureVerdict GrantKeys::check(std::string_view grant_text) const {
  const auto parts = model::split_signature(grant_text);
  if (!parts) {
    return {.key = std::string(model::kUnsigned),
            .problem = "is not signed, and here only signed grants count"};
  }
  std::string digest = sha256(grant_text);
  RingPtr keys;
  {
    const std::lock_guard lock(mutex_);
    keys = ring_;
    if (const auto found = right_.find(digest); found != right_.end()) {
      return {.key = found->second, .problem = {}};
    }
  }
  const auto signature = strictly_decoded(parts->signature);
  for (const VerifyingKey& key : keys->known) {
    if (!signature || !key.verifies(parts->text, *signature)) continue;
    remember(keys, std::move(digest), key.id());
    return {.key = key.id(), .problem = {}};
  }
  return {.key = std::string(model::kUnknownKey),
          .problem = fmt::format(
              "is not signed by a key that counts here ({})",
              keys->ids.empty() ? "none is known" : fmt::format("{}", fmt::join(keys->ids, ", ")))};
}

void GrantKeys::remember(const RingPtr& of, std::string digest, const std::string& key) const {
  const std::lock_guard lock(mutex_);
  if (of->known != ring_->known) return;  // its key may not count any more
  if (right_.size() >= kRemembered) right_.clear();
  right_.insert_or_assign(std::move(digest), key);
}

GrantKeys::State GrantKeys::state() const {
  const std::lock_guard lock(mutex_);
  return {.signing = ring_->signing_id, .known = ring_->ids, .stale = !problem_.empty()};
}

model::Signer signer(const GrantKeys* keys) {
  if (keys == nullptr) return {};
  return [keys](std::string_view text) { return keys->sign(text); };
}

model::SignatureCheck signature_check(const GrantKeys& keys, bool required) {
  return [&keys, required](std::string_view text) {
    auto verdict = keys.check(text);
    if (!required) verdict.problem.clear();
    return verdict;
  };
}

}  // namespace tangram::kube
