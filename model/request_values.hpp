#pragma once

#include "base/result.hpp"
#include "base/units.hpp"
#include "model/replicas.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The values that pod annotations may have, one function per kind of value. Every error reads
/// as the rest of a sentence that begins with the annotation's name: it shows the value and says
/// what to write instead. For parse_request() and translations; others use those.
namespace tangram::model::values {

/// "0.25" -> 250: `least`..1000, at most three decimals. `over` says what to write above 1.
Result<MilliGpu> parse_ratio(std::string_view text, MilliGpu least, std::string_view over);

/// "8Gi" -> 8192: a Kubernetes quantity of bytes, at least 1Mi, a started MiB counts.
Result<Mebibytes> parse_memory(std::string_view text);

/// "2": 1..kMaxCardsPerContainer.
Result<int> parse_count(std::string_view text);

/// "gpu.shared": a name of kCardResourceNames.
Result<CardResource> parse_resource(std::string_view text);

/// "A100*,!T4" -> {"A100*", "!T4"}: trimmed, without empty items.
Result<std::vector<std::string>> parse_models(std::string_view text);

/// "GPU-5f2a*,!GPU-77c1" -> {"GPU-5f2a*", "!GPU-77c1"}: the same for card ids.
Result<std::vector<std::string>> parse_card_ids(std::string_view text);

/// A policy's name as far as spelling goes; whether there is one of that name is not looked at.
Result<std::string> parse_policy(std::string_view text);

}  // namespace tangram::model::values
