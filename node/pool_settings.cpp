#include "node/pool_settings.hpp"

#include "base/file.hpp"
#include "base/folder.hpp"
#include "base/json_members.hpp"
#include "base/quote.hpp"
#include "kube/local/yaml_to_json.hpp"
#include "node/publish/own_node.hpp"

#include <boost/algorithm/string/join.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tangram::node {

namespace {

/// By the first ones the agent reaches its Node and what it remembers, before it knows its pool.
/// The next say whom it trusts, which must not depend on who may label a Node. Kubelet probes the
/// agent, and Prometheus scrapes it, where the DaemonSet says.
constexpr std::array<std::string_view, 10> kNotOfPools{"node-name",
                                                       "kubeconfig",
                                                       "state-dir",
                                                       "pool-settings",
                                                       "grant-keys",
                                                       "require-signed-grants",
                                                       "metrics-authentication",
                                                       "listen",
                                                       "metrics-tls-cert",
                                                       "metrics-tls-key"};

/// Without its dashes.
bool is_flag(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || c == '-'; });
}

std::string memory_of(const std::string& state_dir) { return state_dir + "/pool"; }

std::string scalar_of(json::Reader& in) {
  if (in.kind() != json::Kind::kBool) return in.scalar_text();
  return in.boolean() ? "true" : "false";
}

/// "8", or of a list "a,b".
std::string value_of(json::Reader& in) {
  if (in.kind() != json::Kind::kArray) return scalar_of(in);
  std::vector<std::string> values;
  in.array([&] { values.push_back(scalar_of(in)); });
  return boost::algorithm::join(values, ",");
}

Result<std::vector<std::string>> read_flags(std::string json) {
  std::vector<std::string> arguments;
  json::Reader in(json);
  in.object([&](std::string_view flag) {
    if (!is_flag(flag)) {
      in.fail(quote(flag) + " is no flag; write it as --help does, without the dashes before it");
      return;
    }
    if (std::ranges::find(kNotOfPools, flag) != kNotOfPools.end()) {
      in.fail("--" + std::string(flag) + " is the same for all nodes; set it on the command line");
      return;
    }
    arguments.push_back("--" + std::string(flag) + "=" + value_of(in));
  });
  if (auto done = in.finish(); !done) return done.error();
  return arguments;
}

}  // namespace

Result<PoolChoice> choose_pool(const std::string& folder, const std::string& label) {
  const auto pools = config_map_files(folder);
  if (!pools) return fail(pools.error().code, "--pool-settings " + pools.error().message);
  const std::string name = label.empty() ? std::string(kDefaultPool) : label;
  if (pools->contains(name)) return PoolChoice(name);
  if (label.empty()) return PoolChoice();
  return fail(Errc::kInvalidArgument,
              "label " + std::string(kPoolLabel) + " names " + quote(label) +
                  ", for which there are no settings; there are: " +
                  (pools->empty() ? "none" : boost::algorithm::join(*pools, ", ")) +
                  ". Change the label, or add the settings");
}

Result<std::vector<std::string>> pool_arguments(const std::string& folder, const PoolChoice& pool) {
  if (!pool) return std::vector<std::string>();
  const std::string path = folder + "/" + *pool;
  const auto invalid = [&](const std::string& why) {
    return fail(Errc::kInvalidArgument, path + ": " + why);
  };
  const auto text = read_file(path);
  if (!text) return text.error();
  const auto objects = kube::yaml_to_json(*text);
  if (!objects) return invalid(objects.error().message);
  if (objects->empty()) return std::vector<std::string>();
  if (objects->size() > 1) return invalid("has several YAML documents; write one");
  auto arguments = read_flags(objects->front().json);
  if (!arguments) return invalid(arguments.error().message);
  return arguments;
}

Result<PoolChoice> remembered_pool(const std::string& state_dir) {
  auto text = read_file(memory_of(state_dir));
  if (!text) return text.error();
  return text->empty() ? PoolChoice() : PoolChoice(std::move(*text));
}

Result<void> remember_pool(const std::string& state_dir, const PoolChoice& pool) {
  return replace_file(memory_of(state_dir), pool.value_or(""));
}

Result<PoolChoice> pool_of_node(kube::KubeApi& api, std::string_view node,
                                const std::string& folder, const std::string& state_dir,
                                std::chrono::milliseconds timeout) {
  const auto own = read_own_node(api, node, timeout);
  if (own) return choose_pool(folder, own->pool);
  if (own.error().code != Errc::kUnavailable) return own.error();
  auto last = remembered_pool(state_dir);
  if (!last) {
    return fail(Errc::kUnavailable,
                "which settings of --pool-settings apply is not known: " + own.error().message);
  }
  spdlog::warn("the settings are those of the last start ({}): {}",
               last->value_or("those of the command line"), own.error().message);
  return last;
}

PoolWatch::PoolWatch(std::string folder, PoolChoice current, Check check,
                     std::function<void()> restart)
    : folder_(std::move(folder)),
      current_(std::move(current)),
      check_(std::move(check)),
      restart_(std::move(restart)) {}

void PoolWatch::see(const std::string& label) {
  const std::lock_guard lock(mutex_);
  if (restarting_) return;
  // Each time: its file may have come since.
  const auto chosen = choose_pool(folder_, label);
  if (!chosen) return stay(chosen.error().message);
  if (*chosen == current_) return stay("");
  if (checked_ && *checked_ == *chosen) return;  // the check prints what is wrong
  checked_ = *chosen;
  if (const auto usable = check_(*chosen); !usable) return stay(usable.error().message);
  spdlog::info("other settings apply to this node ({}): restarting; containers go on",
               chosen->value_or("those of the command line"));
  restarting_ = true;
  restart_();
}

void PoolWatch::stay(const std::string& problem) {
  if (std::exchange(problem_, problem) == problem || problem.empty()) return;
  spdlog::error("the settings stay as they are: {}", problem);
}

}  // namespace tangram::node
