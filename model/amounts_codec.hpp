#pragma once

#include "model/codec.hpp"
#include "model/grant.hpp"

#include <initializer_list>
#include <string_view>
#include <utility>

/// How the annotations of this folder say how much of a card a container has.
namespace tangram::model::codec {

/// The members, into an object that has begun.
void write_amounts(json::Writer& out, const CardAmounts& amounts);
/// An object of its own.
void write(json::Writer& out, const CardAmounts& amounts);

/// Reads an object with the members of the amounts, and with others.
/// @param amounts  CardAmounts, or what has members of the same names
template <class Amounts, class... Members>
void read_amounts(json::Reader& in, std::initializer_list<std::string_view> required,
                  Amounts& amounts, Members&&... others) {
  object(in, required, "memMiB", into(amounts.memory, 0, kMaxMebibytes), "milli",
         into(amounts.compute, 0, kMilliPerCard), "memLimitMiB",
         into(amounts.memory_limit, 0, kMaxMebibytes), "milliLimit",
         into(amounts.compute_limit, 0, kMilliPerCard), std::forward<Members>(others)...);
}
/// An object of its own, with all members.
[[nodiscard]] CardAmounts amounts(json::Reader& in);

/// Fails, naming the card, on a limit below its amount.
void check_limits(json::Reader& in, std::string_view uuid, const CardAmounts& amounts);

}  // namespace tangram::model::codec
