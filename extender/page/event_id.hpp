#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::extender {

/// Names one event of one life of this process: "00000000000000af-17". A number of another life
/// says nothing about this one.
struct EventId {
  std::uint64_t life = 0;
  std::uint64_t number = 0;
  friend bool operator==(const EventId&, const EventId&) = default;
};

[[nodiscard]] std::string to_string(EventId id);

/// What a client sends back as Last-Event-ID. It is untrusted input: any other text
/// names no event.
[[nodiscard]] std::optional<EventId> parse_event_id(std::string_view text);

}  // namespace tangram::extender
