#pragma once

#include "extender/admission/foreign.hpp"
#include "model/annotations.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What the readers of the peers' words hand to translate(); others use that.
namespace tangram::extender::foreign {

enum class Peer : std::uint8_t { kNvidia, kGpushare, kKai };  ///< HAMi's words extend NVIDIA's

/// One container's request.
struct Ask {
  const kube::ContainerManifest* container = nullptr;
  Peer peer = Peer::kNvidia;
  std::string word;  ///< what it is made from, for messages: nvidia.com/gpu "2" of container "main"
  std::int64_t count = 1;
  kube::StringMap
      shares;  ///< Tangram's keys without prefix: {"gpu-mem": "3000Mi"}; empty = whole cards
};

/// What the pod as a whole wishes, in Tangram's words.
struct Preference {
  std::string value;
  std::string word;       ///< what it is made from, for messages
  bool gives_way = true;  ///< to what the pod itself says in Tangram's words
};

struct Reading {
  std::vector<Ask> asks;
  std::map<std::string, Preference, std::less<>> preferences;  ///< by key without prefix
  std::set<std::string, std::less<>> resources;                ///< to take out
  std::vector<std::string> mistakes;
  std::vector<std::string> warnings;
};

/// MIG instances' models end like this; see node/cards. The peers' words mean physical cards.
inline constexpr std::string_view kNoMig = "!* MIG *";

/// Beyond every card: catches a wrong unit, and keeps what follows from overflowing.
inline constexpr std::int64_t kMostMebibytes = std::int64_t{1} << 40;  // the codec of cards' bound

// ---- The readers. Each does nothing for a pod without its words.

void read_nvidia(const kube::PodManifest& pod, const ForeignWords& words, Reading& reading);
void read_gpushare(const kube::PodManifest& pod, const ForeignWords& words, Reading& reading);
void read_kai(const kube::PodManifest& pod, const ForeignWords& words, Reading& reading);

/// schedulerName of pods that are KAI's.
inline constexpr std::string_view kKaiScheduler = "kai-scheduler";

// ---- What they share.

/// 'nvidia.com/gpu "2" of container "main"'.
[[nodiscard]] std::string resource_text(const kube::ContainerManifest& container,
                                        std::string_view name);
/// 'gpu-fraction "0.5"'.
[[nodiscard]] std::string annotation_text(std::string_view name, std::string_view value);

/// The resource's amount; nothing if the container has none, or if it is a mistake, which is noted:
/// not a whole number from `least` to `most`, or another one in the requests than in the limits.
[[nodiscard]] std::optional<std::int64_t> amount(const kube::ContainerManifest& container,
                                                 std::string_view name, std::int64_t least,
                                                 std::int64_t most, Reading& reading);

/// A whole number without sign from an annotation's or label's text; nothing if it is none, or not
/// from `least` to `most`.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t least,
                                                       std::int64_t most);

/// 300 -> "0.3", 1000 -> "1".
[[nodiscard]] std::string ratio_text(std::int64_t milli);

/// May the container hold a card? If not, that is noted as a mistake of `word`.
bool can_hold_cards(const kube::ContainerManifest& container, const std::string& word,
                    Reading& reading);

}  // namespace tangram::extender::foreign
