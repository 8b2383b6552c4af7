// Source: HAMi, pkg/device/nvidia/device.go: memory in MiB, all of it where none is written; cores
// in percent, 100 = the card alone, none written = not limited; types match if they contain the
// text, in any case.

#include "extender/admission/translation_hami.hpp"

#include "base/quote.hpp"

#include <algorithm>
#include <array>
#include <cctype>

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

void warn_of_whole_cards(const kube::ContainerManifest& container, std::int64_t cores,
                         bool less_memory, Reading& reading) {
  if (cores == 100 && less_memory) {
    reading.warnings.push_back(resource_text(container, kCores) +
                               " has the card alone, so it gets all of its memory");
  } else if (cores > 0 && cores < 100) {
    reading.warnings.push_back(resource_text(container, kCores) +
                               " with all of a card's memory: it gets all of the compute, too");
  }
}

/// A fraction is of memory and compute: of two different percentages the larger one counts.
void share_of_all(const kube::ContainerManifest& container, std::int64_t percent,
                  std::int64_t cores, TranslatedRequest& request, Reading& reading) {
  const std::int64_t share = std::max(percent, cores);
  request.shares[model::kFractionKey] = ratio_text(share * 10);
  if (cores == 0) request.shares[model::kComputeLimitKey] = "1";  // HAMi would not limit it either
  if (percent == cores) return;
  reading.warnings.push_back(resource_text(container, kMemoryPercent) + " counts as " +
                             std::to_string(share) +
                             " % of memory and of compute; tangram.dev/gpu-mem with "
                             "tangram.dev/gpu-compute separates them");
}

class AnnotationReader {
 public:
  AnnotationReader(const kube::PodManifest& pod, Reading& reading) : pod_(pod), reading_(reading) {}

  ModelGlobs read() {
    ModelGlobs models;
    for (const std::string_view name : {kUseType, kNoType}) {
      const bool use = name == kUseType;
      for_each_item(name, [&](const std::string& type) {
        for (const std::string& glob : globs_of(name, type)) {
          if (use) {
            models.included.push_back(glob);
          } else {
            models.excluded.push_back("!" + glob);
          }
        }
        models.source = annotation_text(name, *kube::find(pod_.annotations, name));
      });
    }
    read_uuids();
    read_policies();
    refuse_what_cannot_be();
    return models;
  }

 private:
  void refuse(std::string mistake) { reading_.mistakes.push_back(std::move(mistake)); }

  /// Calls take(item) for every item of a list with commas; a mistake is noted for one that could
  /// not stand in a glob, or is empty.
  template <class Take>
  void for_each_item(std::string_view name, Take&& take) {
    const std::string* value = kube::find(pod_.annotations, name);
    if (value == nullptr) return;
    std::string_view rest = *value;
    for (bool more = true; more;) {
      const auto comma = rest.find(',');
      const std::string item(rest.substr(0, comma));
      const auto first = item.find_first_not_of(' ');
      if (first == std::string::npos || item.find_first_of("*?!") != std::string::npos) {
        return refuse(annotation_text(name, *value) +
                      " is not a list of names with one comma between; write such a list, or "
                      "tangram.dev/gpu-model or tangram.dev/gpu-uuid for globs");
      }
      take(item.substr(first, item.find_last_not_of(' ') - first + 1));
      more = comma != std::string_view::npos;
      if (more) rest.remove_prefix(comma + 1);
    }
  }

  /// HAMi looks for the text anywhere in the type and in any case; the brand stands in its types
  /// but not in Tangram's models.
  std::vector<std::string> globs_of(std::string_view name, std::string type) {
    std::string upper = type;
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
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
    reading_.warnings.push_back(std::string(name) + " " + quote(type) +
                                ": Tangram matches case; models match it as written, or in "
                                "capitals");
    return {"*" + type + "*", "*" + upper + "*"};
  }

  void read_uuids() {
    std::string globs;
    std::string source;
    for (const std::string_view name : {kUseUuid, kNoUuid}) {
      const std::string_view sign = name == kUseUuid ? "" : "!";
      for_each_item(name, [&](const std::string& uuid) {
        globs += (globs.empty() ? "" : ",") + std::string(sign) + uuid;
        source = annotation_text(name, *kube::find(pod_.annotations, name));
      });
    }
    if (!globs.empty()) reading_.preferences[model::kUuidKey] = {globs, source, false};
  }

  void read_policies() {
    if (const std::string* policy = kube::find(pod_.annotations, kCardPolicy)) {
      const std::string source = annotation_text(kCardPolicy, *policy);
      if (*policy == "binpack" || *policy == "spread") {
        reading_.preferences[model::kPolicyKey] = {*policy, source, false};
      } else if (*policy == "topology-aware") {
        reading_.warnings.push_back(source + " has no counterpart in Tangram and is left out");
      } else {
        refuse(source +
               " is not a policy of HAMi's; write binpack or spread, or a policy of "
               "Tangram's in tangram.dev/gpu-policy");
      }
    }
    for (const std::string_view name : {kNodePolicy, kNuma}) {
      if (const std::string* value = kube::find(pod_.annotations, name)) {
        reading_.warnings.push_back(annotation_text(name, *value) +
                                    " has no counterpart in Tangram and is left out");
      }
    }
  }

  void refuse_what_cannot_be() {
    for (const std::string_view name : kIndices) {
      if (const std::string* value = kube::find(pod_.annotations, name)) {
        refuse(annotation_text(name, *value) +
               " names cards by an index, which changes when cards do; write their UUIDs in "
               "tangram.dev/gpu-uuid");
      }
    }
    const std::string* mode = kube::find(pod_.annotations, kMode);
    if (mode != nullptr && mode->find("mig") != std::string::npos) {
      refuse(annotation_text(kMode, *mode) +
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
  reading.warnings.push_back(resource_text(container, kPriority) +
                             " has no counterpart in Tangram and is left out");
}

bool read_hami_share(const kube::ContainerManifest& container, TranslatedRequest& request,
                     Reading& reading) {
  const std::size_t mistakes = reading.mistakes.size();
  const auto memory = amount(container, kMemory, 0, kMostMebibytes, reading);
  const auto percent = amount(container, kMemoryPercent, 1, 100, reading);
  const auto cores = amount(container, kCores, 0, 100, reading).value_or(0);
  if (reading.mistakes.size() > mistakes) return false;
  if (memory.value_or(0) > 0 && percent) {
    reading.mistakes.push_back(resource_text(container, kMemory) + " and " +
                               resource_text(container, kMemoryPercent) +
                               " both set an amount of memory; write only one of them");
    return false;
  }
  if (cores == 100 || (memory.value_or(0) == 0 && percent.value_or(100) == 100)) {
    warn_of_whole_cards(container, cores, memory.value_or(0) > 0 || percent.value_or(100) < 100,
                        reading);
  } else if (memory.value_or(0) > 0) {
    request.shares[model::kMemoryKey] = std::to_string(*memory) + "Mi";
    request.shares[model::kComputeKey] = ratio_text(cores * 10);
  } else {
    share_of_all(container, *percent, cores, request, reading);
  }
  return true;
}

ModelGlobs read_hami_annotations(const kube::PodManifest& pod, Reading& reading) {
  return AnnotationReader(pod, reading).read();
}

}  // namespace tangram::extender::translation
