#include "base/quote.hpp"
#include "base/spelling.hpp"
#include "model/grant.hpp"
#include "model/request.hpp"
#include "model/request_texts.hpp"
#include "model/request_values.hpp"
#include "model/share_parser.hpp"

#include <algorithm>
#include <array>

namespace tangram::model {

namespace {

constexpr std::string_view kHowMuch =
    R"(write tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-mem: "8Gi" or )"
    R"(tangram.dev/gpu-count: "1")";

struct PodTexts {
  WrittenByKey pod;  ///< for the pod as a whole
  std::map<std::string_view, WrittenByKey>
      shares;  ///< by the container named in the key; "" = in none
};

/// Null for a key that is none of a request's.
const RequestAnnotation* known(std::string_view key) {
  const auto found = std::find_if(kRequestAnnotations.begin(), kRequestAnnotations.end(),
                                  [&](const RequestAnnotation& each) { return each.key == key; });
  return found == kRequestAnnotations.end() ? nullptr : &*found;
}

/// "gpu-mem" of "gpu-mem.NAME".
std::string_view without_container(std::string_view key) { return key.substr(0, key.find('.')); }

std::string shown(std::string_view key) { return std::string(kPrefix) + quote_if_needed(key); }

// ---- From the pod's annotations to texts per container.

constexpr auto kKnownKeys = [] {
  std::array<std::string_view, kRequestAnnotations.size()> keys;
  for (std::size_t i = 0; i < keys.size(); ++i) keys.at(i) = kRequestAnnotations.at(i).key;
  return keys;
}();

void refuse_unknown(std::string_view key, Mistakes& mistakes) {
  if (mistakes.full()) return mistakes.add({});  // the search below is not cheap
  const std::string_view base = without_container(key);
  if (known(base) != nullptr) {  // of the whole pod, or it would be known with a name
    mistakes.add(shown(key) + ": is for the whole pod, not for one container; write " +
                 shown(base));
    return;
  }
  const std::string_view meant = nearest_request_key(key);
  std::string mistake = shown(key) + ": there is no such annotation; ";
  if (!meant.empty()) {
    mistake += "write " + shown(meant);
  } else {
    mistake += "there are";
    for (const std::string_view name : kKnownKeys) mistake += " " + std::string(name);
  }
  mistakes.add(mistake);
}

PodTexts sort_out(const Annotations& annotations, Mistakes& mistakes) {
  PodTexts texts;
  for (const auto& [name, value] : annotations) {
    const std::string_view key = name;
    if (!key.starts_with(kRequestPrefix) || key == kGrantKey) continue;
    const std::string_view base = without_container(key);
    const RequestAnnotation* const meant = known(base);
    if (meant != nullptr && !meant->per_container && key == base) {
      texts.pod[key] = {shown(key), value};
    } else if (!is_share_key(key)) {
      refuse_unknown(key, mistakes);
    } else if (key.size() == base.size() + 1) {
      mistakes.add(shown(key) + ": names no container after the '.'; write " + shown(base) +
                   ".NAME");
    } else {
      const std::string_view container = key.substr(std::min(base.size() + 1, key.size()));
      texts.shares[container][base] = {shown(key), value};
    }
  }
  return texts;
}

// ---- From containers' names to containers.

/// Which container each share is for.
class Containers {
 public:
  Containers(const std::vector<ContainerInfo>& infos, Mistakes& mistakes)
      : infos_(infos), mistakes_(mistakes), texts_(infos.size()) {}

  /// @returns false if a share found no container
  bool assign(const PodTexts& pod) {
    bool all = true;
    for (const auto& [container, texts] : pod.shares) {
      if (!container.empty()) all = assign_named(container, texts) && all;
    }
    const Written* chosen = find(pod.pod, kContainerKey);
    const auto plain = pod.shares.find("");
    if (chosen != nullptr) {
      const auto index = named(chosen->value, *chosen);
      if (plain == pod.shares.end()) return all;
      return index && assign_plain(*index, plain->second) && all;
    }
    if (plain == pod.shares.end()) return all;
    const Index index =
        index_of(infos_.begin() + static_cast<std::ptrdiff_t>(default_container(infos_)));
    if (!index)
      mistakes_.add(plain->second.begin()->second.name +
                    ": the pod has no container that can hold a card");
    return index && assign_plain(*index, plain->second) && all;
  }

  [[nodiscard]] const WrittenByKey& texts(std::size_t index) const { return texts_[index]; }

 private:
  using Index = std::optional<std::size_t>;

  [[nodiscard]] Index index_of(std::vector<ContainerInfo>::const_iterator found) const {
    if (found == infos_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - infos_.begin());
  }

  /// The container of that name, if it can hold a card.
  Index named(std::string_view name, const Written& by) {
    const Index index =
        index_of(std::find_if(infos_.begin(), infos_.end(),
                              [&](const ContainerInfo& info) { return info.name == name; }));
    if (!index) {
      mistakes_.add(by.name + ": there is no container " + quote(name) + "; write one of" +
                    names());
      return std::nullopt;
    }
    if (infos_[*index].ordinary_init) {
      mistakes_.add(
          by.name + ": " + quote(name) +
          " is an init container, and those cannot hold a card after they end; name one of" +
          names());
      return std::nullopt;
    }
    return index;
  }

  /// The containers that can hold a card; a few of them where there are many.
  [[nodiscard]] std::string names() const {
    constexpr int kShown = 8;
    std::string names;
    int shown = 0;
    for (const ContainerInfo& info : infos_) {
      if (info.ordinary_init) continue;
      if (shown++ == kShown) return names + " ...";
      names += " " + quote_if_needed(info.name);
    }
    return names.empty() ? " the app containers" : names;
  }

  bool assign_named(std::string_view name, const WrittenByKey& texts) {
    const Index index = named(name, texts.begin()->second);
    if (index) texts_[*index] = texts;
    return index.has_value();
  }

  bool assign_plain(std::size_t index, const WrittenByKey& texts) {
    if (texts_[index].empty()) {
      texts_[index] = texts;
      return true;
    }
    const std::string& plain = texts.begin()->second.name;
    mistakes_.add(plain + " and " + texts_[index].begin()->second.name +
                  " are both for container " + quote(infos_[index].name) + "; write " + plain +
                  "." + quote_if_needed(infos_[index].name) +
                  ", or name another container in tangram.dev/gpu-container");
    return false;
  }

  const std::vector<ContainerInfo>& infos_;
  Mistakes& mistakes_;
  std::vector<WrittenByKey> texts_;  ///< per container; empty = it asks nothing
};

// ---- The pod as a whole.

Result<Isolation> isolation_of(std::string_view text) {
  if (const auto mode = parse_isolation(text)) return *mode;
  return fail(Errc::kInvalidArgument, not_an_isolation(text));
}

Result<MemoryLimits> memory_limits_of(std::string_view text) {
  if (const auto means = parse_required_memory_limits(text)) return *means;
  return fail(Errc::kInvalidArgument, not_memory_limits(text));
}

/// Reads the annotation into its place, if it is written and can be read.
template <class Parse, class Target>
void read_into(const WrittenByKey& pod, std::string_view key, const Parse& parse, Target& target,
               Mistakes& mistakes) {
  const Written* const written = find(pod, key);
  if (written == nullptr) return;
  if (auto value = value_of(parse(written->value), *written, mistakes)) target = *std::move(value);
}

void read_preferences(const WrittenByKey& pod, GpuRequest& request, Mistakes& mistakes) {
  read_into(pod, kModelKey, values::parse_models, request.models, mistakes);
  read_into(pod, kUuidKey, values::parse_card_ids, request.card_ids, mistakes);
  read_into(pod, kPolicyKey, values::parse_policy, request.policy, mistakes);
  read_into(pod, kIsolationKey, isolation_of, request.isolation, mistakes);
  read_into(pod, kMemoryLimitsKey, memory_limits_of, request.memory_limits, mistakes);
}

/// A container can speak to one MPS daemon only, and each card has its own.
void refuse_several_shares_by_mps(const GpuRequest& request, Mistakes& mistakes) {
  if (request.isolation != Isolation::kMps || request.asks_replicas()) return;
  for (const ContainerRequest& container : request.containers) {
    if (container.count == 1 || container.share.whole()) continue;
    mistakes.add(
        "container " + quote(container.container) + " asks for shares of " +
        std::to_string(container.count) +
        " cards, and mps can hold a container to a share of one card only; write "
        "tangram.dev/gpu-isolation: time-slice, or tangram.dev/gpu-count alone for whole cards");
  }
}

/// A pod has one isolation mode, and that of replicas is the node's.
void refuse_mixed_replicas(const GpuRequest& request, const WrittenByKey& pod, Mistakes& mistakes) {
  const auto replicas =
      std::ranges::count(request.containers, ShareForm::kReplica,
                         [](const ContainerRequest& container) { return container.share.form; });
  if (replicas == 0) return;
  if (static_cast<std::size_t>(replicas) < request.containers.size()) {
    mistakes.add(
        "one container asks for a replica (tangram.dev/gpu-replica) and another for a share; write "
        "the same annotation for all of them");
  }
  if (const Written* const mode = find(pod, kIsolationKey); mode != nullptr) {
    mistakes.add(mode->name +
                 ": the node's sharing configuration says how replicas are kept apart; remove it, "
                 "or write tangram.dev/gpu-fraction instead of tangram.dev/gpu-replica");
  }
}

void refuse_lone_slot(const ContainerInfo& info, bool others_ask, Mistakes& mistakes) {
  std::string mistake = "container " + quote(info.name) + " has a " + std::string(kSlotResource);
  if (info.ordinary_init) {
    mistake += " but is an init container, and those cannot hold a card after they end; remove it";
  } else if (others_ask) {
    mistake += " but no request of its own; write tangram.dev/gpu-fraction." +
               quote_if_needed(info.name) + ": \"0.5\", or remove the slot";
  } else {
    mistake += " but no annotation says how much GPU it gets; " + std::string(kHowMuch);
  }
  mistakes.add(mistake);
}

/// @returns whether there are any slots
bool every_slot_has_a_request(const std::vector<ContainerInfo>& infos, const Containers& containers,
                              bool others_ask, Mistakes& mistakes) {
  bool any = false;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].slots <= 0) continue;
    any = true;
    if (containers.texts(i).empty()) refuse_lone_slot(infos[i], others_ask, mistakes);
  }
  return any;
}

}  // namespace

std::string_view nearest_request_key(std::string_view key) {
  constexpr std::size_t kMostEdits = 3;  // "gpu-memory" is three letters from "gpu-mem"
  return nearest(without_container(key), kKnownKeys, kMostEdits);
}

bool is_share_key(std::string_view key) {
  const RequestAnnotation* const meant = known(without_container(key));
  return meant != nullptr && meant->per_container;
}

Result<GpuRequest> parse_request(const Annotations& annotations,
                                 const std::vector<ContainerInfo>& infos,
                                 const RequestRules& rules) {
  Mistakes mistakes;
  GpuRequest request;
  request.isolation = rules.default_isolation;
  const PodTexts texts = sort_out(annotations, mistakes);
  Containers containers(infos, mistakes);
  const bool assigned = containers.assign(texts);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (containers.texts(i).empty()) continue;
    request.containers.push_back(parse_share(infos[i].name, containers.texts(i), rules, mistakes));
  }
  read_preferences(texts.pod, request, mistakes);
  refuse_mixed_replicas(request, texts.pod, mistakes);
  for (ContainerRequest& each : request.containers) {
    each.share.by_mps = request.isolation == Isolation::kMps;
  }
  refuse_several_shares_by_mps(request, mistakes);
  const bool asks = !texts.shares.empty();
  const bool slots = assigned && every_slot_has_a_request(infos, containers, asks, mistakes);
  if (!asks && !slots && !texts.pod.empty()) {
    mistakes.add(texts.pod.begin()->second.name + ": nothing says how much GPU the pod asks for; " +
                 std::string(kHowMuch));
  }
  if (request.containers.size() > static_cast<std::size_t>(kMaxGpuContainers)) {
    mistakes.add("the pod asks for GPUs in " + std::to_string(request.containers.size()) +
                 " containers; at most " + std::to_string(kMaxGpuContainers) + " can have some");
  }
  if (mistakes.any()) return fail(Errc::kInvalidArgument, mistakes.message());
  return request;
}

}  // namespace tangram::model
