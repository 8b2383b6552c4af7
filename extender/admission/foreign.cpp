#include "extender/admission/foreign.hpp"

#include "base/quote.hpp"
#include "extender/admission/foreign_reading.hpp"
#include "model/request.hpp"

#include <algorithm>

namespace tangram::extender {

namespace {

using foreign::Ask;
using foreign::Preference;
using foreign::Reading;

constexpr std::size_t kMaxKey = 63;  // Kubernetes: of an annotation's name behind the slash

void refuse_several_peers(Reading& reading) {
  const auto other = std::find_if(reading.asks.begin(), reading.asks.end(), [&](const Ask& ask) {
    return ask.peer != reading.asks.front().peer;
  });
  if (other == reading.asks.end()) return;
  reading.mistakes.push_back(reading.asks.front().word + " and " + other->word +
                             " are words of two systems; write the request in one of them, or in "
                             "Tangram's own");
}

/// The six keys that a container's request is made of, without its name.
kube::StringMap keys_of(const Ask& ask) {
  kube::StringMap keys = ask.shares;
  if (ask.count > 1 || ask.shares.empty()) keys[model::kCountKey] = std::to_string(ask.count);
  return keys;
}

bool fits_behind_a_dot(const Ask& ask) {
  const kube::StringMap keys = keys_of(ask);
  return std::all_of(keys.begin(), keys.end(), [&](const auto& item) {
    return item.first.size() + 1 + ask.container->name.size() <= kMaxKey;
  });
}

/// One container gets the plain annotations: the only one, or the one whose name is too long for
/// the others. Null = none does.
const Ask* plain_one(Reading& reading) {
  if (reading.asks.size() == 1) return &reading.asks.front();
  const Ask* plain = nullptr;
  for (const Ask& ask : reading.asks) {
    if (fits_behind_a_dot(ask)) continue;
    if (plain != nullptr) {
      reading.mistakes.push_back("the containers " + quote(plain->container->name) + " and " +
                                 quote(ask.container->name) +
                                 " both ask for cards, and their names are too long for "
                                 "annotations of their own; write a shorter name for one");
      return nullptr;
    }
    plain = &ask;
  }
  return plain;
}

kube::StringMap shares_of(Reading& reading) {
  kube::StringMap shares;
  const Ask* plain = plain_one(reading);
  for (const Ask& ask : reading.asks) {
    const std::string behind = &ask == plain ? "" : "." + ask.container->name;
    for (const auto& [key, value] : keys_of(ask)) shares[model::full_name(key + behind)] = value;
  }
  if (plain != nullptr) {
    reading.preferences[model::kContainerKey] = {plain->container->name, plain->word, false};
  }
  return shares;
}

/// A container's share of several cards cannot be held to its memory: only mps does that, and it
/// cannot do it on several.
void slice_time_of_several_cards(Reading& reading) {
  for (const Ask& ask : reading.asks) {
    if (ask.count == 1 || ask.shares.empty()) continue;
    reading.preferences[model::kIsolationKey] = {
        std::string(to_string(model::Isolation::kTimeSlice)), ask.word, true};
    reading.warnings.push_back(ask.word + " is a part of each of " + std::to_string(ask.count) +
                               " cards: its memory is counted, but not enforced");
  }
}

/// Tangram's own words beside the others': fine if they say the same, as they do when this pod was
/// translated before.
void refuse_other_shares(const kube::PodManifest& pod, const kube::StringMap& shares,
                         Reading& reading) {
  for (const auto& [name, value] : pod.annotations) {
    if (!model::is_share_key(model::key_of(name))) continue;
    const std::string* same = kube::find(shares, name);
    if (same != nullptr && *same == value) continue;
    reading.mistakes.push_back(reading.asks.front().word + " and " +
                               foreign::annotation_text(name, value) +
                               " both say how much GPU; write only one of them");
    return;
  }
}

void add_preferences(const kube::PodManifest& pod, Reading& reading, kube::StringMap& annotations) {
  for (const auto& [key, preference] : reading.preferences) {
    const std::string* own = kube::find(pod.annotations, model::full_name(key));
    if (own == nullptr) {
      annotations[model::full_name(key)] = preference.value;
    } else if (*own != preference.value && !preference.gives_way) {
      reading.mistakes.push_back(preference.word + " and " +
                                 foreign::annotation_text(model::full_name(key), *own) +
                                 " say different things; write only one of them");
    }
  }
}

}  // namespace

Translation translate(const kube::PodManifest& pod, const ForeignWords& words) {
  Reading reading;
  foreign::read_nvidia(pod, words, reading);
  foreign::read_gpushare(pod, words, reading);
  foreign::read_kai(pod, words, reading);

  Translation translation;
  if (!reading.asks.empty()) {
    refuse_several_peers(reading);
    translation.annotations = shares_of(reading);
    slice_time_of_several_cards(reading);
    refuse_other_shares(pod, translation.annotations, reading);
    add_preferences(pod, reading, translation.annotations);
    for (const auto& [name, value] : pod.annotations) translation.annotations.erase(name);
  }
  translation.mistakes = std::move(reading.mistakes);
  translation.warnings = std::move(reading.warnings);
  if (!translation.mistakes.empty()) {
    translation.annotations.clear();
  } else {
    translation.resources.assign(reading.resources.begin(), reading.resources.end());
    if (translation.empty()) translation.warnings.clear();  // said when it was translated
  }
  return translation;
}

}  // namespace tangram::extender
