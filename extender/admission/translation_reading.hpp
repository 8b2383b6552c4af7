#pragma once

#include "extender/admission/limits.hpp"
#include "extender/admission/translation.hpp"
#include "model/annotations.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What the readers of other systems' requests pass to translate(); others use that.
namespace tangram::extender::translation {

enum class System : std::uint8_t { kNvidia, kGpushare, kKai };  ///< HAMi extends NVIDIA's

/// One container's request.
struct TranslatedRequest {
  const kube::ContainerManifest* container = nullptr;
  System system = System::kNvidia;
  /// What it is made from, for messages: nvidia.com/gpu "2" of container "main"
  std::string source = {};
  std::int64_t count = 1;
  /// Tangram's keys without prefix: {"gpu-mem": "3000Mi"}; empty = whole cards
  kube::StringMap shares = {};
};

/// What the pod as a whole requests, as an annotation of Tangram's.
struct Preference {
  std::string value;
  std::string source;     ///< what it is made from, for messages
  bool gives_way = true;  ///< to the pod's own annotation
};

struct Reading {
  std::vector<TranslatedRequest> requests;
  std::map<std::string, Preference, std::less<>> preferences;  ///< by key without prefix
  std::set<std::string, std::less<>> resources;                ///< to take out
  std::vector<std::string> mistakes;                           ///< the first kMaxNotes
  std::vector<std::string> warnings;                           ///< likewise
  std::size_t refused = 0;  ///< mistakes, those not kept included

  void refuse(std::string mistake) {
    ++refused;
    if (mistakes.size() < kMaxNotes) mistakes.push_back(std::move(mistake));
  }
  void warn(std::string warning) {
    if (warnings.size() < kMaxNotes) warnings.push_back(std::move(warning));
  }
};

/// MIG instances' models end like this; see node/cards. Other systems mean physical cards.
inline constexpr std::string_view kNoMig = "!* MIG *";

/// Beyond every card: catches a wrong unit, and keeps what follows from overflowing.
inline constexpr std::int64_t kMostMebibytes = std::int64_t{1} << 40;  // the codec of cards' bound

// ---- The readers. Each does nothing for a pod without its systems.

void read_nvidia(const kube::PodManifest& pod, const OtherSystems& systems, Reading& reading);
void read_gpushare(const kube::PodManifest& pod, const OtherSystems& systems, Reading& reading);
void read_kai(const kube::PodManifest& pod, const OtherSystems& systems, Reading& reading);

/// The annotation by which the pod requests a part of a card of KAI, with its value; "" = none.
[[nodiscard]] std::string kai_request(const kube::PodManifest& pod);

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

/// May the container hold a card? If not, that is noted as a mistake of `source`.
bool can_hold_cards(const kube::ContainerManifest& container, const std::string& source,
                    Reading& reading);

}  // namespace tangram::extender::translation
