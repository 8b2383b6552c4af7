// Source: HAMi, pkg/device/nvidia/device.go: memory in MiB, all of it where none is written; cores
// in percent, 100 = the card alone, none written = not limited; types match if they contain the
// text, in any case.

#include "extender/admission/translation_hami.hpp"

#include "base/quote.hpp"
#include "base/split.hpp"

#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/trim.hpp>

#include <algorithm>
#include <array>
#include <tuple>

namespace tangram::extender::translation {

namespace {

constexpr std::string_view kMemory = "nvidia.com/gpumem";
constexpr std::string_view kMemoryPercent = "nvidia.com/gpumem-percentage";
constexpr std::string_view kCores = "nvidia.com/gpucores";
constexpr std::string_view kPriority = "nvidia.com/priority";
constexpr std::array<std::string_view, 3> kHamiAmounts{kMemory, kMemoryPercent, kCores};

constexpr std::string_view kUseType = "nvidia.com/use-gputype";
constexpr std::string_view kNoType = "nvidia.com/nouse-gputype";
constexpr std::string_view kUseUuid = "nvidia.com/use-gpuuuid";
constexpr std::string_view kNoUuid = "nvidia.com/nouse-gpuuuid";
constexpr std::string_view kCardPolicy = "hami.io/gpu-scheduler-policy";
constexpr std::string_view kNodePolicy = "hami.io/node-scheduler-policy";
constexpr std::string_view kNuma = "nvidia.com/numa-bind";
constexpr std::string_view kMode = "nvidia.com/vgpu-mode";
constexpr std::array<std::string_view, 2> kIndices{"nvidia.com/use-gpuindexes",
                                                   "nvidia.com/nouse-gpuindexes"};
constexpr std::array<std::string_view, 8> kHamiAnnotations{
    kUseType, kNoType, kUseUuid, kNoUuid, kCardPolicy, kNodePolicy, kNuma, kMode};
constexpr std::string_view kHamiScheduler = "hami-scheduler";

/// Of a list, in characters: a glob of Tangram's has no more. What follows is not linear in it.
constexpr std::size_t kMaxItem = 128;

void warn_of_whole_cards(const kube::ContainerManifest& container, std::int64_t cores,
                         bool less_memory, Reading& reading) {
  if (cores == 100 && less_memory) {
    reading.warn(resource_text(container, kCores) +
                 " has the card alone, so it gets all of its memory");
  } else if (cores > 0 && cores < 100) {
    reading.warn(resource_text(container, kCores) +
                 " with all of a card's memory: it gets all of the compute, too");
  }
}

/// A fraction is of memory and compute: of two different percentages the larger one counts.
void share_of_all(const kube::ContainerManifest& container, std::int64_t percent,
                  std::int64_t cores, TranslatedRequest& request, Reading& reading) {
  const std::int64_t share = std::max(percent, cores);
  request.shares[model::kFractionKey] = model::share_text(MilliGpu(share * 10));
  if (cores == 0) request.shares[model::kComputeLimitKey] = "1";  // HAMi would not limit it either
  if (percent == cores) return;
  reading.warn(resource_text(container, kMemoryPercent) + " counts as " + std::to_string(share) +
               " % of memory and of compute; tangram.dev/gpu-mem with "
               "tangram.dev/gpu-compute separates them");
}

class AnnotationReader {
 public:
  AnnotationReader(const kube::PodManifest& pod, Reading& reading) : pod_(pod), reading_(reading) {}

  ModelGlobs read() {
    ModelGlobs models;
    for (const auto& [name, sign, globs] :
         {std::tuple{kUseType, "", &models.included}, std::tuple{kNoType, "!", &models.excluded}}) {
      for (const std::string& type : items_of(name)) {
        for (const std::string& glob : globs_of(name, type)) globs->push_back(sign + glob);
        models.source = text(name);
      }
    }
    read_uuids();
    read_policies();
    refuse_what_cannot_be();
    return models;
  }

 private:
  [[nodiscard]] const std::string* find(std::string_view name) const {
    return kube::find(pod_.annotations, name);
  }
  [[nodiscard]] std::string text(std::string_view name) const {
    return annotation_text(name, *find(name));
  }

  /// The items of a list with commas; none after a mistake: more than a list of globs may have, or
  /// one that could not stand in a glob, is empty, or is longer than a glob may be.
  std::vector<std::string> items_of(std::string_view name) {
    if (find(name) == nullptr) return {};
    std::vector<std::string> items = split(*find(name), ',');
    if (items.size() > model::kMaxGlobs) {
      reading_.refuse(text(name) + " has " + std::to_string(items.size()) +
                      " names; write at most " + std::to_string(model::kMaxGlobs));
      return {};
    }
    for (std::string& item : items) {
      boost::algorithm::trim_if(item, [](char c) { return c == ' '; });
      if (item.size() > kMaxItem) {
        reading_.refuse(text(name) + " has a name of " + std::to_string(item.size()) +
                        " characters; write at most " + std::to_string(kMaxItem));
        return {};
      }
      if (!item.empty() && item.find_first_of("*?!") == std::string::npos) continue;
      reading_.refuse(text(name) +
                      " is not a list of names with one comma between; write such a list, or "
                      "tangram.dev/gpu-model or tangram.dev/gpu-uuid for globs");
      return {};
    }
    return items;
  }

  /// HAMi looks for the text anywhere in the type and in any case; the brand stands in its types
  /// but not in Tangram's models.
  std::vector<std::string> globs_of(std::string_view name, std::string type) {
    std::string upper = boost::algorithm::to_upper_copy(type, std::locale::classic());
    for (bool again = true; again;) {
      again = false;
      for (const std::string_view brand : {"NVIDIA", "TESLA"}) {
        if (!upper.starts_with(brand)) continue;
        const std::size_t rest =
            std::min(upper.find_first_not_of("- ", brand.size()), upper.size());
        upper.erase(0, rest);
        type.erase(0, rest);
        again = true;
      }
    }
    if (upper.empty()) return {"*"};
    if (upper == type) return {"*" + upper + "*"};
    reading_.warn(std::string(name) + " " + quote(type) +
                  ": Tangram matches case; models match it as written, or in "
                  "capitals");
    return {"*" + type + "*", "*" + upper + "*"};
  }

  void read_uuids() {
    std::string globs;
    std::string source;
    for (const auto& [name, sign] : {std::pair{kUseUuid, ""}, std::pair{kNoUuid, "!"}}) {
      for (const std::string& uuid : items_of(name)) {
        globs += (globs.empty() ? "" : ",") + (sign + uuid);
        source = text(name);
      }
    }
    if (!globs.empty()) reading_.preferences[model::kUuidKey] = {globs, source, false};
  }

  void read_policies() {
    constexpr const char* kNoCounterpart = " has no counterpart in Tangram and is left out";
    if (const std::string* policy = find(kCardPolicy)) {
      if (*policy == "binpack" || *policy == "spread") {
        reading_.preferences[model::kPolicyKey] = {*policy, text(kCardPolicy), false};
      } else if (*policy == "topology-aware") {
        reading_.warn(text(kCardPolicy) + kNoCounterpart);
      } else {
        reading_.refuse(text(kCardPolicy) +
                        " is not a policy of HAMi's; write binpack or spread, or a policy of "
                        "Tangram's in tangram.dev/gpu-policy");
      }
    }
    for (const std::string_view name : {kNodePolicy, kNuma}) {
      if (find(name) != nullptr) reading_.warn(text(name) + kNoCounterpart);
    }
  }

  void refuse_what_cannot_be() {
    for (const std::string_view name : kIndices) {
      if (find(name) == nullptr) continue;
      reading_.refuse(text(name) +
                      " names cards by an index, which changes when cards do; write their UUIDs in "
                      "tangram.dev/gpu-uuid");
    }
    const std::string* mode = find(kMode);
    if (mode != nullptr && mode->find("mig") != std::string::npos) {
      reading_.refuse(text(kMode) +
                      " requests MIG instances made on demand; Tangram uses existing ones: write "
                      "tangram.dev/gpu-model: \"* MIG 1g.10gb\"");
    }
  }

  const kube::PodManifest& pod_;
  Reading& reading_;
};

}  // namespace

bool uses_hami(const kube::PodManifest& pod) {
  const auto annotated = [&](std::string_view name) { return pod.annotations.contains(name); };
  const auto requests = [](const kube::ContainerManifest& c) { return !hami_amount(c).empty(); };
  return pod.scheduler_name == kHamiScheduler ||
         std::any_of(kHamiAnnotations.begin(), kHamiAnnotations.end(), annotated) ||
         std::any_of(kIndices.begin(), kIndices.end(), annotated) ||
         std::any_of(pod.containers.begin(), pod.containers.end(), requests);
}

std::string_view hami_amount(const kube::ContainerManifest& container) {
  const auto found = std::find_if(kHamiAmounts.begin(), kHamiAmounts.end(),
                                  [&](auto name) { return container.quantity(name) != nullptr; });
  return found == kHamiAmounts.end() ? std::string_view() : *found;
}

void take_out_hami_amounts(const kube::ContainerManifest& container, Reading& reading) {
  for (const std::string_view name : kHamiAmounts) reading.resources.emplace(name);
  if (container.quantity(kPriority) == nullptr) return;
  reading.resources.emplace(kPriority);
  reading.warn(resource_text(container, kPriority) +
               " has no counterpart in Tangram and is left out");
}

bool read_hami_share(const kube::ContainerManifest& container, TranslatedRequest& request,
                     Reading& reading) {
  const std::size_t refused = reading.refused;
  const auto memory = amount(container, kMemory, 0, kMostMebibytes, reading);
  const auto percent = amount(container, kMemoryPercent, 1, 100, reading);
  const auto cores = amount(container, kCores, 0, 100, reading).value_or(0);
  if (reading.refused > refused) return false;
  if (memory.value_or(0) > 0 && percent) {
    reading.refuse(resource_text(container, kMemory) + " and " +
                   resource_text(container, kMemoryPercent) +
                   " both set an amount of memory; write only one of them");
    return false;
  }
  if (cores == 100 || (memory.value_or(0) == 0 && percent.value_or(100) == 100)) {
    warn_of_whole_cards(container, cores, memory.value_or(0) > 0 || percent.value_or(100) < 100,
                        reading);
  } else if (memory.value_or(0) > 0) {
    request.shares[model::kMemoryKey] = std::to_string(*memory) + "Mi";
    request.shares[model::kComputeKey] = model::share_text(MilliGpu(cores * 10));
  } else {
    share_of_all(container, *percent, cores, request, reading);
  }
  return true;
}

ModelGlobs read_hami_annotations(const kube::PodManifest& pod, Reading& reading) {
  return AnnotationReader(pod, reading).read();
}

}  // namespace tangram::extender::translation
