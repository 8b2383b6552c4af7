#include "node/container/journal.hpp"

#include "base/file.hpp"
#include "base/json.hpp"

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
  out.key("claim")
      .begin_object()
      .member("podUID", claim.pod_uid)
      .member("namespace", claim.ns)
      .member("pod", claim.pod)
      .member("container", claim.container)
      .member("grant", claim.grant)
      .member("whole", claim.whole)
      .member("spec", claim.spec)
      .end_object();
}

Claim read_claim(json::Reader& in) {
  Claim claim;
  in.object([&](std::string_view key) {
    if (key == "podUID") {
      claim.pod_uid = in.string();
    } else if (key == "namespace") {
      claim.ns = in.string();
    } else if (key == "pod") {
      claim.pod = in.string();
    } else if (key == "container") {
      claim.container = in.string();
    } else if (key == "grant") {
      claim.grant = in.string();
    } else if (key == "whole") {
      claim.whole = in.boolean();
    } else if (key == "spec") {
      claim.spec = in.string();
    } else {
      in.skip();
    }
  });
  return claim;
}

}  // namespace

std::string encode(const Allocation& allocation) {
  std::string text;
  json::Writer out(text);
  out.begin_object()
      .member("version", kVersion)
      .member("name", allocation.name)
      .member("allocatedAt", allocation.allocated_at)
      .key("slots")
      .begin_array();
  for (const std::string& slot : allocation.slots) out.string(slot);
  out.end_array();
  if (allocation.claim) write_claim(out, *allocation.claim);
  out.end_object();
  return text;
}

Result<Allocation> decode_allocation(std::string text) {
  Allocation allocation;
  std::int64_t version = 0;
  json::Reader in(text);
  in.object([&](std::string_view key) {
    if (key == "version") {
      version = in.integer();
    } else if (key == "name") {
      allocation.name = in.string();
    } else if (key == "allocatedAt") {
      allocation.allocated_at = in.string();
    } else if (key == "slots") {
      in.array([&] { allocation.slots.emplace_back(in.string()); });
    } else if (key == "claim") {
      allocation.claim = read_claim(in);
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  if (version != kVersion || allocation.name.empty()) {
    return fail(Errc::kInvalidArgument, "is no allocation of version " + std::to_string(kVersion));
  }
  return allocation;
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
  for (const auto& entry : files) {
    const std::string path = entry.path();
    if (!path.ends_with(kSuffix)) continue;
    auto text = read_file(path);
    auto allocation = text ? decode_allocation(std::move(*text)) : text.error();
    if (!allocation || journal.file(allocation->name) != path) {
      spdlog::warn("{} is left out, and renamed to end in .bad: {}", path,
                   allocation ? "it is named otherwise inside" : allocation.error().message);
      fs::rename(path, path + ".bad", problem);
      continue;
    }
    std::string name = allocation->name;
    journal.allocations_.emplace(std::move(name), std::move(*allocation));
  }
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : folder_(std::move(other.folder_)), allocations_(std::move(other.allocations_)) {}

Result<void> Journal::put(const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  if (auto written = replace_file(file(allocation.name), encode(allocation)); !written) {
    return written.error();
  }
  allocations_.insert_or_assign(allocation.name, allocation);
  return {};
}

void Journal::erase(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(name);
  if (found == allocations_.end()) return;
  std::error_code ignored;
  std::filesystem::remove(file(name), ignored);
  allocations_.erase(found);
}

std::optional<Allocation> Journal::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(name);
  if (found == allocations_.end()) return std::nullopt;
  return found->second;
}

std::vector<Allocation> Journal::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Allocation> all;
  all.reserve(allocations_.size());
  for (const auto& [name, allocation] : allocations_) all.push_back(allocation);
  return all;
}

bool Journal::has_admitted(std::string_view grant) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(allocations_.begin(), allocations_.end(), [&](const auto& entry) {
    const auto& claim = entry.second.claim;
    return claim && claim->grant == grant;
  });
}

std::string Journal::file(std::string_view name) const {
  return folder_ + "/" + std::string(name) + std::string(kSuffix);
}

}  // namespace tangram::node
