#include "extender/admission/translation.hpp"

#include "base/quote.hpp"
#include "extender/admission/translation_reading.hpp"
#include "model/request.hpp"
#include "model/request_values.hpp"

#include <algorithm>

namespace tangram::extender {

namespace {
using translation::Reading;
using translation::TranslatedRequest;

constexpr std::size_t kMaxKey = 63;  // Kubernetes: of an annotation's name behind the slash

void refuse_several_systems(Reading& reading) {
  const auto other = std::find_if(reading.requests.begin(), reading.requests.end(),
                                  [&](const TranslatedRequest& request) {
                                    return request.system != reading.requests.front().system;
                                  });
  if (other == reading.requests.end()) return;
  reading.refuse(reading.requests.front().source + " and " + other->source +
                 " belong to two systems; write the request for one of them, or in "
                 "Tangram's own annotations");
}

/// The keys that a container's request is made of, without its name.
kube::StringMap keys_of(const TranslatedRequest& request) {
  kube::StringMap keys = request.shares;
  if (request.count > 1 || request.shares.empty())
    keys[model::kCountKey] = std::to_string(request.count);
  return keys;
}

bool fits_behind_a_dot(const TranslatedRequest& request) {
  const kube::StringMap keys = keys_of(request);
  return std::all_of(keys.begin(), keys.end(), [&](const auto& item) {
    return item.first.size() + 1 + request.container->name.size() <= kMaxKey;
  });
}

/// One container gets the plain annotations: the only one, or the one whose name is too long for
/// the others. Null = none does.
const TranslatedRequest* plain_one(Reading& reading) {
  if (reading.requests.size() == 1) return &reading.requests.front();
  const TranslatedRequest* plain = nullptr;
  for (const TranslatedRequest& request : reading.requests) {
    if (fits_behind_a_dot(request)) continue;
    if (plain != nullptr) {
      reading.refuse("the containers " + quote(plain->container->name) + " and " +
                     quote(request.container->name) +
                     " both request cards, and their names are too long for "
                     "annotations of their own; write a shorter name for one");
      return nullptr;
    }
    plain = &request;
  }
  return plain;
}

kube::StringMap shares_of(Reading& reading) {
  kube::StringMap shares;
  const TranslatedRequest* plain = plain_one(reading);
  for (const TranslatedRequest& request : reading.requests) {
    const std::string behind = &request == plain ? "" : "." + request.container->name;
    for (const auto& [key, value] : keys_of(request))
      shares[model::full_name(key + behind)] = value;
  }
  if (plain != nullptr) {
    reading.preferences[model::kContainerKey] = {plain->container->name, plain->source, false};
  }
  return shares;
}

/// Systems that limit no compute get a limit of "1", which is more than a cluster may allow for a
/// small fraction.
void keep_to_the_burst(Reading& reading, int max_burst) {
  for (TranslatedRequest& request : reading.requests) {
    const std::string* fraction = kube::find(request.shares, model::kFractionKey);
    if (fraction == nullptr || !request.shares.contains(model::kComputeLimitKey)) continue;
    const auto share = model::values::parse_ratio(*fraction, MilliGpu(1), "");
    if (!share) continue;  // parsing the request reports it
    request.shares[model::kComputeLimitKey] =
        model::share_text(std::min(kWholeGpu, MilliGpu(max_burst * share->count())));
  }
}

/// A container's share of several cards cannot be held to its memory: only mps does that, and it
/// cannot do it on several.
void slice_time_of_several_cards(Reading& reading) {
  for (const TranslatedRequest& request : reading.requests) {
    if (request.count == 1 || request.shares.empty()) continue;
    if (request.shares.contains(model::kReplicaKey)) continue;  // the node's matter
    reading.preferences[model::kIsolationKey] = {
        std::string(to_string(model::Isolation::kTimeSlice)), request.source, true};
    reading.warn(request.source + " is a part of each of " + std::to_string(request.count) +
                 " cards: its memory is counted, but not enforced");
  }
}

/// Tangram's own annotations beside the others': accepted if they are equal, as they do when this
/// pod was translated before.
void refuse_other_shares(const kube::PodManifest& pod, const kube::StringMap& shares,
                         Reading& reading) {
  for (const auto& [name, value] : pod.annotations) {
    if (!model::is_share_key(model::key_of(name))) continue;
    const std::string* same = kube::find(shares, name);
    if (same != nullptr && *same == value) continue;
    reading.refuse(reading.requests.front().source + " and " +
                   translation::annotation_text(name, value) +
                   " both set an amount of GPU; write only one of them");
    return;
  }
}

void add_preferences(const kube::PodManifest& pod, Reading& reading, kube::StringMap& annotations) {
  for (const auto& [key, preference] : reading.preferences) {
    const std::string* own = kube::find(pod.annotations, model::full_name(key));
    if (own == nullptr) {
      annotations[model::full_name(key)] = preference.value;
    } else if (*own != preference.value && !preference.gives_way) {
      reading.refuse(preference.source + " and " +
                     translation::annotation_text(model::full_name(key), *own) +
                     " differ; write only one of them");
    }
  }
}

}  // namespace

Translation translate(const kube::PodManifest& pod, const OtherSystems& systems, int max_burst) {
  Reading reading;
  translation::read_nvidia(pod, systems, reading);
  translation::read_gpushare(pod, systems, reading);
  translation::read_kai(pod, systems, reading);

  Translation translation;
  if (!reading.requests.empty()) {
    refuse_several_systems(reading);
    if (max_burst > 0) keep_to_the_burst(reading, max_burst);
    translation.annotations = shares_of(reading);
    slice_time_of_several_cards(reading);
    refuse_other_shares(pod, translation.annotations, reading);
    add_preferences(pod, reading, translation.annotations);
    for (const auto& [name, value] : pod.annotations) translation.annotations.erase(name);
  }
  translation.mistakes = std::move(reading.mistakes);
  translation.more_mistakes = reading.refused - translation.mistakes.size();
  translation.warnings = std::move(reading.warnings);
  if (!translation.mistakes.empty()) {
    translation.annotations.clear();
  } else {
    translation.resources.assign(reading.resources.begin(), reading.resources.end());
    if (translation.empty()) translation.warnings.clear();  // given when it was translated
  }
  return translation;
}

}  // namespace tangram::extender
