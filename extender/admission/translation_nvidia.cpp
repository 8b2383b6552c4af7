// NVIDIA's requests: whole cards and MIG instances, counted. Source: k8s-device-plugin (a profile's
// '+' becomes '.').

#include "extender/admission/translation_hami.hpp"
#include "extender/admission/translation_reading.hpp"
#include "model/request.hpp"

#include <algorithm>

namespace tangram::extender::translation {

namespace {

constexpr std::string_view kVendor = "nvidia.com/";
constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::string_view kMig = "nvidia.com/mig-";
constexpr std::string_view kShared = ".shared";  // NVIDIA's plugin names replicas so
constexpr std::int64_t kMostCards = model::kMaxCardsPerContainer;

// ---- Containers.

/// "1g.10gb" and "1c.2g.20gb", with what stands behind them: ".me".
bool is_mig_profile(std::string_view profile) {
  const auto digits = [&] {
    const auto end = std::min(profile.find_first_not_of("0123456789"), profile.size());
    profile.remove_prefix(end);
    return end > 0;
  };
  const auto text = [&](std::string_view expected) {
    if (!profile.starts_with(expected)) return false;
    profile.remove_prefix(expected.size());
    return true;
  };
  if (!digits()) return false;
  if (text("c.") && !digits()) return false;
  if (!text("g.") || !digits() || !text("gb")) return false;
  return profile.empty() || (profile.front() == '.' && profile.size() > 1 &&
                             std::all_of(profile.begin() + 1, profile.end(),
                                         [](char c) { return c >= 'a' && c <= 'z'; }));
}

class NvidiaReader {
 public:
  NvidiaReader(const kube::PodManifest& pod, const OtherSystems& systems, Reading& reading)
      : pod_(pod),
        reading_(reading),
        hami_(systems.hami && uses_hami(pod)),
        replicas_(systems.nvidia_sharing && !hami_),
        mig_(systems.nvidia || systems.nvidia_sharing),
        cards_(systems.nvidia || replicas_ || hami_ ||
               (systems.kai && pod.scheduler_name == kKaiScheduler)) {}

  void read() {
    const std::size_t asks_before = reading_.requests.size();
    for (const kube::ContainerManifest& container : pod_.containers) {
      read_cards(container);
      if (mig_) read_mig(container);
    }
    if (reading_.requests.size() == asks_before) return;
    ModelGlobs models;
    if (hami_) models = read_hami_annotations(pod_, reading_);
    prefer_models(models);
  }

 private:
  // ---- nvidia.com/gpu, alone and with HAMi's amounts.

  void read_cards(const kube::ContainerManifest& container) {
    if (!cards_) return;
    if (replicas_) return read_replicas(container);
    refuse_replicas(container);
    const std::string_view part = hami_amount(container);
    const bool gpus = container.quantity(kGpu) != nullptr;
    if (part.empty() || hami_) {
      if (gpus || !part.empty()) translate_cards(container, part, gpus);
    } else if (gpus) {
      refuse_hami_amount(container, part);
    }
  }

  /// @param part  the name of HAMi's amount of a card; empty: none
  void translate_cards(const kube::ContainerManifest& container, std::string_view part, bool gpus) {
    const std::string source = resource_text(container, gpus ? kGpu : part);
    reading_.resources.insert(std::string(kGpu));
    if (hami_) take_out_hami_amounts(container, reading_);
    const auto count = gpus ? amount(container, kGpu, 0, kMostCards, reading_) : 1;
    if (!count) return;
    if (*count == 0) {
      if (part.empty()) return;
      return reading_.refuse(source + " requests no card, and " + resource_text(container, part) +
                             " for a part of one; write nvidia.com/gpu: 1, or remove both");
    }
    if (!can_hold_cards(container, source, reading_)) return;
    TranslatedRequest request{.container = &container, .source = source, .count = *count};
    if (!part.empty() && !read_hami_share(container, request, reading_)) return;
    wanted_[std::string(kNoMig)] = source;
    reading_.requests.push_back(std::move(request));
  }

  /// nvidia.com/gpu and nvidia.com/gpu.shared, where nodes have a sharing configuration.
  void read_replicas(const kube::ContainerManifest& container) {
    for (const auto resource : {model::CardResource::kGpu, model::CardResource::kGpuShared}) {
      const std::string name = std::string(kVendor).append(to_string(resource));
      if (container.quantity(name) == nullptr) continue;
      reading_.resources.insert(name);
      const auto count = amount(container, name, 0, kMostCards, reading_);
      if (count && *count > 0) add_replica(container, name, *count, resource, "");
    }
  }

  /// @param sort  of cards, as a glob of models; "" = what the node counts so
  void add_replica(const kube::ContainerManifest& container, const std::string& name,
                   std::int64_t count, model::CardResource resource, const std::string& sort) {
    const std::string source = resource_text(container, name);
    if (!can_hold_cards(container, source, reading_)) return;
    wanted_[sort] = source;
    add({.container = &container,
         .source = source,
         .count = count,
         .shares = {{model::kReplicaKey, std::string(to_string(resource))}}});
  }

  /// A container has one request.
  void add(TranslatedRequest request) {
    if (!reading_.requests.empty() && reading_.requests.back().container == request.container) {
      return reading_.refuse(request.source + " and " + reading_.requests.back().source +
                             " are for one container; write only one of them");
    }
    reading_.requests.push_back(std::move(request));
  }

  /// A replica of a time-sliced card is some unknown share of it.
  void refuse_replicas(const kube::ContainerManifest& container) {
    const std::string name = std::string(kGpu) + std::string(kShared);
    if (container.quantity(name) == nullptr) return;
    reading_.refuse(
        resource_text(container, name) +
        " does not set an amount of a card; write tangram.dev/gpu-fraction or tangram.dev/gpu-mem "
        "instead, or set foreign.nvidia_sharing: true in Tangram's configuration, where nodes have "
        "a sharing configuration");
  }

  void refuse_hami_amount(const kube::ContainerManifest& container, std::string_view name) {
    reading_.refuse(
        resource_text(container, name) +
        " is HAMi's, whose requests this cluster does not translate; write tangram.dev/gpu-mem or "
        "tangram.dev/gpu-fraction instead, or set foreign.hami: true in Tangram's "
        "configuration");
  }

  // ---- nvidia.com/mig-PROFILE.

  void read_mig(const kube::ContainerManifest& container) {
    for (const kube::StringMap* texts : {&container.limits, &container.requests}) {
      for (const auto& [name, value] : *texts) {
        const bool seen = texts == &container.requests && container.limits.contains(name);
        if (name.starts_with(kMig) && !seen) read_mig(container, name);
      }
    }
  }

  void read_mig(const kube::ContainerManifest& container, const std::string& name) {
    const std::string source = resource_text(container, name);
    std::string profile = name.substr(kMig.size());
    const bool shared = replicas_ && profile.ends_with(kShared);
    if (shared) profile.resize(profile.size() - kShared.size());
    if (!is_mig_profile(profile)) {
      return reading_.refuse(
          source +
          " is not a MIG profile that Tangram knows; write tangram.dev/gpu-count: "
          "\"1\" and tangram.dev/gpu-model: \"* MIG 1g.10gb\"");
    }
    const auto count = amount(container, name, 0, kMostCards, reading_);
    // None of it requests nothing, so it may stay; a pod could have any number of such names.
    if (!count || *count == 0) return;
    reading_.resources.insert(name);
    if (!can_hold_cards(container, source, reading_)) return;
    // "1g.10gb.me" is the driver's "1g.10gb+me".
    const auto attribute = profile.find('.', profile.find("gb"));
    if (attribute != std::string::npos) profile[attribute] = '+';
    const std::string sort = "* MIG " + profile;
    if (replicas_) {
      const auto resource = shared ? model::CardResource::kMigShared : model::CardResource::kMig;
      return add_replica(container, name, *count, resource, sort);
    }
    wanted_[sort] = source;
    add({.container = &container, .source = source, .count = *count});
  }

  // ---- Models, for the pod as a whole.

  void prefer_models(const ModelGlobs& models) {
    if (wanted_.size() > 1) {
      return reading_.refuse(
          wanted_.begin()->second + " and " + wanted_.rbegin()->second +
          " want different cards, and a pod gets cards of one sort; write only one of "
          "them");
    }
    const auto& [sort, source] = *wanted_.begin();
    if (sort.empty()) return;  // what a node counts as a card, its sharing configuration says
    const bool required = sort != kNoMig || !models.source.empty();
    reading_.preferences[model::kModelKey] = {
        globs_of(models, sort), models.source.empty() ? source : models.source, !required};
  }

  /// HAMi's models, restricted to the sort of cards.
  static std::string globs_of(const ModelGlobs& models, const std::string& sort) {
    // "*A100*" and "* MIG 1g.10gb" make "*A100* MIG 1g.10gb".
    const bool narrows = sort != kNoMig && !models.included.empty();
    std::string globs;
    const auto add = [&](const std::string& glob) { globs += (globs.empty() ? "" : ",") + glob; };
    for (const std::string& glob : models.included) add(narrows ? glob + sort.substr(1) : glob);
    for (const std::string& glob : models.excluded) add(glob);
    if (!narrows) add(sort);
    return globs;
  }

  const kube::PodManifest& pod_;
  Reading& reading_;
  const bool hami_;         ///< the pod uses HAMi, whose requests are translated
  const bool replicas_;     ///< by the sharing configurations of nodes
  const bool mig_;          ///< nvidia.com/mig-PROFILE is translated
  const bool cards_;        ///< nvidia.com/gpu is translated
  kube::StringMap wanted_;  ///< what requests each sort of cards
};

}  // namespace

void read_nvidia(const kube::PodManifest& pod, const OtherSystems& systems, Reading& reading) {
  NvidiaReader(pod, systems, reading).read();
}

}  // namespace tangram::extender::translation
