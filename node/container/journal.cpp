#include "node/container/journal.hpp"

#include "base/file.hpp"
#include "base/json_members.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tangram::node {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::string_view kSuffix = ".json";

void write_claim(json::Writer& out, const Claim& claim) {
  out.key("claim").begin_object();
  out.member("podUID", claim.pod_uid).member("namespace", claim.ns).member("pod", claim.pod);
  out.member("container", claim.container).member("grant", claim.grant);
  out.member("whole", claim.whole).member("spec", claim.spec);
  out.member("mark", claim.mark).member("markedAt", claim.marked_at);
  out.member("formerMark", claim.former_mark).member("boot", claim.boot).end_object();
}

Claim read_claim(json::Reader& in) {
  Claim claim;
  json::read_members(in, "podUID", claim.pod_uid, "namespace", claim.ns, "pod", claim.pod,
                     "container", claim.container, "grant", claim.grant, "whole", claim.whole,
                     "spec", claim.spec, "mark", claim.mark, "markedAt", claim.marked_at,
                     "formerMark", claim.former_mark, "boot", claim.boot);
  return claim;
}

}  // namespace

std::string encode(const JournalEntry& entry) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("version", kVersion).member("name", entry.name);
  out.member("allocatedAt", entry.allocated_at).key("slots").begin_array();
  for (const std::string& slot : entry.slots) out.string(slot);
  out.end_array();
  if (entry.claim) write_claim(out, *entry.claim);
  out.end_object();
  return text;
}

Result<JournalEntry> decode_journal_entry(std::string text) {
  JournalEntry entry;
  std::int64_t version = 0;
  json::Reader in(text);
  const auto claim = [&](json::Reader&) { entry.claim = read_claim(in); };
  json::read_members(in, "version", version, "name", entry.name, "allocatedAt", entry.allocated_at,
                     "slots", entry.slots, "claim", claim);
  if (auto done = in.finish(); !done) return done.error();
  if (version != kVersion || entry.name.empty()) {
    return fail(Errc::kInvalidArgument,
                "is no journal entry of version " + std::to_string(kVersion));
  }
  return entry;
}

Result<Journal> Journal::open(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code problem;
  fs::create_directories(folder, problem);
  const fs::directory_iterator files(folder, problem);
  if (problem) {
    return fail(Errc::kUnavailable, folder + ": cannot be made or read: " + problem.message());
  }
  Journal journal(folder);
  for (const auto& found : files) {
    const std::string path = found.path();
    if (!path.ends_with(kSuffix)) continue;
    auto text = read_file(path);
    auto entry = text ? decode_journal_entry(std::move(*text)) : text.error();
    if (!entry || journal.file(entry->name) != path) {
      spdlog::warn("{} is left out, and renamed to end in .bad: {}", path,
                   entry ? "its name differs from the file's" : entry.error().message);
      fs::rename(path, path + ".bad", problem);
      continue;
    }
    std::string name = entry->name;
    journal.entries_.emplace(std::move(name), std::move(*entry));
  }
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : folder_(std::move(other.folder_)), entries_(std::move(other.entries_)) {}

Result<void> Journal::put(const JournalEntry& entry) {
  const std::lock_guard lock(mutex_);
  if (auto written = replace_file(file(entry.name), encode(entry)); !written) {
    return written.error();
  }
  entries_.insert_or_assign(entry.name, entry);
  return {};
}

void Journal::remember(const JournalEntry& entry) {
  const std::lock_guard lock(mutex_);
  entries_.insert_or_assign(entry.name, entry);
}

void Journal::erase(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  std::error_code ignored;
  std::filesystem::remove(file(name), ignored);
  const auto claim = std::move(found->second.claim);
  entries_.erase(found);
  const auto has_it = [&](const auto& named) {
    return named.second.claim && named.second.claim->pod_uid == claim->pod_uid;
  };
  if (claim && std::ranges::none_of(entries_, has_it)) awaited_.erase(claim->pod_uid);
}

void Journal::await_pod(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  awaited_.insert(uid);
}

void Journal::pod_shown(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  const auto found = awaited_.find(uid);
  if (found != awaited_.end()) awaited_.erase(found);
}

bool Journal::awaits_pod(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  return awaited_.contains(uid);
}

std::set<std::string, std::less<>> Journal::awaited_pods() const {
  const std::lock_guard lock(mutex_);
  return awaited_;
}

std::optional<JournalEntry> Journal::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

std::vector<JournalEntry> Journal::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<JournalEntry> all;
  all.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) all.push_back(entry);
  return all;
}

bool Journal::has_admitted(std::string_view grant) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& named) {
    const auto& claim = named.second.claim;
    return claim && claim->grant == grant;
  });
}

std::string Journal::file(std::string_view name) const {
  return folder_ + "/" + std::string(name) + std::string(kSuffix);
}

}  // namespace tangram::node
