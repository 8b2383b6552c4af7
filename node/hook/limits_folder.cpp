#include "node/hook/limits_folder.hpp"

#include "base/file.hpp"
#include "base/json_members.hpp"
#include "base/number.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tangram::node::hook {
namespace {

constexpr std::int64_t kMostMebibytes = std::numeric_limits<std::int64_t>::max() >> 20U;

Error not_of_the_agent(const std::string& file, const std::string& why) {
  return fail(Errc::kInvalidArgument,
              file + " " + why + "; delete the pod, so that the agent writes it again");
}

void write_list(json::Writer& out, std::string_view name, const std::vector<MemoryLimit>& limits) {
  out.key(name).begin_array();
  for (const MemoryLimit& limit : limits) {
    out.begin_object().member("card", limit.card).member("memMiB", limit.amount.count());
    out.end_object();
  }
  out.end_array();
}

bool has_all(const std::vector<MemoryLimit>& limits, const std::vector<MemoryLimit>& wanted) {
  return std::ranges::all_of(wanted, [&](const MemoryLimit& limit) {
    return std::ranges::find(limits, limit) != limits.end();
  });
}

MemoryLimit read_limit(json::Reader& in) {
  MemoryLimit limit;
  std::int64_t amount = 0;
  json::read_members(in, "card", limit.card, "memMiB", amount);
  if (limit.card.empty() || amount <= 0 || amount > kMostMebibytes) {
    in.fail("a limit needs a card and a number above 0 of MiB");
  }
  limit.amount = Mebibytes(amount);
  return limit;
}

}  // namespace

Result<void> LimitsFolder::put(const Limits& limits) const {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  write_list(out, "nvidia", limits.nvidia);
  write_list(out, "dmem", limits.dmem);
  out.end_object();
  return replace_file(limits_file(), text);
}

Result<Limits> LimitsFolder::limits() const {
  auto text = read_file(limits_file());
  if (!text) {
    return fail(Errc::kNotFound, path_ + " has no limits, which the agent writes before a start");
  }
  Limits limits;
  json::Reader in(*text);
  json::read_members(in, "nvidia", json::each(limits.nvidia, read_limit), "dmem",
                     json::each(limits.dmem, read_limit));
  if (auto done = in.finish(); !done) return not_of_the_agent(limits_file(), done.error().message);
  // A hook without limits would let the container start without them.
  if (limits == Limits{}) return not_of_the_agent(limits_file(), "has no limit");
  return limits;
}

Result<void> LimitsFolder::put(const Leaf& leaf) const {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("container", leaf.container).member("path", leaf.path);
  // Texts: an inode may be larger than JSON's integers are here.
  out.member("inode", std::to_string(leaf.inode)).member("root", std::to_string(leaf.root));
  out.member("filesystem", std::to_string(leaf.filesystem));
  out.end_object();
  return replace_file(leaf_file(), text);
}

Result<Leaf> LimitsFolder::leaf() const {
  auto text = read_file(leaf_file());
  if (!text) {
    return fail(Errc::kNotFound,
                "no container has started with its limits in " + path_ + " until now");
  }
  Leaf leaf;
  std::string inode;
  std::string root;
  std::string filesystem = std::to_string(kCgroup2);  // which earlier hooks did not write
  json::Reader in(*text);
  json::read_members(in, "container", leaf.container, "path", leaf.path, "inode", inode, "root",
                     root, "filesystem", filesystem);
  if (auto done = in.finish(); !done) return not_of_the_agent(leaf_file(), done.error().message);
  leaf.inode = parse_number<std::uint64_t>(inode).value_or(0);
  leaf.root = parse_number<std::uint64_t>(root).value_or(0);
  leaf.filesystem = parse_number<std::uint64_t>(filesystem).value_or(0);
  const bool is_placed = leaf.inode != 0 && leaf.root != 0 && leaf.filesystem != 0;
  if (is_placed && is_of_container(leaf.path, leaf.container)) return leaf;
  return not_of_the_agent(leaf_file(), "names no cgroup of a container");
}

Result<void> limit_start(const LimitsFolder& folder, const Leaf& leaf, const SetLimits& set) {
  if (auto written = folder.put(leaf); !written) return written.error();
  int conflicts = 0;
  for (Limits in_force;;) {
    auto limits = folder.limits();
    if (!limits) return limits.error();
    if (*limits == in_force) return {};
    const auto done = set(*limits);
    in_force = done ? std::move(*limits) : Limits{};
    if (done) continue;
    if (done.error().code != Errc::kConflict || ++conflicts == kMostTries) return done.error();
  }
}

Result<void> limit_running(const LimitsFolder& folder, const Limits& wanted, const SetLimits& set) {
  for (int tries = 1;; ++tries) {
    auto done = set(wanted);
    if (!done && done.error().code != Errc::kConflict) return done;
    const auto limits = folder.limits();
    if (!limits) return limits.error();
    if (!has_all(limits->nvidia, wanted.nvidia) || !has_all(limits->dmem, wanted.dmem)) {
      return fail(Errc::kStale, "the limits of the container were changed in the meantime");
    }
    if (done || tries == kMostTries) return done;
  }
}

}  // namespace tangram::node::hook
